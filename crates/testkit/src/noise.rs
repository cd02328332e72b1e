//! Noise: documents that are almost right, by the thousand, the same for the same seed.

use serde_json::{Map, Value, json};

/// How much noise a test makes unless it is told otherwise with `THROUGHLINE_NOISE`.
const USUAL: u64 = 20_000;

/// How much noise to make.
///
/// # Panics
/// If `THROUGHLINE_NOISE` is no number.
#[must_use]
pub fn amount() -> u64 {
    std::env::var("THROUGHLINE_NOISE").map_or(USUAL, |text| text.parse().expect("THROUGHLINE_NOISE is a number"))
}

/// A source of noise.
pub struct Noise(u64);

impl Noise {
    /// The same noise for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number (SplitMix64).
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.number() % (most.max(1) as u64)).unwrap_or_default()
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// One of these documents with a few values that are not what they should be, and sometimes no document at all.
    pub fn document(&mut self, seeds: &[Value]) -> String {
        let mut value = self.one_of(seeds).clone();
        for _ in 0..self.below(4) {
            self.change(&mut value);
        }
        let text = value.to_string();
        match self.below(4) {
            0 => String::from_utf8_lossy(&self.bytes(text.as_bytes())).into_owned(),
            _ => text,
        }
    }

    /// These bytes with a few that are wrong, missing or too many.
    pub fn bytes(&mut self, seed: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len() + 1);
            let byte = self.number().to_le_bytes()[0];
            match self.below(5) {
                0 => bytes.insert(at, byte),
                1 => bytes.truncate(at),
                2 => bytes.extend_from_within(at..),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => bytes.push(byte),
            }
            bytes.truncate(64 << 10);
        }
        bytes
    }

    /// Changes the value, or something in it.
    fn change(&mut self, value: &mut Value) {
        if self.below(5) == 0 {
            *value = self.value();
            return;
        }
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                let keys: Vec<_> = fields.keys().cloned().collect();
                let key = self.one_of(&keys).clone();
                match self.below(6) {
                    0 => drop(fields.remove(&key)),
                    1 => drop(fields.insert(self.word(), json!(1))),
                    _ => fields.get_mut(&key).into_iter().for_each(|field| self.change(field)),
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let at = self.below(items.len());
                self.change(&mut items[at]);
            }
            other => *other = self.value(),
        }
    }

    fn value(&mut self) -> Value {
        match self.below(12) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(i64::MAX),
            3 => json!(i64::MIN),
            4 => json!(u64::MAX),
            5 => json!(1e300),
            6 => json!(self.number()),
            7 => json!([]),
            8 => Value::Object(Map::new()),
            9 => json!("x".repeat(self.below(3000))),
            10 => json!([self.word(), {"token": self.word()}]),
            _ => json!(self.word()),
        }
    }

    fn word(&mut self) -> String {
        const LETTERS: &[char] =
            &['a', '0', '-', '/', ':', '\0', '\n', '"', '\\', 'é', '中', '😀', '\u{200b}', '\u{feff}'];
        (0..self.below(8)).map(|_| *self.one_of(LETTERS)).collect()
    }
}
