//! The environment of an agent: that of the person's login shell in the project's folder, filtered by an allow-list.
//!
//! A daemon's own environment is that of whoever happened to start it. What a person expects is what their shell would
//! give: version managers, paths, proxies. The shell is asked once per folder; one that does not answer in time, or
//! fails, is passed over.
//!
//! *Invariant:* only the first who asks about a folder waits for its shell, and nobody for that of another folder. An
//! answer that has become old still counts while it is asked for anew; who cannot do with it has it forgotten.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

/// How long a shell may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long its answer counts.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);
/// Stands between whatever a shell's own files print and the environment.
const BOUNDARY: &str = "--throughline-environment--";

/// Variables that pass to every agent.
const COMMON: [&str; 27] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
];

/// Whether a variable passes to an agent that asks for these besides the common ones.
pub(crate) fn passes(name: &str, asked_for: &[String]) -> bool {
    COMMON.contains(&name) || name.starts_with("LC_") || asked_for.iter().any(|known| known == name)
}

/// What the login shell gives, by folder.
#[derive(Clone, Default)]
pub(crate) struct Environments {
    known: Arc<Mutex<HashMap<PathBuf, Arc<OnceCell<Known>>>>>,
}

/// The variables of an environment.
pub(crate) type Variables = Vec<(String, String)>;

/// A shell's answer, and when it was given.
type Known = (Instant, Variables);

impl Environments {
    /// The environment of a login shell in this folder; this process's own where there is none.
    pub(crate) async fn of(&self, folder: &Path) -> Variables {
        let answer = Arc::clone(self.known().entry(folder.to_owned()).or_default());
        let (since, variables) = answer.get_or_init(|| ask(folder)).await.clone();
        if since.elapsed() >= REMEMBERED {
            // Counts as new until the shell has answered, so that it is asked once.
            self.remember(folder, (Instant::now(), variables.clone()));
            let (this, folder) = (self.clone(), folder.to_owned());
            tokio::spawn(async move { this.remember(&folder, ask(&folder).await) });
        }
        variables
    }

    /// The next who asks about this folder waits for its shell.
    pub(crate) fn forget(&self, folder: &Path) {
        self.known().remove(folder);
    }

    fn remember(&self, folder: &Path, known: Known) {
        self.known().insert(folder.to_owned(), Arc::new(OnceCell::new_with(Some(known))));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<OnceCell<Known>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(folder: &Path) -> Known {
    let own = || {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    };
    let variables = ask_shell(folder).await.unwrap_or_else(own);
    (Instant::now(), variables)
}

#[expect(clippy::disallowed_methods, reason = "asking the person's shell is the one thing here that needs a process")]
async fn ask_shell(folder: &Path) -> Option<Variables> {
    let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty())?;
    let mut command = Command::new(&shell);
    command
        .args(["-l", "-c", &format!("printf '%s' '{BOUNDARY}'; exec env -0")])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let answer = match timeout(PATIENCE, command.output()).await {
        Ok(Ok(answer)) if answer.status.success() => answer,
        Ok(Ok(answer)) => {
            tracing::warn!(?shell, status = %answer.status, "the login shell failed; the daemon's own environment is used");
            return None;
        }
        Ok(Err(error)) => {
            tracing::warn!(?shell, %error, "the login shell cannot be asked; the daemon's own environment is used");
            return None;
        }
        Err(_) => {
            tracing::warn!(?shell, "the login shell does not answer; the daemon's own environment is used");
            return None;
        }
    };
    parse(&answer.stdout)
}

fn parse(output: &[u8]) -> Option<Variables> {
    let boundary = BOUNDARY.as_bytes();
    let at = output.windows(boundary.len()).rposition(|window| window == boundary)?;
    let variable = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).ok()?;
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    };
    Some(output[at + boundary.len()..].split(|byte| *byte == 0).filter_map(variable).collect())
}

/// The variables of an env file: `NAME=value` lines, `#` comments, an optional `export`, quotes taken off.
pub(crate) fn parse_file(text: &str) -> Variables {
    let variable = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = value.trim();
        let quoted = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
        plain.then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter(|line| !line.trim_start().starts_with('#')).filter_map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shells_own_files_print_is_passed_over() {
        let output = format!("welcome!\nPATH=/wrong\n{BOUNDARY}PATH=/bin\0MULTI=a\nb\0EMPTY=\0");
        let expected =
            [("PATH", "/bin"), ("MULTI", "a\nb"), ("EMPTY", "")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(parse(output.as_bytes()), Some(expected.to_vec()));
        assert_eq!(parse(b"no boundary"), None);
    }

    #[test]
    fn an_env_file_is_read_as_people_write_it() {
        let text = "# keys\nexport A=1\nB = \"two words\"\n C='x=y' \nnot a variable\n1 X=2\n";
        let expected = [("A", "1"), ("B", "two words"), ("C", "x=y")].map(|(name, value)| (name.into(), value.into()));
        assert_eq!(parse_file(text), expected.to_vec());
    }

    #[test]
    fn secrets_pass_only_to_who_asks_for_them() {
        assert!(passes("PATH", &[]) && passes("LC_ALL", &[]));
        assert!(!passes("OPENAI_API_KEY", &[]));
        assert!(passes("OPENAI_API_KEY", &["OPENAI_API_KEY".into()]));
    }
}
