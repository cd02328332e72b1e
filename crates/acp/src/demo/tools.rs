//! The steps that touch the machine: commands, files, floods and detached processes, each as a tool
//! call.
//!
//! *Invariants.* `run` starts nothing without permission, unless the session's mode is `auto` or the
//! client said "always". Files outside the session's directory are never read or written. A call that
//! did not succeed ends as failed, and the agent says why before it goes on.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, ToolCall,
    ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::json;

use super::files;
use super::offer::Mode;
use super::session_file::{Record, Rule};
use super::shell::{self, Progress, Shell};
use super::turn::{Turn, TurnError, clip};

/// How much of a command's output, or of a file, is shown in a tool call.
const SHOWN_BYTES: usize = 256 * 1024;
/// How much of it is repeated in a message.
const SAID_CHARS: usize = 800;

enum Permission {
    Granted,
    Refused(String),
}

impl Turn {
    /// `run CMD`.
    pub(super) async fn run(&mut self, command: &str) -> Result<(), TurnError> {
        let cwd = self.cwd();
        let input = json!({ "command": ["sh", "-c", command], "cwd": cwd });
        let call = self.open_call(command, |call| call.kind(ToolKind::Execute).raw_input(input)).await?;
        let id = call.tool_call_id.clone();
        if let Permission::Refused(why) = self.permission(call, command).await? {
            let text = format!("`{command}` was not run: {why}.");
            return self.fail_call(&id, &text).await;
        }
        self.update_call(&id, status(ToolCallStatus::InProgress)).await?;
        match self.run_permitted(&id, command, &cwd).await? {
            Ok((exit, output)) => self.report_exit(&id, command, exit, &output).await,
            Err(error) => {
                let text = format!("`{command}` could not be run: {error}.");
                self.fail_call(&id, &text).await
            }
        }
    }

    async fn permission(&mut self, call: ToolCall, command: &str) -> Result<Permission, TurnError> {
        let (mode, rule) = self.session.known(|known| (known.mode, known.rules.get(command).copied()));
        match (mode, rule) {
            (_, Some(Rule::Reject)) => return Ok(refused("you said never")),
            (Mode::Auto, _) | (_, Some(Rule::Allow)) => return Ok(Permission::Granted),
            (Mode::Ask, None) => {}
        }
        let request =
            RequestPermissionRequest::new(self.session.id.clone(), ToolCallUpdate::from(call), permission_options());
        let response = self.wire.connection.send_request(request).block_task().await;
        let chosen = match response.map(|response| response.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => selected.option_id,
            Ok(_) => return Err(TurnError::Cancelled),
            Err(error) => return Ok(refused(&format!("the client could not decide ({error})"))),
        };
        match &*chosen.0 {
            "allow_once" => Ok(Permission::Granted),
            "allow_always" => {
                self.rule(command, Rule::Allow)?;
                Ok(Permission::Granted)
            }
            "reject_always" => {
                self.rule(command, Rule::Reject)?;
                Ok(refused("you rejected it, for good"))
            }
            // Whatever is not a clear yes is a no.
            _ => Ok(refused("you rejected it")),
        }
    }

    fn rule(&self, command: &str, rule: Rule) -> Result<(), TurnError> {
        let command = command.to_owned();
        Ok(self.session.record(&Record::Ruled { command, rule })?)
    }

