//! The only place in xtask that starts processes and reads a clock.
//!
//! Refuses shells: a program and its arguments, never a string to parse. A child that could not be
//! started is an error, a child that failed is an answer ([`Exit::Failed`]).

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// One program call, described before it is made so that it can be printed and tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Ok,
    Failed,
}

impl Call {
    /// A call of `cargo`, the one that runs this xtask (so that `+toolchain` is kept).
    pub(crate) fn cargo(args: &[&str]) -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        Self::program(&cargo, args)
    }

    pub(crate) fn program(program: &str, args: &[&str]) -> Self {
        Self { program: program.to_owned(), args: args.iter().map(|arg| (*arg).to_owned()).collect(), env: Vec::new() }
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.env.push((key.to_owned(), value.to_owned()));
        self
    }

    /// What a person would type to repeat this call.
    pub(crate) fn shown(&self) -> String {
        let mut words: Vec<String> = self.env.iter().map(|(k, v)| format!("{k}={v:?}")).collect();
        let name = Path::new(&self.program).file_name();
        words.push(name.map_or_else(|| self.program.clone(), |n| n.to_string_lossy().into_owned()));
        words.extend(self.args.iter().cloned());
        words.join(" ")
    }

    /// Runs the child with our stdout and stderr, and no stdin: nothing here may wait for a person.
    pub(crate) fn run(&self, root: &Path) -> Result<Exit> {
        let status = self.command(root).status().with_context(|| format!("could not start `{}`", self.shown()))?;
        Ok(if status.success() { Exit::Ok } else { Exit::Failed })
    }

    /// Runs the child and returns what it wrote to stdout; its failure is an error.
    pub(crate) fn output(&self, root: &Path) -> Result<String> {
        let output = self.command(root).output().with_context(|| format!("could not start `{}`", self.shown()))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` failed: {}", self.shown(), stderr.trim());
        }
        String::from_utf8(output.stdout).with_context(|| format!("`{}` wrote invalid UTF-8", self.shown()))
    }

    /// Whether the child can be started and succeeds; its words are thrown away.
    pub(crate) fn succeeds(&self, root: &Path) -> bool {
        self.command(root).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    #[expect(clippy::disallowed_methods, reason = "xtask::run owns the chores' processes")]
    fn command(&self, root: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(root).stdin(Stdio::null());
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        command
    }
}

/// Runs `work` and says how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(clippy::disallowed_methods, reason = "xtask::run times the chores")]
    let start = Instant::now();
    let value = work();
    (value, start.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_as_a_person_would_type_it() {
        let call = Call::program("/opt/bin/cargo", &["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(call.shown(), r#"RUSTDOCFLAGS="-D warnings" cargo doc --no-deps"#);
    }

    #[test]
    fn a_missing_program_does_not_succeed() {
        assert!(!Call::program("throughline-no-such-program", &[]).succeeds(Path::new(".")));
    }
}
