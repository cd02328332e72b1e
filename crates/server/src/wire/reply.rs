//! What Throughline itself says, and what can be chosen, to the wire.

use throughline_api::message as api;
use throughline_api::task::TaskRef;
use throughline_model::approval::Verdict;
use throughline_model::event::Seq;
use throughline_model::ids::Id as _;
use throughline_model::reply::{Action, Choice, Link, Reply};

/// A reply, whose links become places that clients can go to.
pub(crate) fn reply(reply: &Reply, cursor: impl Fn(Seq) -> String) -> api::Reply {
    let link = |link: &Link| api::Link {
        label: link.label.clone(),
        task: TaskRef { id: link.task.uuid(), key: link.key.clone() },
        cursor: link.at.map(&cursor),
    };
    api::Reply {
        text: reply.text.clone(),
        choices: reply.choices.iter().map(choice).collect(),
        links: reply.links.iter().map(link).collect(),
    }
}

pub(crate) fn choice(choice: &Choice) -> api::Choice {
    api::Choice { label: choice.label.clone(), action: action(&choice.action) }
}

fn action(action: &Action) -> api::Action {
    match action {
        Action::Correct { decision, task, interrupt } => api::Action::Correct {
            decision: decision.uuid(),
            task: task.map(|task| task.uuid()),
            interrupt: *interrupt,
        },
        Action::Decide { approval, verdict, digest } => api::Action::Decide {
            approval: approval.uuid(),
            option: match verdict {
                Verdict::Approve => "allow".into(),
                Verdict::Deny => "deny".into(),
            },
            digest: digest.clone(),
        },
        Action::MakeRule { approval } => api::Action::MakeRule { approval: approval.uuid() },
        Action::Answer { task } => api::Action::Answer { task: task.uuid() },
        Action::Open { task } => api::Action::Open { task: task.uuid() },
        Action::Stop { task } => api::Action::Stop { task: task.uuid() },
        Action::Retry { task } => api::Action::Retry { task: task.uuid() },
        Action::Close { task } => api::Action::Close { task: task.uuid() },
        Action::Reopen { task } => api::Action::Reopen { task: task.uuid() },
    }
}