    /// Runs the command and shows its output as it comes, as far as it is shown at all. A tool call's
    /// content is replaced by each update, so once there is much of it, it is sent only each time it
    /// has doubled.
    async fn run_permitted(
        &self,
        call: &ToolCallId,
        command: &str,
        cwd: &Path,
    ) -> Result<io::Result<(ExitStatus, String)>, TurnError> {
        let mut shell = match Shell::start(command, cwd) {
            Ok(shell) => shell,
            Err(error) => return Ok(Err(error)),
        };
        let (mut output, mut dropped, mut next_shown) = (Vec::new(), 0, 1);
        loop {
            let progress = shell.next(&mut output).await;
            dropped += output.len().saturating_sub(SHOWN_BYTES) as u64;
            output.truncate(SHOWN_BYTES);
            let text = || shown(&output, output.len() as u64 + dropped);
            match progress {
                Ok(Progress::Output) if output.len() >= next_shown => {
                    next_shown = (output.len() + 1).max(output.len() / 4096 * 2 * 4096);
                    let fields = ToolCallUpdateFields::new().content(vec![text().into()]);
                    self.update_call(call, fields).await?;
                }
                Ok(Progress::Output) => {}
                Ok(Progress::Ended(exit)) => return Ok(Ok((exit, text()))),
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    async fn report_exit(
        &mut self,
        call: &ToolCallId,
        command: &str,
        exit: ExitStatus,
        output: &str,
    ) -> Result<(), TurnError> {
        let ended = if exit.success() { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let raw = json!({ "exitCode": exit.code(), "signal": exit.signal() });
        let content = vec![output.into()];
        self.update_call(call, status(ended).content(content).raw_output(raw)).await?;
        let how = match (exit.code(), exit.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, signal) => format!("killed by signal {}", signal.unwrap_or_default()),
        };
        let text = match clip(output.trim_end(), SAID_CHARS) {
            said if said.is_empty() => format!("Ran `{command}`: {how}, no output."),
            said => format!("Ran `{command}`: {how}.\n\n```\n{said}\n```"),
        };
        self.say(&text).await
    }

    /// `write PATH TEXT`.
    pub(super) async fn write(&mut self, path: &str, text: &str) -> Result<(), TurnError> {
        self.edit("Write", path, |_| as_line(text)).await
    }

    /// `append PATH TEXT`.
    pub(super) async fn append(&mut self, path: &str, text: &str) -> Result<(), TurnError> {
        self.edit("Append to", path, |old| old.unwrap_or_default().to_owned() + &as_line(text)).await
    }

    async fn edit(
        &mut self,
        verb: &str,
        path: &str,
        change: impl FnOnce(Option<&str>) -> String,
    ) -> Result<(), TurnError> {
        let cwd = self.cwd();
        let call = self
            .open_call(&format!("{verb} {path}"), |call| {
                call.kind(ToolKind::Edit)
                    .status(ToolCallStatus::InProgress)
                    .locations(vec![ToolCallLocation::new(cwd.join(path))])
                    .raw_input(json!({ "path": path }))
            })
            .await?
            .tool_call_id;
        match files::edit(&cwd, path, change) {
            Ok(diff) => {
                let bytes = diff.new_text.len();
                let fields = status(ToolCallStatus::Completed)
                    .locations(vec![ToolCallLocation::new(diff.path.clone())])
                    .content(vec![ToolCallContent::Diff(diff)]);
                self.update_call(&call, fields).await?;
                self.say(&format!("{path} is written: {bytes} bytes now.")).await
            }
            Err(error) => {
                let text = format!("Nothing was written: {error}.");
                self.fail_call(&call, &text).await
            }
        }
    }

    /// `read PATH`.
    pub(super) async fn read(&mut self, path: &str) -> Result<(), TurnError> {
        let cwd = self.cwd();
        let call = self
            .open_call(&format!("Read {path}"), |call| {
                call.kind(ToolKind::Read)
                    .status(ToolCallStatus::InProgress)
                    .locations(vec![ToolCallLocation::new(cwd.join(path))])
                    .raw_input(json!({ "path": path }))
            })
            .await?
            .tool_call_id;
        match files::read_head(&cwd, path, SHOWN_BYTES as u64) {
            Ok(head) => {
                let text = shown(&head.bytes, head.total);
                let fields = status(ToolCallStatus::Completed).content(vec![text.as_str().into()]);
                self.update_call(&call, fields).await?;
                let said = clip(text.trim_end(), SAID_CHARS);
                let text = format!("{path}, {} bytes:\n\n```\n{said}\n```", head.total);
                self.say(&text).await
            }
            Err(error) => {
                let text = format!("Nothing was read: {error}.");
                self.fail_call(&call, &text).await
            }
        }
    }

    /// `flood BYTES`: all of it in a single update, so that frame limits can be tried.
    pub(super) async fn flood(&mut self, bytes: u64) -> Result<(), TurnError> {
        const PATTERN: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
        let call = self
            .open_call(&format!("Flood of {bytes} bytes"), |call| {
                call.status(ToolCallStatus::InProgress).raw_input(json!({ "bytes": bytes }))
            })
            .await?
            .tool_call_id;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let mut flood = PATTERN.repeat(bytes.div_ceil(PATTERN.len()));
        flood.truncate(bytes);
        let fields = status(ToolCallStatus::Completed).content(vec![flood.into()]);
        self.update_call(&call, fields).await?;
        self.say(&format!("Sent {bytes} bytes of tool output in one update.")).await
    }

    /// `spawn SECS`.
    pub(super) async fn spawn(&mut self, secs: u64) -> Result<(), TurnError> {
        let command = format!("sleep {secs}");
        let call = self
            .open_call(&format!("Leave `{command}` running"), |call| {
                call.kind(ToolKind::Execute)
                    .status(ToolCallStatus::InProgress)
                    .raw_input(json!({ "command": ["sleep", secs.to_string()], "detached": true }))
            })
            .await?
            .tool_call_id;
        match shell::detach_sleep(secs).await {
            Ok(pid) => {
                let fields = status(ToolCallStatus::Completed).raw_output(json!({ "pid": pid }));
                self.update_call(&call, fields).await?;
                self.say(&format!("Left `{command}` running as pid {pid}.")).await
            }
            Err(error) => {
                let text = format!("Nothing was left running: {error}.");
                self.fail_call(&call, &text).await
            }
        }
    }

    fn cwd(&self) -> PathBuf {
        self.session.known(|known| known.cwd.clone())
    }

    async fn fail_call(&mut self, call: &ToolCallId, why: &str) -> Result<(), TurnError> {
        let fields = status(ToolCallStatus::Failed).content(vec![why.into()]).raw_output(json!({ "error": why }));
        self.update_call(call, fields).await?;
        self.say(why).await
    }
}

fn status(status: ToolCallStatus) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(status)
}

fn refused(why: &str) -> Permission {
    Permission::Refused(why.to_owned())
}

/// The option ids are the names of the kinds.
fn permission_options() -> Vec<PermissionOption> {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    vec![
        PermissionOption::new("allow_once", "Allow once", AllowOnce),
        PermissionOption::new("allow_always", "Always allow this command", AllowAlways),
        PermissionOption::new("reject_once", "Reject", RejectOnce),
        PermissionOption::new("reject_always", "Never run this command", RejectAlways),
    ]
}

/// The first bytes as text; what is left out of `total` is counted.
fn shown(head: &[u8], total: u64) -> String {
    let mut text = String::from_utf8_lossy(head).into_owned();
    let left_out = total.saturating_sub(head.len() as u64);
    if left_out > 0 {
        text += &format!("\n… {left_out} more bytes are not shown");
    }
    text
}

/// A text as it goes into a file: with a newline, unless it is empty.
fn as_line(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{text}\n")
}
