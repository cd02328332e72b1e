//! Names in a text: agents and models, keys, projects. Finds them; what they are named for is decided elsewhere.

use super::input::{Agent, Context, Task};
use super::text::{fold, unspaced};

/// An agent or one of its models, named at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentMention {
    /// Which installed agent; `None` if it is known but not installed.
    pub agent: Option<usize>,
    /// The name as typed.
    pub name: String,
    /// Which of its models, if that was named.
    pub model: Option<String>,
    /// From where to where, in bytes of the folded text.
    pub span: (usize, usize),
}

/// A key, typed at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMention {
    /// Which visible task; `None` if there is none.
    pub task: Option<usize>,
    /// The key as typed.
    pub key: String,
    /// Whether visible keys begin like this one.
    pub familiar: bool,
    /// From where to where, in bytes of the folded text.
    pub span: (usize, usize),
}

/// Agents and models that people may ask for although they are not installed.
const KNOWN_AGENTS: [&str; 34] = [
    "claude code",
    "claude",
    "codex",
    "gemini",
    "opencode",
    "aider",
    "copilot",
    "github copilot",
    "cline",
    "qwen",
    "kimi",
    "devin",
    "windsurf",
    "grok",
    "auggie",
    "junie",
    "kiro",
    "deepseek",
    "gpt-4",
    "gpt-4o",
    "gpt-5",
    "gpt",
    "chatgpt",
    "llama",
    "mistral",
    "jules",
    "openhands",
    "amazon q",
    "sonnet",
    "opus",
    "haiku",
    "glm",
    "roo code",
    "cc",
];

/// The same, but everyday words: they count only where nothing but a name can stand.
const AMBIGUOUS_AGENTS: [&str; 7] = ["cursor", "goose", "amp", "droid", "crush", "flash", "composer"];

/// Finds the agents and models that a folded text names, in the order of the text.
#[must_use]
pub fn agents(text: &str, installed: &[Agent]) -> Vec<AgentMention> {
    let mut names: Vec<(String, usize, Option<String>)> = vec![];
    for (index, agent) in installed.iter().enumerate() {
        for name in std::iter::once(&agent.id).chain(&agent.aliases) {
            names.push((fold(name), index, None));
        }
        for model in &agent.models {
            names.push((fold(model), index, Some(model.clone())));
        }
    }
    names.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
    let mut out: Vec<AgentMention> = vec![];
    for (name, agent, model) in names {
        for span in places(text, &name) {
            claim(&mut out, AgentMention { agent: Some(agent), name: name.clone(), model: model.clone(), span });
        }
    }
    for name in KNOWN_AGENTS {
        for span in places(text, name) {
            claim(&mut out, AgentMention { agent: None, name: name.to_owned(), model: None, span });
        }
    }
    for name in AMBIGUOUS_AGENTS {
        for span in places(text, name).into_iter().filter(|span| stands_alone(text, *span)) {
            claim(&mut out, AgentMention { agent: None, name: name.to_owned(), model: None, span });
        }
    }
    out.sort_by_key(|mention| mention.span);
    out
}

fn claim(out: &mut Vec<AgentMention>, mention: AgentMention) {
    let (start, end) = mention.span;
    if out.iter().all(|other| other.span.1 <= start || end <= other.span.0) {
        out.push(mention);
    }
}

/// Whether only a name can stand there: after an at sign, or right before a mark or the end.
fn stands_alone(text: &str, (start, end): (usize, usize)) -> bool {
    text[..start].ends_with('@') || text[end..].trim_start().chars().next().is_none_or(|c| ",.:;!?".contains(c))
}

/// Finds the keys that a folded text has, in the order of the text.
#[must_use]
pub fn keys(text: &str, tasks: &[Task]) -> Vec<KeyMention> {
    let mut out: Vec<KeyMention> = vec![];
    for (at, _) in text.match_indices('-') {
        let head = text[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric());
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        let span = (head.len(), at + 1 + digits);
        let stem = &text[head.len()..at];
        if digits == 0 || !stem.starts_with(|c: char| c.is_ascii_lowercase()) || !bounded(text, span) {
            continue;
        }
        let key = &text[span.0..span.1];
        let task = tasks.iter().position(|task| task.key.eq_ignore_ascii_case(key));
        let familiar = tasks
            .iter()
            .any(|task| task.key.rsplit_once('-').is_some_and(|(known, _)| known.eq_ignore_ascii_case(stem)));
        out.push(KeyMention { task, key: key.to_owned(), familiar, span });
    }
    out
}

