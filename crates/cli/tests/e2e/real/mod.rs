//! A world with a real agent in it: installed by `agents/install`, driven against the scripted model, with a
//! home of its own and nothing of the person's environment.
//!
//! *Invariant:* a [`Real`] that is finished has left no process behind.
#![allow(clippy::disallowed_methods, reason = "these tests start programs and bound how long they wait for them")]

/// Declares a test for each story that an agent can tell.
macro_rules! stories {
    ($agent:expr => $($story:ident),* $(,)?) => {$(
        #[test]
        fn $story() {
            crate::real::stories::$story(&$agent);
        }
    )*};
}

mod changes;
mod imported;
mod lifecycle;
mod processes;

/// All that can be told of an agent.
mod stories {
    pub use super::changes::*;
    pub use super::lifecycle::*;
}

mod claude;
mod codex;
mod copilot;
mod gemini;
mod goose;
mod opencode;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use throughline_testkit::ScriptedModel;

use crate::support::World;

/// The key of the only task.
pub const TASK: &str = "shop-1";

/// A real agent, as data.
pub struct Agent {
    /// The name of its shipped profile.
    pub name: &'static str,
    /// The program that has to be installed.
    pub program: &'static str,
    /// Its settings for the scripted model at this address.
    pub settings: fn(&str) -> Settings,
    /// How a turn ends in which the person says no.
    pub denied_turn: &'static str,
    /// The code of a turn that the model refused with status 429.
    pub limited_code: &'static str,
    /// Another of its models, and how the model server sees that name; none if it has no way to switch.
    pub other_model: Option<(&'static str, &'static str)>,
}

/// What an agent needs before it is started.
#[derive(Default)]
pub struct Settings {
    /// Variables.
    pub env: Vec<(&'static str, String)>,
    /// Files under its `HOME`.
    pub files: Vec<(&'static str, String)>,
}

/// The programs' folder, or nothing if they are not installed and nobody insists.
fn installed(agent: &Agent) -> Option<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../agents/install");
    let asked = Command::new(&script).arg("--where").output().expect("bash runs");
    let bin = PathBuf::from(String::from_utf8_lossy(&asked.stdout).trim());
    if asked.status.success() && bin.join(agent.program).exists() {
        return Some(bin);
    }
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|text| text == value);
    let insisted = is("CI", "true") || is("THROUGHLINE_REAL_AGENTS", "required");
    assert!(!insisted, "{} is not installed: {}", agent.program, String::from_utf8_lossy(&asked.stderr));
    println!("{}: not installed: skipped", agent.program);
    None
}

/// A world with one real agent and the model that it talks to.
pub struct Real {
    pub world: World,
    pub model: ScriptedModel,
}

impl Real {
    /// None if the agent is not installed and nobody insists.
    pub fn new(agent: &Agent) -> Option<Self> {
        Self::with_settings(agent, "")
    }

    /// With more lines in `config.toml`.
    pub fn with_settings(agent: &Agent, more: &str) -> Option<Self> {
        let bin = installed(agent)?;
        let model = ScriptedModel::start();
        let world = World::bare();
        let home = world.project.parent().expect("it has one").to_owned();
        let settings = (agent.settings)(&model.url());
        for (path, text) in &settings.files {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let tmp = world.folder("tmp");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut env = vec![
            ("PATH", format!("{}:{path}", bin.display())),
            // Some agents refuse a home that lies under the folder for temporary files.
            ("TMPDIR", tmp.display().to_string()),
        ];
        env.extend(settings.env);
        std::fs::create_dir_all(&world.home).expect("a home");
        std::fs::write(world.home.join("config.toml"), config(agent, &env) + more).expect("settings");
        world.ok(&["project", "add", "."]);
        Some(Self { world, model })
    }

    /// Says something and sees its turn to the end, or to where a person is needed.
    pub fn say(&self, text: &str) -> String {
        self.world.ok(&["say", text]).stdout
    }

    /// Says something and goes on.
    pub fn say_detached(&self, text: &str) {
        self.world.ok(&["say", "--detach", text]);
    }

    /// The only execution of the only task.
    pub fn execution(&self) -> Value {
        assert_eq!(self.world.keys(), [TASK]);
        let task = self.world.task(TASK);
        let executions = task["executions"].as_array().expect("a list").clone();
        assert_eq!(executions.len(), 1, "{task:#}");
        executions[0].clone()
    }

    /// The whole timeline.
    pub fn entries(&self) -> Vec<Value> {
        let shown = self.world.json(&["show", TASK, "--limit", "1000"]);
        shown["entries"].as_array().expect("a list").clone()
    }

    /// Entries of a type.
    pub fn entries_of(&self, kind: &str) -> Vec<Value> {
        self.entries().into_iter().filter(|entry| entry["type"] == kind).collect()
    }

    /// How often the agent said a line, over all its messages.
    pub fn times_said(&self, line: &str) -> usize {
        let messages = self.entries_of("message");
        let texts = messages.iter().filter_map(|entry| entry["text"].as_str());
        texts.flat_map(str::lines).filter(|said| *said == line).count()
    }

    /// Waits until this many turns have ended, and gives how the last one did.
    pub fn ended_turn(&self, count: usize) -> Value {
        self.world.wait_for_turns(TASK, count);
        self.execution()["last_turn"].clone()
    }

    /// Says yes to what the agent asks.
    pub fn approve(&self) {
        let id = self.world.wait_for_approval(TASK);
        self.world.ok(&["approve", &id]);
    }

    /// The state of the world, for a failure's message.
    pub fn state(&self) -> String {
        let entries: Vec<String> = self.entries().iter().map(|entry| format!("{entry}\n")).collect();
        let log = std::fs::read_to_string(self.world.home.join("daemon.log")).unwrap_or_default();
        let loud = |line: &&str| !line.contains(r#""level":"DEBUG""#) && !line.contains(r#""level":"INFO""#);
        let log: Vec<&str> = log.lines().filter(loud).collect();
        format!("\n--- timeline\n{}--- warnings of the daemon\n{}\n", entries.concat(), log.join("\n"))
    }

    /// Ends everything; no process of the agent's tree may be left.
    pub fn finish(self) {
        let home = self.world.project.parent().expect("it has one").to_owned();
        let known = processes::with_home(&home);
        assert!(!known.is_empty(), "processes can be found by their home");
        self.world.ok(&["down", "--all"]);
        processes::none_left(&home, &known);
    }
}

fn config(agent: &Agent, env: &[(&str, String)]) -> String {
    // A JSON string is a TOML string too.
    let quoted = |text: &str| Value::from(text).to_string();
    let lines: String = env.iter().map(|(name, value)| format!("{name} = {}\n", quoted(value))).collect();
    format!("default_agent = {}\n[env]\n{lines}", quoted(agent.name))
}
