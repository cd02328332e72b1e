//! What a request would do, as far as its raw input says it in a shape that is known exactly.
//!
//! The input alone decides, never the title. What the agent calls its tool can only take away: an edit that calls itself
//! something else is asked about.

use std::collections::BTreeMap;

use super::argv::{self, Unclear};
use crate::approval::Ask;
use crate::content::Text;
use crate::raw_input::{self, Json};

/// What a request would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Run one plain command, in these folders.
    Run {
        /// Its words.
        argv: Vec<String>,
        /// Where it is said to run; all of them have to be inside.
        folders: Vec<String>,
    },
    /// Change these files.
    Edit {
        /// As the agent names them.
        paths: Vec<String>,
    },
    /// Read this file.
    Read {
        /// As the agent names it.
        path: String,
    },
    /// Something that no rule can be about.
    Unknown(Unknown),
}

/// Why no rule can be about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The agent sent no input: there is only its description.
    NoInput,
    /// The input has no shape that is known.
    Shape,
    /// The command is not a plain one.
    Command(Unclear),
}

impl Unknown {
    /// In words, for a person who wanted a rule.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Unknown::NoInput => "the agent sent only a description, not what it would do".into(),
            Unknown::Shape => "it is not a plain command".into(),
            Unknown::Command(Unclear::Size) => "it is empty or too long for one plain command".into(),
            Unknown::Command(Unclear::Character(letter)) => {
                format!("a rule is about plain words, and it has `{}`", letter.escape_default())
            }
            Unknown::Command(Unclear::Assignment) => "it sets a variable for the command".into(),
            Unknown::Command(Unclear::Runs(word)) => format!("`{word}` runs what its arguments say"),
        }
    }
}

/// Where files and folders really are, links followed: looked up outside, because the model looks nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(pub BTreeMap<String, String>);

impl Places {
    /// Whether a path is inside one of these roots. One that was not looked up is not.
    pub(super) fn inside(&self, path: &str, roots: &[&str]) -> bool {
        self.relative(path, roots).is_some()
    }

    /// Whether all that an action names is inside.
    #[must_use]
    pub fn all_inside(&self, action: &Action, roots: &[&str]) -> bool {
        action.paths().into_iter().all(|path| self.inside(path, roots))
    }

    /// The path below the root that it is in.
    fn relative<'a>(&'a self, path: &str, roots: &[&str]) -> Option<&'a str> {
        let real = self.0.get(path)?;
        // What is not resolved could lead anywhere.
        if !real.starts_with('/') || real.split('/').any(|part| matches!(part, "." | "..")) {
            return None;
        }
        roots.iter().find_map(|root| {
            let rest = real.strip_prefix(root.trim_end_matches('/'))?;
            (!root.trim_end_matches('/').is_empty() && (rest.is_empty() || rest.starts_with('/'))).then_some(rest)
        })
    }

    /// Whether a file may be changed without asking: inside, and none that decides what other programs run.
    pub(super) fn editable(&self, path: &str, roots: &[&str]) -> bool {
        let decides = |part: &str| super::known::DECIDING_FILES.contains(&part.to_lowercase().as_str());
        self.relative(path, roots).is_some_and(|rest| !rest.is_empty() && !rest.split('/').any(decides))
    }
}

impl Action {
    /// What a request would do.
    #[must_use]
    pub fn of(ask: &Ask) -> Self {
        let input = match &ask.input {
            None => return Action::Unknown(Unknown::NoInput),
            Some(Text::Inline(input)) => raw_input::read(input),
            Some(Text::Blob { .. }) => None,
        };
        let Some(Json::Fields(fields)) = input else { return Action::Unknown(Unknown::Shape) };
        let shape = Shape(&fields);
        let found = shape.run(&ask.cwd).or_else(|| shape.edit(&ask.tool)).or_else(|| shape.read(&ask.tool));
        found.unwrap_or(Action::Unknown(Unknown::Shape))
    }

    /// The paths that [`Places`] has to know.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        match self {
            Action::Run { folders: paths, .. } | Action::Edit { paths } => paths.iter().map(String::as_str).collect(),
            Action::Read { path } => vec![path],
            Action::Unknown(_) => vec![],
        }
    }
}

/// Fields that say how long or why, not what.
const ASIDES: &[&str] = &[
    "description",
    "explanation",
    "reason",
    "justification",
    "timeout",
    "timeout_ms",
    "yield_time_ms",
    "max_output_tokens",
    "run_in_background",
    "is_background",
    "call_id",
    "turn_id",
];
/// Fields that say where.
const FOLDERS: &[&str] = &["cwd", "workdir", "directory", "working_directory"];
/// Where agents put the path of a file.
const PATHS: &[&str] = &["file_path", "filePath"];
/// The further fields of an edit: all that are named before the bar, any of those after it.
const EDITS: &[(&[&str], &[&str])] = &[
    (&["content"], &[]),
    (&["old_string", "new_string"], &["replace_all"]),
    (&["oldString", "newString"], &["replaceAll"]),
];
/// The further fields of a read.
const READS: &[&str] = &["offset", "limit"];

struct Shape<'a>(&'a [(String, Json)]);

impl Shape<'_> {
    fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn has_only(&self, names: &[&[&str]]) -> bool {
        self.0.iter().all(|(name, _)| names.iter().any(|names| names.contains(&name.as_str())))
    }

    fn run(&self, cwd: &str) -> Option<Action> {
        let command = self.get("command")?;
        let plain = |value: &Json| matches!(value, Json::Plain(_) | Json::Text(_));
        let asides = self.0.iter().filter(|(name, _)| ASIDES.contains(&name.as_str()));
        if !self.has_only(&[&["command"], ASIDES, FOLDERS]) || !asides.map(|(_, value)| value).all(plain) {
            return None;
        }
        let words = match command {
            Json::Text(line) => argv::parse(line),
            Json::List(words) => {
                let words: Option<Vec<String>> = words.iter().map(|word| word.text().map(str::to_owned)).collect();
                argv::unwrapped(words?)
            }
            Json::Plain(_) | Json::Fields(_) => return None,
        };
        let mut folders = vec![cwd.to_owned()];
        for (_, folder) in self.0.iter().filter(|(name, _)| FOLDERS.contains(&name.as_str())) {
            folders.push(folder.text()?.to_owned());
        }
        Some(match words {
            Ok(argv) => Action::Run { argv, folders },
            Err(unclear) => Action::Unknown(Unknown::Command(unclear)),
        })
    }

    fn path(&self) -> Option<(&'static str, String)> {
        PATHS.iter().find_map(|name| Some((*name, self.get(name)?.text()?.to_owned())))
    }

    fn edit(&self, tool: &str) -> Option<Action> {
        let (name, path) = self.path()?;
        let fits = |(needed, allowed): &&(&[&str], &[&str])| {
            needed.iter().all(|name| self.get(name).is_some_and(|value| value.text().is_some()))
                && self.has_only(&[&[name], needed, allowed])
        };
        (tool == "edit" && EDITS.iter().any(|shape| fits(&shape))).then(|| Action::Edit { paths: vec![path] })
    }

    fn read(&self, tool: &str) -> Option<Action> {
        let (name, path) = self.path()?;
        (tool == "read" && self.has_only(&[&[name], READS])).then_some(Action::Read { path })
    }
}
