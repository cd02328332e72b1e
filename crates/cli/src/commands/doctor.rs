//! `tl doctor`: a self-check, with what to do about each finding.
//!
//! It looks and never mends. Without a daemon it starts one, as every command does; if that fails, the
//! checks that need none are still made.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::statvfs;
use serde::Serialize;
use throughline_api::client::Client;
use throughline_api::daemon::Agent;
use throughline_engine::{Config, Home};

use super::Context;
use crate::build_identity::BuildIdentity;
use crate::daemon::Daemon;
use crate::failure::{Failure, Outcome};
use crate::output::Style;
use crate::safe_text::safe_line;
use crate::table::{Cell, table};

/// Below this much room a turn may fail.
const WARN_ROOM_BYTES: u64 = 1 << 30;
/// Below this much room nothing can be promised.
const FAIL_ROOM_BYTES: u64 = 64 << 20;
/// An agent that takes longer to say who it is does not work.
const PROBE_PATIENCE: Duration = Duration::from_secs(90);

/// Check this installation, with what to do about each finding
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug, Serialize)]
struct Finding {
    check: String,
    verdict: Verdict,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(check: impl Into<String>, verdict: Verdict, message: impl Into<String>) -> Self {
        Self { check: check.into(), verdict, message: message.into(), fix: None }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    fn of_failure(check: &str, failure: Failure) -> Self {
        let message = format!("{} ({})", failure.message, failure.code);
        let finding = Self::new(check, Verdict::Fail, message);
        match failure.hint {
            Some(hint) => finding.fix(hint),
            None => finding,
        }
    }
}

pub(super) async fn run(context: Context, Args {}: Args) -> Outcome {
    let home = &context.home;
    let mut findings = vec![private("home", home.path(), 0o700), room(home), config(home), git()];
    match context.daemon().await {
        Ok(daemon) => findings.extend(with_daemon(home, &daemon).await),
        Err(failure) => findings.push(Finding::of_failure("daemon", failure)),
    }
    let output = context.output;
    output.document(&serde_json::json!({ "findings": findings }), || {
        let rows: Vec<Vec<Cell>> = findings.iter().flat_map(rows).collect();
        table(output, &rows)
    })?;
    let failed = findings.iter().filter(|finding| finding.verdict == Verdict::Fail).count();
    match failed {
        0 => Ok(()),
        1 => Err(Failure::new("doctor_failed", "one check failed").hint("see what is said to it above")),
        count => {
            Err(Failure::new("doctor_failed", format!("{count} checks failed")).hint("see what is said to them above"))
        }
    }
}

fn rows(finding: &Finding) -> Vec<Vec<Cell>> {
    let verdict = match finding.verdict {
        Verdict::Ok => Cell::styled("ok", Style::Good),
        Verdict::Warn => Cell::styled("warn", Style::Warn),
        Verdict::Fail => Cell::styled("fail", Style::Bad),
    };
    let mut rows = vec![vec![verdict, Cell::new(safe_line(&finding.check)), Cell::new(safe_line(&finding.message))]];
    if let Some(fix) = &finding.fix {
        let fix = format!("→ {}", safe_line(fix));
        rows.push(vec![Cell::new(""), Cell::new(""), Cell::styled(fix, Style::Faint)]);
    }
    rows
}

/// Whether a file or folder is its owner's alone.
fn private(check: &str, path: &Path, wanted: u32) -> Finding {
    let shown = path.display();
    match path.metadata() {
        Err(error) => {
            Finding::new(check, Verdict::Fail, format!("{shown}: {error}")).fix("`tl down`, then `tl up` makes it anew")
        }
        Ok(metadata) => match metadata.permissions().mode() & 0o777 {
            mode if mode & 0o077 == 0 => Finding::new(check, Verdict::Ok, shown.to_string()),
            mode => Finding::new(check, Verdict::Fail, format!("{shown} has mode {mode:o}: others can read it"))
                .fix(format!("chmod {wanted:o} {shown}")),
        },
    }
}

fn room(home: &Home) -> Finding {
    let stat = match statvfs(home.path()) {
        Ok(stat) => stat,
        Err(error) => return Finding::new("disk", Verdict::Warn, error.to_string()),
    };
    let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
    let message = format!("{} MB are free", free_bytes >> 20);
    match free_bytes {
        0..FAIL_ROOM_BYTES => Finding::new("disk", Verdict::Fail, message),
        FAIL_ROOM_BYTES..WARN_ROOM_BYTES => Finding::new("disk", Verdict::Warn, message),
        _ => return Finding::new("disk", Verdict::Ok, message),
    }
    .fix(format!("free some room on the disk of {}", home.path().display()))
}

fn config(home: &Home) -> Finding {
    match Config::load(home) {
        Ok(config) => Finding::new(
            "settings",
            Verdict::Ok,
            format!("{} agents, {} by default", config.agents.len(), config.default_agent),
        ),
        Err(error) => Finding::new("settings", Verdict::Fail, error.to_string()).fix(error.hint()),
    }
}

fn git() -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
    match found {
        Some(file) => Finding::new("git", Verdict::Ok, file.display().to_string()),
        None => Finding::new("git", Verdict::Warn, "it is not installed").fix("install git"),
    }
}

