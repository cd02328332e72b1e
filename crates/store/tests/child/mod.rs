//! Tests that need a second process: the test binary runs itself, told by the environment what to do.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use throughline_store::conformance::Fixture;
use throughline_store::{OpenOptions, SqliteStore, Store as _};

const HOME: &str = "STORE_TEST_CHILD_HOME";
const ROLE: &str = "STORE_TEST_CHILD_ROLE";
const NOBODY: u32 = 65534;

#[expect(clippy::disallowed_methods, reason = "the crash of another process is what is tested")]
fn child(binary: &Path, home: &Path, role: &str) -> Command {
    let mut command = Command::new(binary);
    command.args(["--exact", "child::plays_its_role", "--nocapture"]);
    command.env(HOME, home).env(ROLE, role).stdout(Stdio::piped()).stdin(Stdio::null());
    command
}

/// Not a test of its own: the body of the child process. Without a role it has nothing to do.
#[test]
fn plays_its_role() {
    let (Ok(role), Some(home)) = (std::env::var(ROLE), std::env::var_os(HOME).map(PathBuf::from)) else { return };
    match role.as_str() {
        "commit" => commit_forever(&home),
        "open" => println!(
            "code={}",
            SqliteStore::open(&OpenOptions::new(home)).map_or_else(|error| error.code(), |_| "opened")
        ),
        other => panic!("no such role: {other}"),
    }
}

/// Commits batches of two events from several tasks at once, and says so after each.
fn commit_forever(home: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(async {
        let store = Arc::new(SqliteStore::open(&OpenOptions::new(home)).expect("the store opens"));
        let mut writers = tokio::task::JoinSet::new();
        for seed in 0..8 {
            let store = Arc::clone(&store);
            writers.spawn(async move {
                let mut make = Fixture::new(seed);
                let stream = make.stream();
                for batch in 0.. {
                    let events = vec![make.note("first"), make.note("second")];
                    let done = store.commit(super::appending(stream, batch * 2, events)).await.expect("a batch");
                    let mut out = std::io::stdout().lock();
                    for event in done.events {
                        writeln!(out, "ack {} {}", event.seq.0, event.stream.uuid()).expect("somebody listens");
                    }
                }
            });
        }
        writers.join_all().await;
    });
}

/// Lets a child commit until it has acknowledged this many events, kills it, and answers what it acknowledged.
pub fn killed_after_acknowledging(home: &Path, count: usize) -> Vec<(u64, String)> {
    let binary = std::env::current_exe().expect("the test binary");
    let mut child = child(&binary, home, "commit").spawn().expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut acknowledged = vec![];
    let parse = |line: String| {
        let mut words = line.strip_prefix("ack ")?.split(' ').map(str::to_owned);
        Some((words.next()?.parse().ok()?, words.next().filter(|stream| stream.len() == 36)?))
    };
    while acknowledged.len() < count {
        let line = lines.next().expect("the child goes on").expect("a line");
        acknowledged.extend(parse(line));
    }
    child.kill().expect("killed");
    // What it had said before it died counts as well.
    acknowledged.extend(lines.map_while(Result::ok).filter_map(parse));
    child.wait().expect("it is dead");
    acknowledged
}

/// The code with which opening fails for somebody who is not root.
pub fn code_of_opening_as_nobody(dir: &Path, passable: &Path) -> String {
    let binary = std::env::current_exe().expect("the test binary");
    let am_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let mut command = if am_root {
        // A copy, because nobody may not be able to reach the original.
        let copy = passable.join("tests");
        std::fs::copy(&binary, &copy).expect("a copy");
        let mut command = child(&copy, dir, "open");
        command.uid(NOBODY).gid(NOBODY);
        command
    } else {
        child(&binary, dir, "open")
    };
    let output = command.output().expect("a child");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let code = said.split("code=").nth(1).and_then(|rest| rest.split_whitespace().next());
    code.unwrap_or_else(|| panic!("the child said {said:?}")).to_owned()
}
