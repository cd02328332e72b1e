//! Reads the corpus and unfolds it into samples. Every draw comes from a fixed seed.

use std::collections::BTreeMap;
use std::path::Path;

use throughline_model::router::act::{ACTS, Act};
use throughline_model::router::input::Case;
use throughline_model::router::text::{AGENT, COMMAND, KEY, Kind, TITLE, Word, fold, hash, words};

/// One text with its speech act.
#[derive(Clone)]
pub struct Sample {
    /// The corpus file that it comes from.
    pub lang: String,
    /// Masked and folded.
    pub text: String,
    /// What it does.
    pub act: Act,
}

/// The corpus, unfolded.
pub struct Corpus {
    /// What to learn from.
    pub samples: Vec<Sample>,
    /// The words of a plain yes.
    pub assent: Vec<u32>,
    /// The words of a condition that no plain yes has.
    pub hedges: Vec<u32>,
    /// The words of any speech act.
    pub common: Vec<u32>,
    /// The words of a yes for now and later.
    pub lasting: Vec<u32>,
    /// Pairs that a plain yes has too.
    cleared: Vec<u32>,
    /// Words that alone say no or stop, in any language.
    refusals: Vec<u32>,
}

/// A small generator of fixed draws (xorshift).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

const COMMANDS: [&str; 14] = [
    "npm install",
    "git push",
    "terraform apply",
    "docker compose",
    "pytest",
    "cargo build",
    "make deploy",
    "rm",
    "kubectl",
    "migrations",
    "pip install",
    "yarn add",
    "db:seed",
    "curl",
];

/// The acts that speak about a subject; their words are no mere speech-act words unless they come often.
const SUBJECTS: [Act; 9] =
    [Act::Goal, Act::Adjust, Act::Ask, Act::NewTask, Act::No, Act::YesBut, Act::Always, Act::Fork, Act::Fresh];

/// Reads every `*.tsv` of a folder, in the order of their names.
pub fn read(folder: &Path) -> Corpus {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.retain(|path: &std::path::PathBuf| path.extension().is_some_and(|ext| ext == "tsv"));
    paths.sort();
    let mut out = Corpus {
        samples: vec![],
        assent: vec![],
        hedges: vec![],
        common: vec![],
        lasting: vec![],
        cleared: vec![],
        refusals: vec![],
    };
    for path in paths {
        let lang = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        read_language(&lang, &text, &mut out);
    }
    for mask in [COMMAND, KEY, TITLE, AGENT] {
        out.assent.push(hash(&mask.to_string()));
    }
    let refusals = std::mem::take(&mut out.refusals);
    out.assent.retain(|h| !refusals.contains(h));
    let assent = out.assent.clone();
    let cleared = std::mem::take(&mut out.cleared);
    out.hedges.retain(|h| !assent.contains(h) && !cleared.contains(h));
    for list in [&mut out.assent, &mut out.lasting, &mut out.hedges, &mut out.common] {
        list.sort_unstable();
        list.dedup();
    }
    out
}

fn read_language(lang: &str, text: &str, out: &mut Corpus) {
    let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut lines: Vec<(Act, Vec<&str>)> = vec![];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, phrases)) = line.split_once('\t') else { panic!("{lang}: no tab in {line:?}") };
        let phrases: Vec<&str> = phrases.split(" | ").map(str::trim).filter(|p| !p.is_empty()).collect();
        match name.strip_prefix('$') {
            Some(list) => {
                lists.insert(list, phrases);
            }
            None => match ACTS.iter().find(|act| act.name() == name) {
                Some(act) => lines.push((*act, phrases)),
                None => panic!("{lang}: no speech act {name:?}"),
            },
        }
    }
    know_words(&lines, out);
    let before = out.samples.len();
    let mut draw = Draw(0x5eed_0000_0000_0001 ^ u64::from(hash(lang)));
    for (act, phrases) in &lines {
        for phrase in phrases {
            let copies = if phrase.contains('{') { slots(phrase, *act) } else { 1 };
            for _ in 0..copies {
                let filled = fill(phrase, &lists, &mut draw, 0);
                vary(lang, *act, &filled, &lists, &mut draw, &mut out.samples);
            }
        }
    }
    // A phrase with few fillings must not count more than one with many.
    let mut own = out.samples.split_off(before);
    own.sort_by(|a, b| (a.act as u8, &a.text).cmp(&(b.act as u8, &b.text)));
    own.dedup_by(|a, b| a.act == b.act && a.text == b.text);
    out.samples.append(&mut own);
}

/// How many fillings of a phrase are drawn.
fn slots(phrase: &str, act: Act) -> usize {
    if phrase.contains("{GOAL}") {
        return if act == Act::Goal { 45 } else { 5 };
    }
    if phrase.contains("{GV}") || phrase.contains("{BUG}") { 12 } else { 3 }
}

