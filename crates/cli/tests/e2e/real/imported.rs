//! A session that was begun with the agent itself, without Throughline, goes on here.

use super::{Agent, Real, TASK, installed};

const FIRST: &str = "SAY first answer";

/// Runs the agent's own program, lists and imports what it left, twice, opens the task, and goes on with its context.
/// `program` is below the installed packages; `{}` among its arguments is the prompt.
pub fn a_native_session_goes_on_here(agent: &Agent, program: &str, args: &[&str]) {
    let Some(real) = Real::new(agent) else { return };
    run(&real, agent, program, args);
    let listed = real.world.json(&["import", "--list"]);
    let found = &listed["native_sessions"];
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{listed:#}");
    assert_eq!((&found[0]["title"], &found[0]["agent"]), (&FIRST.into(), &agent.name.into()), "{listed:#}");
    assert!(found[0]["warning"].is_string(), "it was written to just now: {listed:#}");
    assert!(found[0]["task"].is_null(), "{listed:#}");
    let id = found[0]["id"].as_str().expect("an id").to_owned();
    let imported = real.world.json(&["import", &id[..13]]);
    assert_eq!(imported["imported"][0]["task"]["key"], TASK, "{imported:#}");
    let again = real.world.json(&["import", "--agent", agent.name, &id]);
    assert_eq!(again["imported"][0]["repeated"], true, "{again:#}");
    assert_eq!(real.world.json(&["import"])["native_sessions"][0]["task"]["key"], TASK);

    assert_eq!(real.times_said("first answer"), 1, "the past is there: {}", real.state());
    assert_eq!(real.entries_of("turn_imported")[0]["text"], FIRST);
    let before = real.execution();
    assert_eq!(before["runtime_session"]["native_id"], *id);
    assert_eq!(before["runtime_session"]["phase"], "parked");

    let said = real.world.ok(&["say", "--task", TASK, "NOW\nRECALL"]).stdout;
    assert_eq!(said.matches(&format!("1. {FIRST}")).count(), 1, "{said}{}", real.state());
    let after = real.execution();
    for path in ["/id", "/runtime_session/id", "/runtime_session/native_id"] {
        assert_eq!(after.pointer(path), before.pointer(path), "{path}: {after:#}");
    }
    assert_eq!(real.entries_of("runtime_session_started").len(), 0, "{}", real.state());
    assert_eq!(real.entries_of("runtime_session_resumed").len(), 1, "{}", real.state());
    assert_eq!(real.times_said("first answer"), 1, "nothing is told twice: {}", real.state());
    assert_eq!(real.entries_of("turn_imported").len(), 1, "{}", real.state());
    real.finish();
}

fn run(real: &Real, agent: &Agent, program: &str, args: &[&str]) {
    let bin = installed(agent).expect("it is installed");
    let program = bin.with_file_name("node_modules").join(program);
    let settings = (agent.settings)(&real.model.url());
    let args: Vec<&str> = args.iter().map(|arg| if *arg == "{}" { FIRST } else { arg }).collect();
    let mut command = real.world.program(program, &args);
    let ran = command.envs(settings.env).env("TMPDIR", real.world.folder("tmp")).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("first answer"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}
