//! The cursor: a place in the order of commits of one store, as clients hold it.
//!
//! Clients get text that means nothing to them and give it back. It names the store's incarnation, so that a
//! cursor of another database, or of one that was started anew, is refused instead of skipping events (P3).

use throughline_model::event::Seq;

/// How much of the incarnation's name a cursor carries.
const NAME_CHARS: usize = 8;

/// A place in the order of commits of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    name: String,
    seq: Seq,
}

/// Why a text is not a cursor of this store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// No store ever wrote this.
    #[error("this is not a cursor")]
    Malformed,
    /// Another store wrote it.
    #[error("the cursor belongs to another database")]
    Foreign,
    /// It names a place that this store has not reached: the database was put back to an earlier copy.
    #[error("the cursor is ahead of the database")]
    Ahead,
}

impl Cursor {
    /// The cursor that stands right after this event.
    #[must_use]
    pub fn new(incarnation: &str, seq: Seq) -> Self {
        Self { name: name_of(incarnation), seq }
    }

    /// Everything up to this one was seen.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The text for a client.
    #[must_use]
    pub fn encode(&self) -> String {
        format!("{}{:x}", self.name, self.seq.0)
    }

    /// Reads what a client gave back, and holds it against the store's incarnation and newest event.
    ///
    /// # Errors
    /// If it is not a cursor, or not one of this store.
    pub fn decode(text: &str, incarnation: &str, head: Seq) -> Result<Self, CursorError> {
        // Checked by hand because `from_str_radix` takes a sign and capitals, and one place must have one name.
        let plain = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let (name, place) = text.split_at_checked(NAME_CHARS).ok_or(CursorError::Malformed)?;
        let seq = u64::from_str_radix(place, 16).map_err(|_| CursorError::Malformed)?;
        let cursor = Self { name: name.to_owned(), seq: Seq(seq) };
        if !plain || cursor.encode() != text {
            return Err(CursorError::Malformed);
        }
        if cursor.name != name_of(incarnation) {
            return Err(CursorError::Foreign);
        }
        if cursor.seq > head {
            return Err(CursorError::Ahead);
        }
        Ok(cursor)
    }
}

fn name_of(incarnation: &str) -> String {
    let hex = incarnation.chars().filter(char::is_ascii_hexdigit).map(|c| c.to_ascii_lowercase());
    let name: String = hex.take(NAME_CHARS).collect();
    format!("{name:0>NAME_CHARS$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "9f31ac02d4e5b6a7";
    const HEAD: Seq = Seq(1_000_000);

    #[test]
    fn a_cursor_comes_back_as_it_went() {
        for seq in [0, 1, 15, 16, 999_999, 1_000_000] {
            let text = Cursor::new(HERE, Seq(seq)).encode();
            assert_eq!(Cursor::decode(&text, HERE, HEAD).map(|cursor| cursor.seq()), Ok(Seq(seq)), "{text}");
        }
    }

    #[test]
    fn garbage_is_refused() {
        for text in [
            "",
            "9f31ac02",
            "9f31ac",
            "9f31ac02+1",
            "9f31ac0201",
            "9F31AC021",
            "zzzzzzzz1",
            "9f31ac0g1",
            "9f31ac02fffffffffffffffff",
            "ééééééé1",
        ] {
            assert_eq!(Cursor::decode(text, HERE, HEAD), Err(CursorError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_cursor_of_another_database_is_refused() {
        let text = Cursor::new("00000000ffffffff", Seq(7)).encode();
        assert_eq!(Cursor::decode(&text, HERE, HEAD), Err(CursorError::Foreign));
    }

    #[test]
    fn a_cursor_beyond_the_head_is_refused() {
        let text = Cursor::new(HERE, Seq(1_000_001)).encode();
        assert_eq!(Cursor::decode(&text, HERE, HEAD), Err(CursorError::Ahead));
    }
}
