//! What the classifier sees of a text: hashed pieces of words, of runs and of their order.
//!
//! No language is known here. Words are cut into overlapping pieces, so that endings and typos cost little;
//! scripts without blanks are cut into one to four characters.

use super::text::{Kind, Word, hash, words};

/// How many buckets the pieces are hashed into.
pub const BUCKETS: usize = 1 << 15;

const HEAD_WORDS: usize = 60;
const TAIL_WORDS: usize = 15;

/// The buckets of a masked, folded text: sorted, each once.
#[must_use]
pub fn features(text: &str) -> Vec<u32> {
    let all = words(text);
    let kept: Vec<Word<'_>> = if all.len() <= HEAD_WORDS + TAIL_WORDS {
        all
    } else {
        all[..HEAD_WORDS].iter().chain(&all[all.len() - TAIL_WORDS..]).copied().collect()
    };
    let mut out = Vec::with_capacity(kept.len() * 14 + 8);
    let spoken: Vec<&Word<'_>> = kept.iter().filter(|w| w.kind != Kind::Mark).collect();
    for word in &kept {
        pieces(word, &mut out);
    }
    for pair in spoken.windows(2) {
        push(&mut out, 2, hash(pair[0].text).rotate_left(7) ^ hash(pair[1].text));
    }
    if let (Some(first), Some(last)) = (spoken.first(), spoken.last()) {
        push(&mut out, 3, edge(first, Edge::Start));
        push(&mut out, 4, edge(last, Edge::End));
    }
    let asks = kept.last().is_some_and(|w| matches!(w.text, "?" | "？" | "؟"));
    push(&mut out, 5, u32::from(asks));
    push(&mut out, 6, size(&spoken));
    out.sort_unstable();
    out.dedup();
    out
}

#[derive(Clone, Copy)]
enum Edge {
    Start,
    End,
}

/// The first or last word, or the first or last two characters of a run.
fn edge(word: &Word<'_>, edge: Edge) -> u32 {
    if word.kind != Kind::Run {
        return hash(word.text);
    }
    let chars: Vec<(usize, char)> = word.text.char_indices().collect();
    if chars.len() <= 2 {
        return hash(word.text);
    }
    match edge {
        Edge::Start => hash(&word.text[..chars[2].0]),
        Edge::End => hash(&word.text[chars[chars.len() - 2].0..]),
    }
}

fn size(spoken: &[&Word<'_>]) -> u32 {
    let units: usize =
        spoken.iter().map(|w| if w.kind == Kind::Run { w.text.chars().count().div_ceil(2) } else { 1 }).sum();
    match units {
        0..=3 => u32::try_from(units).unwrap_or(3),
        4..=5 => 4,
        6..=8 => 5,
        9..=13 => 6,
        14..=22 => 7,
        _ => 8,
    }
}

fn pieces(word: &Word<'_>, out: &mut Vec<u32>) {
    match word.kind {
        Kind::Run => {
            let ends: Vec<usize> =
                word.text.char_indices().map(|(at, _)| at).chain([word.text.len()]).take(80).collect();
            for start in 0..ends.len() - 1 {
                for len in 1..=4 {
                    if let Some(end) = ends.get(start + len) {
                        push(out, 1, hash(&word.text[ends[start]..*end]));
                    }
                }
            }
        }
        Kind::Word => {
            push(out, 0, hash(word.text));
            let padded: String = format!("_{}_", word.text.replace('\'', ""));
            let ends: Vec<usize> = padded.char_indices().map(|(at, _)| at).chain([padded.len()]).take(40).collect();
            for start in 0..ends.len() - 1 {
                for len in 3..=4 {
                    if let Some(end) = ends.get(start + len) {
                        push(out, 7, hash(&padded[ends[start]..*end]));
                    }
                }
            }
        }
        Kind::Mask | Kind::Symbol => push(out, 0, hash(word.text)),
        Kind::Mark => {
            if matches!(word.text, ":" | "?" | "؟" | "？") {
                push(out, 8, hash(word.text));
            }
        }
    }
}

fn push(out: &mut Vec<u32>, salt: u32, value: u32) {
    let mixed = (value ^ salt.wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B);
    out.push((mixed ^ (mixed >> 15)) & (BUCKETS as u32 - 1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_same_features_each_time_and_a_typo_keeps_most() {
        assert_eq!(features("please continue"), features("please continue"));
        let (right, typo) = (features("please review it"), features("please reveiw it"));
        let shared = right.iter().filter(|f| typo.contains(f)).count();
        assert!(shared * 2 > right.len());
    }

    #[test]
    fn long_pastes_are_capped() {
        assert!(features(&"word soup ".repeat(10_000)).len() < 2_000);
        assert!(features(&"一".repeat(10_000)).len() < 2_000);
    }
}