fn fill(phrase: &str, lists: &BTreeMap<&str, Vec<&str>>, draw: &mut Draw, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = phrase;
    while let Some((before, after)) = rest.split_once('{') {
        let (slot, tail) = after.split_once('}').unwrap_or((after, ""));
        out.push_str(before);
        let masked = draw.below(2) == 0;
        match slot {
            "A" => out.push(AGENT),
            "K" => out.push(KEY),
            "C" if masked => out.push(COMMAND),
            "C" => out.push_str(COMMANDS[draw.below(COMMANDS.len())]),
            "T" if masked => {
                // A title's words are masked, the article before them is not.
                let list = lists.get("T").map_or(&[][..], Vec::as_slice);
                let article = list.get(draw.below(list.len())).and_then(|t| t.split_once(' ')).map_or("", |(a, _)| a);
                if article.chars().count() <= 4 && draw.below(2) == 0 {
                    out.push_str(article);
                    out.push(' ');
                }
                out.push(TITLE);
            }
            name => match lists.get(name) {
                Some(list) if depth < 4 => out.push_str(&fill(list[draw.below(list.len())], lists, draw, depth + 1)),
                Some(_) => {}
                None => panic!("no list {name:?} for {phrase:?}"),
            },
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// A text as written, and sometimes with a filler, without its marks, or with a typo.
fn vary(lang: &str, act: Act, text: &str, lists: &BTreeMap<&str, Vec<&str>>, draw: &mut Draw, out: &mut Vec<Sample>) {
    let mut add = |text: &str| out.push(Sample { lang: lang.to_owned(), text: fold(text), act });
    add(text);
    let decides = matches!(act, Act::Yes | Act::Always | Act::No | Act::YesBut | Act::Multi | Act::Thanks | Act::GoOn);
    if !decides {
        if let Some(list) = lists.get("PRE")
            && draw.below(3) == 0
        {
            add(&format!("{} {text}", list[draw.below(list.len())]));
        }
        if let Some(list) = lists.get("POST")
            && draw.below(4) == 0
        {
            add(&format!("{text} {}", list[draw.below(list.len())]));
        }
    }
    if draw.below(3) == 0 {
        let bare: String = text.chars().filter(|c| !matches!(c, '?' | '!' | ',' | '.' | '？' | '，' | '¿')).collect();
        if bare != text {
            add(&bare);
        }
    }
    if draw.below(3) == 0
        && let Some(typo) = mistype(text, draw)
    {
        add(&typo);
    }
}

/// Swaps or drops a letter inside a longer word.
fn mistype(text: &str, draw: &mut Draw) -> Option<String> {
    let mut chars: Vec<char> = text.chars().collect();
    let spots: Vec<usize> = (2..chars.len().saturating_sub(2))
        .filter(|at| chars[at - 2..at + 2].iter().all(|c| c.is_alphabetic() && (*c as u32) < 0x500))
        .collect();
    let at = *spots.get(draw.below(spots.len()))?;
    if draw.below(2) == 0 {
        chars.swap(at - 1, at);
    } else {
        chars.remove(at);
    }
    Some(chars.into_iter().collect())
}

/// Collects the words of a plain yes and of every speech act from what is literally written.
fn know_words(lines: &[(Act, Vec<&str>)], out: &mut Corpus) {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    let mut yes: BTreeMap<u32, usize> = BTreeMap::new();
    let mut conditions: BTreeMap<u32, usize> = BTreeMap::new();
    for (act, phrases) in lines {
        for phrase in phrases {
            let literal = fold(&without_slots(phrase));
            let spoken = words(&literal);
            for word in spoken.iter().filter(|w| w.kind != Kind::Mark) {
                let hashes = hashes(word.text, word.kind);
                if matches!(act, Act::Yes | Act::Always) {
                    *yes.entry(hash(word.text)).or_default() += 1;
                    if word.kind == Kind::Run {
                        out.cleared.extend(&hashes);
                    }
                }
                if *act == Act::Always {
                    out.lasting.push(hash(word.text));
                }
                if matches!(act, Act::YesBut | Act::Multi) {
                    *conditions.entry(hash(word.text)).or_default() += 1;
                    out.hedges.extend(&hashes);
                }
                if matches!(act, Act::No | Act::Cancel) && spoken.len() == 1 {
                    out.refusals.push(hash(word.text));
                }
                for h in hashes {
                    *counts.entry(h).or_default() += weight(*act, &spoken);
                }
            }
        }
    }
    // "aber sicher" is a yes, but "aber" makes conditions.
    let conditional = |h: &u32, n: usize| n <= 2 && conditions.get(h).is_some_and(|m| *m >= 3);
    out.assent.extend(yes.into_iter().filter(|(h, n)| !conditional(h, *n)).map(|(h, _)| h));
    out.common.extend(counts.into_iter().filter(|(_, n)| *n >= 4).map(|(h, _)| h));
}

/// A word of a bare phrase is a speech-act word; one of a long phrase may be its subject.
fn weight(act: Act, spoken: &[Word<'_>]) -> usize {
    let size = |w: &Word<'_>| if w.kind == Kind::Run { w.text.chars().count().div_ceil(2) } else { 1 };
    match (SUBJECTS.contains(&act), spoken.iter().map(size).sum()) {
        (true, _) => 1,
        (false, 0..=3) => 4,
        (false, _) => 2,
    }
}

/// A word, or the pairs of a run.
fn hashes(text: &str, kind: Kind) -> Vec<u32> {
    match kind {
        Kind::Run => {
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            ends.windows(3).map(|w| hash(&text[w[0]..w[2]])).collect()
        }
        Kind::Word => vec![hash(text)],
        Kind::Mask | Kind::Symbol | Kind::Mark => vec![],
    }
}

fn without_slots(phrase: &str) -> String {
    let mut out = String::new();
    let mut rest = phrase;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        out.push(' ');
        rest = after.split_once('}').map_or("", |(_, tail)| tail);
    }
    out + rest
}

/// Reads the speech acts of the development cases, for cross-validation.
pub fn labels(path: &Path) -> BTreeMap<String, Act> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(id, name)| Some((id.to_owned(), *ACTS.iter().find(|act| act.name() == name)?)))
        .collect()
}

/// A development case as a sample, if it has a label.
pub fn labelled(case: &Case, labels: &BTreeMap<String, Act>) -> Option<Sample> {
    let act = *labels.get(&case.id)?;
    let text = throughline_model::router::masked(&case.message, &case.context);
    Some(Sample { lang: format!("case-{}", case.lang), text, act })
}

/// In which fold a case is: by its id alone.
pub fn fold_of(id: &str, count: usize) -> usize {
    (hash(id) >> 7) as usize % count
}
