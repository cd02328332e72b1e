//! The daemon, its agents and its glance, as they travel.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::Approval;
use crate::message::Reply;
use crate::task::TaskSummary;

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    /// The daemon's version, such as `0.1.0`.
    pub version: String,
    /// The number of the wire protocol.
    pub protocol: u32,
    /// The daemon's process id.
    pub pid: u32,
    /// The state directory that it serves.
    pub home: String,
    /// The URL of its TCP listener, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The address that browsers on other machines open, where the settings have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

/// Whether the daemon lives, or is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`.
    pub status: String,
    /// The daemon's version.
    pub version: String,
}

/// Where things stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// What needs a person, most urgent first. At most 50.
    pub needs_me: Vec<TaskSummary>,
    /// What runs or waits in line. At most 50.
    pub running: Vec<TaskSummary>,
    /// What rests, most recent first. At most 10.
    pub resting: Vec<TaskSummary>,
    /// What nobody has decided.
    pub approvals: Vec<Approval>,
    /// The same in words, with links to the events that they rest on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Reply>,
    /// How many projects there are.
    pub projects: usize,
    /// Follow the event stream from here and nothing is missed.
    pub cursor: String,
}

/// An agent that tasks can be given to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agent {
    /// Its profile's name.
    pub name: String,
    /// The program that is started.
    pub program: String,
    /// Where it is installed; nothing if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// How to install it.
    pub install: String,
    /// Whether `tl agents login` can run its own login.
    #[serde(default)]
    pub has_login: bool,
    /// Its strictest workable mode, which it is set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What it runs without a question even in that mode, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_unasked: Option<String>,
    /// Its newest turn failed for want of a login.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_login: bool,
}

/// All agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentList {
    /// As configured.
    pub agents: Vec<Agent>,
}

/// What an agent said about itself when it was started to see whether it works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentProbe {
    /// Its own name, such as `codex-acp`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// How to stop the daemon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopDaemon {
    /// What becomes of the keepers.
    #[serde(default)]
    pub keepers: Keepers,
}

/// What becomes of the keepers, and so of the agents that are at work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keepers {
    /// They live on; the next daemon reads on where this one left off.
    #[default]
    Leave,
    /// They stop, and their agents with them.
    Stop,
}

/// The daemon is about to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stopping {
    /// The process that is ending.
    pub pid: u32,
    /// Keepers that ran when it was asked; they live on unless they are stopped too.
    pub running: Vec<RunningKeeper>,
}

/// A keeper that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningKeeper {
    /// The keeper's process id.
    pub pid: i32,
    /// The key of the task that its agent works for, where the daemon knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}
