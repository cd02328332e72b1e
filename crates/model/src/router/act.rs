//! Speech acts: what a message does, before it is known to what. The classifier scores these.

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Act {
    /// A plain yes.
    Yes,
    /// A yes for now and later.
    Always,
    /// A no, with or without a reason.
    No,
    /// A yes with a condition, or a hesitation.
    YesBut,
    /// Several decisions at once.
    Multi,
    /// "Go on."
    GoOn,
    /// A question about progress.
    Status,
    /// A question about the progress of everything.
    StatusAll,
    /// "Stop."
    Cancel,
    /// "Stop everything."
    CancelAll,
    /// "We are done with this."
    Close,
    /// "Again."
    Retry,
    /// "Forget the context."
    Fresh,
    /// "Try another way next to it."
    Fork,
    /// "Back to that other one."
    Focus,
    /// "Let this agent look too."
    Add,
    /// "Let that agent do it instead."
    Switch,
    /// "Something else: …"
    NewTask,
    /// A self-contained goal.
    Goal,
    /// An adjustment of what was made, or a complaint about it.
    Adjust,
    /// A question about the code, the error or the reasoning.
    Ask,
    /// A comparison with another task.
    Ref,
    /// A courtesy.
    Thanks,
    /// "How do I use this?"
    Help,
}

/// Every act, in the order of the weights.
pub const ACTS: [Act; 24] = [
    Act::Yes,
    Act::Always,
    Act::No,
    Act::YesBut,
    Act::Multi,
    Act::GoOn,
    Act::Status,
    Act::StatusAll,
    Act::Cancel,
    Act::CancelAll,
    Act::Close,
    Act::Retry,
    Act::Fresh,
    Act::Fork,
    Act::Focus,
    Act::Add,
    Act::Switch,
    Act::NewTask,
    Act::Goal,
    Act::Adjust,
    Act::Ask,
    Act::Ref,
    Act::Thanks,
    Act::Help,
];

impl Act {
    /// Its name in the corpus.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Always => "always",
            Self::No => "no",
            Self::YesBut => "yesbut",
            Self::Multi => "multi",
            Self::GoOn => "goon",
            Self::Status => "status",
            Self::StatusAll => "statall",
            Self::Cancel => "cancel",
            Self::CancelAll => "cancelall",
            Self::Close => "close",
            Self::Retry => "retry",
            Self::Fresh => "fresh",
            Self::Fork => "fork",
            Self::Focus => "focus",
            Self::Add => "add",
            Self::Switch => "switch",
            Self::NewTask => "newtask",
            Self::Goal => "goal",
            Self::Adjust => "adjust",
            Self::Ask => "ask",
            Self::Ref => "ref",
            Self::Thanks => "thanks",
            Self::Help => "help",
        }
    }

    /// What it sounds like, for the evidence.
    #[must_use]
    pub fn sounds_like(self) -> &'static str {
        match self {
            Self::Yes => "a yes",
            Self::Always => "a yes for now and later",
            Self::No => "a no",
            Self::YesBut => "a yes with a condition, or a hesitation",
            Self::Multi => "several decisions at once",
            Self::GoOn => "\"go on\"",
            Self::Status => "a question about progress",
            Self::StatusAll => "a question about everything's progress",
            Self::Cancel => "\"stop\"",
            Self::CancelAll => "\"stop everything\"",
            Self::Close => "\"we are done with this\"",
            Self::Retry => "\"try again\"",
            Self::Fresh => "\"forget the context\"",
            Self::Fork => "\"try another way next to it\"",
            Self::Focus => "a turn to another task",
            Self::Add => "a wish for a further agent",
            Self::Switch => "a change of agent",
            Self::NewTask => "the opening of another subject",
            Self::Goal => "a goal of its own",
            Self::Adjust => "an adjustment of what was made",
            Self::Ask => "a question about the code",
            Self::Ref => "a comparison with another task",
            Self::Thanks => "a courtesy",
            Self::Help => "a question about how to use this",
        }
    }
}

/// How likely each act is.
#[derive(Clone, Debug)]
pub struct Acts(pub [f32; ACTS.len()]);

impl Acts {
    /// How likely one act is.
    #[must_use]
    pub fn of(&self, act: Act) -> f32 {
        self.0[act as usize]
    }

    /// How likely one of several acts is.
    #[must_use]
    pub fn any(&self, acts: &[Act]) -> f32 {
        acts.iter().map(|act| self.of(*act)).sum()
    }

    /// These, mixed with a share of others.
    #[must_use]
    pub fn blend(&self, other: &Self, share: f32) -> Self {
        let mut mixed = self.clone();
        for (mine, theirs) in mixed.0.iter_mut().zip(other.0) {
            *mine = *mine * (1.0 - share) + theirs * share;
        }
        mixed
    }

    /// Whether acts of together such a likelihood are heard: by themselves, or clearly above all talk about work.
    #[must_use]
    pub fn heard(&self, likelihood: f32, floor: f32) -> bool {
        let work = self.any(&[Act::Goal, Act::NewTask, Act::Adjust, Act::Ask, Act::Ref]);
        likelihood > floor || (likelihood > 0.3 && likelihood > work * 1.4)
    }

    /// The acts, likeliest first.
    #[must_use]
    pub fn ranked(&self) -> Vec<(Act, f32)> {
        let mut all: Vec<(Act, f32)> = ACTS.iter().map(|act| (*act, self.of(*act))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// The likeliest act.
    #[must_use]
    pub fn top(&self) -> Act {
        ACTS.iter().copied().fold(Act::Yes, |best, act| if self.of(act) > self.of(best) { act } else { best })
    }
}
