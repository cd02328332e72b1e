//! Policy: what a project allows without asking, and what it forbids. Pure: a request and the policy in, a standing out.
//!
//! - A rule is about the exact words of one plain command (see [`argv`]), in one project, in its folders. It is made from
//!   a request that a person saw, or of words that they typed; never from an agent's description.
//! - A rule that denies wins over everything that allows.
//! - Whatever is not understood is asked about.
//!
//! **Invariant:** a rule allows what was approved, or what `known` says is the same thing with other names. Nothing else.

pub mod action;
pub mod argv;
mod known;

use serde::{Deserialize, Serialize};

use crate::approval::{Ask, Source, Verdict};
use crate::execution::Role;
use crate::ids::{ApprovalId, PersonId};
use crate::rejection::Rejection;
use crate::time::Timestamp;
use action::{Action, Places};

/// More rules than anybody keeps in mind.
pub const MAX_RULES: usize = 200;

/// What a project allows without asking, and what it forbids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Counts its changes: a standing holds for the version that it was found in.
    pub version: u64,
    /// How many rules were ever made; the next one's number follows.
    pub made: u64,
    /// The rules that hold, oldest first.
    pub rules: Vec<Rule>,
    /// What roles may do besides.
    pub allowances: Vec<Allowance>,
}

/// A rule about one plain command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// What people call it.
    pub number: u64,
    /// What it says.
    pub draft: RuleDraft,
    /// Who made it, when, from where.
    pub made: Made,
    /// How often it was applied.
    #[serde(default)]
    pub uses: u64,
}

/// What a rule says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleDraft {
    /// Allows it or forbids it.
    pub verdict: Verdict,
    /// The words that a command has to begin with.
    pub argv: Vec<String>,
    /// Whether names may follow where that only says which tests, packages or files are meant. A rule that forbids
    /// always takes what begins with its words.
    pub open: bool,
    /// Only for this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// It does not hold from this moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The request that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalId>,
}

/// Who made something, when, from where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Who.
    pub by: PersonId,
    /// From where.
    pub source: Source,
    /// When.
    pub at: Timestamp,
}

/// Something that a role may do without asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// Which role.
    pub role: Role,
    /// What.
    pub what: Allowed,
    /// Who said so.
    pub made: Made,
}

/// What a role may be allowed. Commands are allowed by rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allowed {
    /// Reading files of the workspace.
    Reads,
    /// Changing files of the workspace.
    Edits,
}

impl Allowed {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Allowed::Reads => "reads",
            Allowed::Edits => "edits",
        }
    }
}

/// What decides a request in the place of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Standing {
    /// A rule.
    Rule {
        /// Which.
        number: u64,
        /// What it says.
        verdict: Verdict,
        /// Who made it, when, from where.
        made: Made,
    },
    /// An allowance.
    Allowance {
        /// Of what.
        what: Allowed,
        /// Who said so, when, from where.
        made: Made,
    },
}

impl Standing {
    /// What it comes to.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Standing::Rule { verdict, .. } => *verdict,
            Standing::Allowance { .. } => Verdict::Approve,
        }
    }
}

/// A standing and the version of the policy that it was found in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// What decides.
    pub standing: Standing,
    /// In which version.
    pub version: u64,
}

/// A request as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Whose.
    pub role: Role,
    /// What it would do.
    pub action: &'a Action,
    /// Where that really is.
    pub places: &'a Places,
    /// The folders that are the project's.
    pub roots: &'a [&'a str],
    /// When.
    pub at: Timestamp,
}

impl Policy {
    /// What decides a request in the place of a person; none if a person has to.
    #[must_use]
    pub fn judge(&self, question: Question<'_>) -> Option<Ruling> {
        let found = self.rule(Verdict::Deny, question).or_else(|| self.rule(Verdict::Approve, question));
        let standing = found.or_else(|| self.allowance(question))?;
        Some(Ruling { standing, version: self.version })
    }

    fn rule(&self, verdict: Verdict, question: Question<'_>) -> Option<Standing> {
        let Action::Run { argv, folders } = question.action else { return None };
        let holds = |rule: &&Rule| {
            let draft = &rule.draft;
            draft.verdict == verdict
                && draft.role.is_none_or(|role| role == question.role)
                && draft.expires_at.is_none_or(|end| question.at < end)
                && draft.fits(argv)
        };
        let inside = folders.iter().all(|folder| question.places.inside(folder, question.roots));
        // What is forbidden is forbidden everywhere.
        let rule = self.rules.iter().find(holds).filter(|_| inside || verdict == Verdict::Deny)?;
        Some(Standing::Rule { number: rule.number, verdict, made: rule.made.clone() })
    }

