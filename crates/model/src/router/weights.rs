//! The trained part: weights from `routing/corpus`, embedded, and the words that the corpus knows.
//!
//! The file is written by `cargo run -p throughline-model --example route_train` and holds, little-endian:
//! the magic `TLR1`, one scale, a bias per act, one signed byte per bucket and act, and four sorted sets of
//! word hashes: of a plain yes, of a yes for later too, of a condition, and of any speech act.

use std::sync::LazyLock;

use super::act::{ACTS, Acts};
use super::features::{BUCKETS, features};
use super::text::{Kind, Word, hash, unspaced};

/// What the file begins with.
pub const MAGIC: &[u8; 4] = b"TLR1";

static EMBEDDED: LazyLock<Weights> = LazyLock::new(|| {
    Weights::parse(include_bytes!("weights.bin")).unwrap_or_else(|| Weights {
        scale: 0.0,
        bias: [0.0; ACTS.len()],
        cells: vec![0; BUCKETS * ACTS.len()],
        assent: vec![],
        lasting: vec![],
        hedges: vec![],
        common: vec![],
    })
});

/// A trained classifier with its word lists.
#[derive(Clone, Debug)]
pub struct Weights {
    /// What one step of a cell is worth.
    pub scale: f32,
    /// Where each act starts.
    pub bias: [f32; ACTS.len()],
    /// Bucket by bucket, act by act.
    pub cells: Vec<i8>,
    /// Hashes of the words and phrases of a plain yes, sorted.
    pub assent: Vec<u32>,
    /// Hashes of the words of a yes for now and later, sorted.
    pub lasting: Vec<u32>,
    /// Hashes of the words of a condition or hesitation that no plain yes has, sorted.
    pub hedges: Vec<u32>,
    /// Hashes of the words of any speech act, sorted.
    pub common: Vec<u32>,
}

impl Weights {
    /// The ones that are shipped.
    #[must_use]
    pub fn embedded() -> &'static Self {
        &EMBEDDED
    }

    /// Reads the file's form; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let scale = f32::from_le_bytes(take(&mut rest)?);
        let mut bias = [0.0; ACTS.len()];
        for slot in &mut bias {
            *slot = f32::from_le_bytes(take(&mut rest)?);
        }
        let (cells, mut rest) = rest.split_at_checked(BUCKETS * ACTS.len())?;
        let cells = cells.iter().map(|byte| i8::from_le_bytes([*byte])).collect();
        let mut lists = [vec![], vec![], vec![], vec![]];
        for list in &mut lists {
            for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
                list.push(u32::from_le_bytes(take(&mut rest)?));
            }
        }
        let [assent, lasting, hedges, common] = lists;
        Some(Self { scale, bias, cells, assent, lasting, hedges, common })
    }

    /// Writes the file's form.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(self.scale.to_le_bytes());
        out.extend(self.bias.iter().flat_map(|b| b.to_le_bytes()));
        out.extend(self.cells.iter().map(|c| c.to_le_bytes()[0]));
        for list in [&self.assent, &self.lasting, &self.hedges, &self.common] {
            out.extend(u32::try_from(list.len()).unwrap_or(u32::MAX).to_le_bytes());
            out.extend(list.iter().flat_map(|h| h.to_le_bytes()));
        }
        out
    }

    /// How likely each act is for a masked, folded text.
    #[must_use]
    pub fn acts(&self, masked: &str) -> Acts {
        let buckets = features(masked);
        let mut sums = [0_i32; ACTS.len()];
        for bucket in &buckets {
            let row = &self.cells[*bucket as usize * ACTS.len()..][..ACTS.len()];
            for (sum, cell) in sums.iter_mut().zip(row) {
                *sum += i32::from(*cell);
            }
        }
        let unit = self.scale / (buckets.len().max(1) as f32).sqrt();
        let mut scores = [0.0; ACTS.len()];
        for ((score, sum), bias) in scores.iter_mut().zip(sums).zip(self.bias) {
            *score = sum as f32 * unit + bias;
        }
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let total: f32 = scores.iter().map(|s| (s - most).exp()).sum();
        Acts(scores.map(|s| (s - most).exp() / total))
    }

    /// Whether a word is one that a plain yes is made of; for a run, whether it can be cut into such phrases.
    #[must_use]
    pub fn assents(&self, word: &Word<'_>) -> bool {
        match word.kind {
            Kind::Run => cut(word.text, &self.assent),
            Kind::Word | Kind::Symbol | Kind::Mask => self.assent.binary_search(&hash(word.text)).is_ok(),
            Kind::Mark => true,
        }
    }

    /// Whether a word is one that a yes for now and later is made of.
    #[must_use]
    pub fn lasts(&self, text: &str) -> bool {
        self.lasting.binary_search(&hash(text)).is_ok()
    }

    /// Whether a word is one that a condition or hesitation is made of; for a run, whether any pair in it is.
    #[must_use]
    pub fn hedges(&self, text: &str) -> bool {
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let known = |piece: &str| self.hedges.binary_search(&hash(piece)).is_ok();
        known(text) || (text.chars().any(unspaced) && ends.windows(3).any(|window| known(&text[window[0]..window[2]])))
    }

    /// Whether a word belongs to speech acts rather than to a subject.
    #[must_use]
    pub fn is_common(&self, text: &str) -> bool {
        self.common.binary_search(&hash(text)).is_ok()
    }
}

/// Whether a run can be cut into known phrases.
fn cut(run: &str, known: &[u32]) -> bool {
    const LONGEST: usize = 10;
    let ends: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let mut reached = vec![false; ends.len()];
    reached[0] = true;
    for start in 0..ends.len() {
        if !reached[start] {
            continue;
        }
        for len in 1..=LONGEST.min(ends.len() - 1 - start) {
            if known.binary_search(&hash(&run[ends[start]..ends[start + len]])).is_ok() {
                reached[start + len] = true;
            }
        }
    }
    reached.last().copied().unwrap_or(false)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_at_checked(N)?;
    *rest = tail;
    head.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::act::Act;

    #[test]
    fn what_is_shipped_parses_and_knows_a_yes_in_many_languages() {
        let weights = Weights::embedded();
        assert!(Weights::parse(&weights.bytes()).is_some());
        for yes in ["yes", "同意", "はい", "sí", "да", "oui", "좋아요", "evet"] {
            assert_eq!(weights.acts(yes).top(), Act::Yes, "{yes}");
        }
    }

    #[test]
    fn a_run_is_cut_into_whole_phrases_only() {
        let known = {
            let mut known = vec![hash("好的"), hash("跑吧")];
            known.sort_unstable();
            known
        };
        assert!(cut("好的跑吧", &known));
        assert!(!cut("不好的", &known));
    }
}