/// Another project that is named as the place where something is to happen.
#[must_use]
pub fn project(text: &str, context: &Context) -> Option<usize> {
    let others = context.projects.iter().enumerate().filter(|(_, p)| p.id != context.current_project);
    others
        .flat_map(|(index, project)| {
            let names = [fold(&project.id), fold(&project.name)];
            let last = names[1].rsplit(' ').next().unwrap_or("").to_owned();
            names.into_iter().chain([last]).map(move |name| (index, name))
        })
        .filter(|(_, name)| name.chars().count() >= 2)
        .find(|(_, name)| places(text, name).into_iter().any(|span| is_place(text, span)))
        .map(|(index, _)| index)
}

/// Words that put something somewhere, in the languages that part words.
const PLACING: [&str; 40] = [
    "in", "on", "for", "to", "into", "at", "within", "project", "repo", "en", "im", "ins", "fur", "zum", "beim",
    "dans", "sur", "pour", "au", "в", "на", "для", "no", "na", "em", "para", "pro", "nel", "nella", "sul", "per", "op",
    "voor", "w", "do", "i", "pa", "till", "di", "untuk",
];

fn is_place(text: &str, (start, end): (usize, usize)) -> bool {
    if text[start..end].chars().all(unspaced) || text[end..].starts_with(':') {
        return true;
    }
    let articles =
        ["the", "our", "la", "el", "le", "die", "das", "der", "dem", "den", "a", "o", "il", "lo", "de", "het"];
    let mut before = text[..start].split_whitespace().rev();
    match before.next() {
        Some(word) if PLACING.contains(&word) => true,
        Some(word) if articles.contains(&word) => {
            before.next().is_some_and(|word| PLACING.contains(&word) || word == "a")
        }
        Some(_) | None => false,
    }
}

/// Where a name stands as a word of its own.
fn places(text: &str, name: &str) -> Vec<(usize, usize)> {
    if name.is_empty() {
        return vec![];
    }
    text.match_indices(name).map(|(at, found)| (at, at + found.len())).filter(|span| bounded(text, *span)).collect()
}

/// Whether a span is cut off on both sides; a path, a file name or a compound is not.
fn bounded(text: &str, (start, end): (usize, usize)) -> bool {
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    let joins = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let opens = !before.is_some_and(|c| joins(c) || matches!(c, '-' | '/' | '.'));
    let closes = match next {
        Some(c) if joins(c) => false,
        Some('-' | '.' | '/') => !after.next().is_some_and(joins),
        Some(_) | None => true,
    };
    opens && closes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed() -> Vec<Agent> {
        let agent = |id: &str, aliases: &[&str], models: &[&str]| Agent {
            id: id.into(),
            aliases: aliases.iter().map(|s| (*s).to_owned()).collect(),
            models: models.iter().map(|s| (*s).to_owned()).collect(),
            words: vec![],
        };
        vec![agent("claude-code", &["cc", "claude"], &["opus"]), agent("codex", &["cx"], &["gpt-5", "gpt-5-codex"])]
    }

    fn named(text: &str) -> Vec<(Option<usize>, Option<String>)> {
        agents(text, &installed()).into_iter().map(|m| (m.agent, m.model)).collect()
    }

    #[test]
    fn finds_agents_beside_other_scripts_and_prefers_the_longest_name() {
        assert_eq!(named("让codex也review一下"), [(Some(1), None)]);
        assert_eq!(named("use gpt-5-codex"), [(Some(1), Some("gpt-5-codex".into()))]);
        assert_eq!(named("codex도 봐줘, cc?"), [(Some(1), None), (Some(0), None)]);
    }

    #[test]
    fn a_path_or_a_compound_names_no_agent() {
        assert_eq!(named("see claude.md and .codex/config and codex-doku"), []);
    }

    #[test]
    fn knows_agents_that_are_not_installed() {
        assert_eq!(named("let aider do it"), [(None, None)]);
        assert_eq!(named("use cursor pagination"), []);
        assert_eq!(named("use cursor"), [(None, None)]);
    }

    #[test]
    fn tells_known_from_unknown_keys() {
        let tasks = [Task { key: "shop-12".into(), ..Task::default() }];
        let found = keys("shop-12 and shop-99, utf-8 aside", &tasks);
        assert_eq!(
            found.iter().map(|k| (k.task, k.familiar)).collect::<Vec<_>>(),
            [(Some(0), true), (None, true), (None, false)]
        );
    }
}