    fn allowance(&self, question: Question<'_>) -> Option<Standing> {
        let Question { places, roots, .. } = question;
        let what = match question.action {
            Action::Read { path } if places.inside(path, roots) => Allowed::Reads,
            Action::Edit { paths } if paths.iter().all(|path| places.editable(path, roots)) => Allowed::Edits,
            Action::Read { .. } | Action::Edit { .. } | Action::Run { .. } | Action::Unknown(_) => return None,
        };
        let known = self.allowances.iter().find(|known| known.role == question.role && known.what == what)?;
        Some(Standing::Allowance { what, made: known.made.clone() })
    }

    /// Checks a rule before it is made.
    ///
    /// # Errors
    /// If it is about something that is no plain command, or there are too many.
    pub fn check(&self, draft: &RuleDraft) -> Result<(), Rejection> {
        if self.rules.len() >= MAX_RULES {
            return Err(Rejection::TooManyRules);
        }
        match argv::plain(draft.argv.clone()) {
            Ok(_) if draft.open && !may_be_open(&draft.argv) => {
                Err(Rejection::NoRule { why: "more words after it could mean something else".into() })
            }
            Ok(_) => Ok(()),
            Err(unclear) => Err(Rejection::NoRule { why: action::Unknown::Command(unclear).words() }),
        }
    }
}

/// The rule that "always" makes of a request: exactly its words, and other names where that is the same thing.
///
/// # Errors
/// If no rule can be about it.
pub fn rule_for(ask: &Ask, approval: ApprovalId) -> Result<RuleDraft, Rejection> {
    match Action::of(ask) {
        Action::Run { argv, .. } => Ok(RuleDraft::of(argv, Some(approval))),
        Action::Unknown(unknown) => Err(Rejection::NoRule { why: unknown.words() }),
        Action::Edit { .. } | Action::Read { .. } => {
            Err(Rejection::NoRule { why: "rules are about commands; `tl policy` allows reads and edits".into() })
        }
    }
}

/// Whether names may follow these words.
#[must_use]
pub fn may_be_open(argv: &[String]) -> bool {
    known::OPEN.iter().any(|open| starts_with(argv, open.argv) && follows(open, &argv[open.argv.len()..]))
}

impl RuleDraft {
    /// A rule that allows these words.
    #[must_use]
    pub fn of(argv: Vec<String>, approval: Option<ApprovalId>) -> Self {
        let open = may_be_open(&argv);
        RuleDraft { verdict: Verdict::Approve, argv, open, role: None, expires_at: None, approval }
    }

    /// Whether it says the same, wherever it comes from.
    #[must_use]
    pub fn same(&self, other: &RuleDraft) -> bool {
        RuleDraft { approval: None, ..self.clone() } == RuleDraft { approval: None, ..other.clone() }
    }

    /// Whether a command is one that it is about.
    fn fits(&self, argv: &[String]) -> bool {
        let Some(rest) = argv.strip_prefix(self.argv.as_slice()) else { return false };
        match self.verdict {
            Verdict::Deny => true,
            Verdict::Approve if rest.is_empty() => true,
            Verdict::Approve => {
                let fits = |open: &&known::Open| starts_with(&self.argv, open.argv) && follows(open, rest);
                self.open && known::OPEN.iter().any(|open| fits(&open))
            }
        }
    }

    /// What it is about, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let words: Vec<String> = self.argv.iter().map(|word| crate::raw_input::shell_word(word)).collect();
        let line = words.join(" ");
        match (self.verdict, self.open) {
            (Verdict::Deny, _) => format!("{line} …"),
            (Verdict::Approve, true) => format!("{line} [names]"),
            (Verdict::Approve, false) => line,
        }
    }
}

fn starts_with(argv: &[String], words: &[&str]) -> bool {
    argv.len() >= words.len() && argv.iter().zip(words).all(|(word, known)| word == known)
}

/// Whether words only name things, with flags that are known.
fn follows(open: &known::Open, words: &[String]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let fine = match word.as_str() {
            flag if open.named.contains(&flag) => words.next().is_some_and(|name| is_name(name)),
            flag if flag.starts_with('-') => open.flags.contains(&flag),
            name => is_name(name),
        };
        if !fine {
            return false;
        }
    }
    true
}

/// A name of something in the workspace.
fn is_name(word: &str) -> bool {
    !word.starts_with(['-', '/', '@', '+', ':']) && !word.contains('=') && word.split('/').all(|part| part != "..")
}