async fn with_daemon(home: &Home, daemon: &Daemon) -> Vec<Finding> {
    let mut findings = vec![answers(&daemon.client).await, store(&daemon.client).await];
    if let throughline_api::client::Endpoint::Unix(socket) = daemon.client.endpoint() {
        findings.push(private("socket", socket, 0o600));
    }
    findings.push(private("token", &home.token_file(), 0o600));
    match daemon.client.agents().await {
        Ok(list) => {
            for agent in &list.agents {
                findings.push(agent_works(&daemon.client, agent).await);
            }
        }
        Err(error) => findings.push(Finding::of_failure("agents", error.into())),
    }
    findings
}

async fn answers(client: &Client) -> Finding {
    match client.version().await {
        Ok(version) => {
            let own = BuildIdentity::own().version;
            let message = format!("process {}, version {}", version.pid, version.version);
            if version.version == own {
                Finding::new("daemon", Verdict::Ok, message)
            } else {
                Finding::new("daemon", Verdict::Warn, format!("{message}; this tl is {own}")).fix("use the newer tl")
            }
        }
        Err(error) => Finding::of_failure("daemon", error.into()),
    }
}

async fn store(client: &Client) -> Finding {
    match client.status().await {
        Ok(status) => Finding::new(
            "store",
            Verdict::Ok,
            match status.projects {
                1 => "it has one project".to_owned(),
                count => format!("it has {count} projects"),
            },
        ),
        Err(error) => Finding::of_failure("store", error.into()),
    }
}

/// An agent that is not installed is no fault; one that is and does not work is worth a warning.
async fn agent_works(client: &Client, agent: &Agent) -> Finding {
    let check = format!("agent {}", agent.name);
    if agent.found.is_none() {
        let finding = Finding::new(check, Verdict::Ok, "is not installed");
        return finding.fix(agent.install.clone());
    }
    let client = client.clone().with_patience(PROBE_PATIENCE);
    match client.probe_agent(&agent.name).await {
        Ok(probe) if agent.wants_login => {
            let message = format!("{} {}: its last turn failed for want of a login", probe.name, probe.version);
            let own = format!("tl agents login {}", agent.name);
            let fix = if agent.has_login { own } else { "log in with the agent's own login".to_owned() };
            Finding::new(check, Verdict::Warn, message).fix(fix)
        }
        Ok(probe) => Finding::new(check, Verdict::Ok, format!("{} {}", probe.name, probe.version)),
        Err(error) => {
            let built_in = agent.name == "demo";
            let finding = Finding::of_failure(&check, error.into());
            Finding { verdict: if built_in { Verdict::Fail } else { Verdict::Warn }, ..finding }
        }
    }
}
