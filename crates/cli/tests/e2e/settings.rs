//! What a project's settings do for its agents: variables, tool servers, folders, and whether they ask.

use crate::support::World;

#[test]
fn a_projects_agents_get_its_variables_tool_servers_and_folders() {
    let world = World::with_settings(
        r#"
        park_after_secs = 0
        [env]
        EVERYWHERE = "global"
        COLOUR = "red"
        [projects.shop]
        env = { COLOUR = "green" }
        env_file = ".env.agents"
        extra_roots = ["../shared"]
        [projects.shop.mcp_servers.db]
        command = "db-mcp"
        args = ["--read-only"]
        [projects.shop.mcp_servers.docs]
        url = "https://docs.example/mcp"
        "#,
    );
    let shared = world.folder("shared");
    std::fs::write(world.project.join(".env.agents"), "FROM_FILE=yes\nCOLOUR=blue\n").expect("a file");
    world.ok(&["say", "--detach", "run echo $EVERYWHERE $COLOUR $FROM_FILE\ngiven"]);
    let approval = world.wait_for_approval("shop-1");
    world.ok(&["approve", &approval]);
    world.wait_for_turns("shop-1", 1);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("global green yes"), "{shown}");
    let given = format!("MCP servers: db, docs. Other folders: {}.", shared.display());
    assert!(shown.stdout.contains(&given), "{shown}");
    assert!(shown.stdout.contains("MCP servers: db, docs\n"), "the header has them: {shown}");
    let opened = world.wait_for_entry("shop-1", |entry| entry["type"] == "runtime_session_opened");
    assert_eq!(opened["mcp_servers"], serde_json::json!(["db", "docs"]), "{opened:#}");
    // The next process of the session is given the same.
    world.wait_for_entry("shop-1", |entry| entry["type"] == "runtime_session_parked");
    let said = world.ok(&["say", "given"]);
    assert!(said.stdout.contains(&given), "{said}");
    assert_eq!(world.task("shop-1")["executions"][0]["runtime_session"]["epoch"], 2);
}

#[test]
fn what_nobody_was_asked_about_is_marked_and_the_header_says_what_runs_unasked() {
    let world = World::new();
    world.ok(&["say", "--detach", "write a.txt x\nrun true"]);
    let approval = world.wait_for_approval("shop-1");
    world.ok(&["approve", &approval]);
    world.wait_for_turns("shop-1", 1);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("a.txt (not asked)"), "{shown}");
    assert!(shown.stdout.contains("✓ true\n"), "the one that asked is not marked: {shown}");
    assert!(shown.stdout.contains("runs some commands unasked: edits of files"), "{shown}");
    let task = world.task("shop-1");
    let unasked = &task["executions"][0]["runtime_session"]["unasked"];
    assert_eq!(*unasked, serde_json::json!({ "scope": "some", "what": "edits of files" }));
    let agents = world.ok(&["agents"]);
    assert!(agents.stdout.contains("runs some commands unasked: edits of files"), "{agents}");
}

#[test]
fn a_mode_that_asks_for_nothing_is_set_back() {
    let world = World::new();
    let said = world.ok(&["say", "mode auto"]);
    assert!(said.stdout.contains("the agent's mode is set back (auto → ask)"), "{said}");
    world.ok(&["say", "--detach", "run true"]);
    let approval = world.wait_for_approval("shop-1");
    world.ok(&["deny", &approval]);
    assert_eq!(world.task("shop-1")["executions"][0]["runtime_session"]["mode"], "ask");
}

#[test]
fn a_mode_that_asks_for_nothing_is_shown_where_a_person_allowed_it() {
    let world = World::with_settings("park_after_secs = 0\n[projects.shop]\nunasked_modes = true\n");
    world.ok(&["say", "mode auto\nrun echo it ran"]);
    let shown = world.ok(&["show", "shop-1"]);
    assert!(shown.stdout.contains("echo it ran (not asked)"), "{shown}");
    assert!(shown.stdout.contains("runs everything unasked: mode auto"), "{shown}");
    let listed = world.ok(&["tasks"]);
    assert!(listed.stdout.contains("asks for nothing (mode auto)"), "{listed}");
    let unasked = |world: &World| world.task("shop-1")["executions"][0]["runtime_session"]["unasked"]["scope"].clone();
    assert_eq!(unasked(&world), "everything");
    // Taken away again, the next process is set back before it gets a prompt.
    world.ok(&["down", "--all"]);
    std::fs::write(world.home.join("config.toml"), "").expect("settings");
    world.ok(&["say", "--detach", "run echo again"]);
    world.wait_for_approval("shop-1");
    assert_eq!(unasked(&world), "some");
    world.ok(&["cancel", "shop-1"]);
}

#[test]
fn a_setting_that_is_not_known_is_named() {
    let world = World::bare();
    std::fs::create_dir_all(&world.home).expect("a home");
    std::fs::write(world.home.join("config.toml"), "[projects.shop]\nsteup = 'x'\n").expect("settings");
    let ran = world.tl(&["doctor"]);
    assert!(ran.stdout.contains("steup"), "{ran}");
}

/// Who names an agent that is not there is refused; a project whose own one is gone finds out when it is started.
const NOT_THERE: &str =
    "default_agent = \"absent\"\n[agents.absent]\ncommand = [\"throughline-no-such-agent\"]\ninstall = \"get it\"\n";

#[test]
fn an_agent_that_cannot_run_is_replaced_once_by_policy() {
    let policy = "on_agent_failure = { replace_with = \"demo\" }\n";
    let world = World::with_settings(&format!("{policy}{NOT_THERE}"));
    world.ok(&["say", "--new", "--detach", "say hello"]);
    world.wait_for_turns("shop-1", 2);
    let task = world.task("shop-1");
    let executions = task["executions"].as_array().expect("a list");
    let ends: Vec<_> = executions.iter().map(|execution| (&execution["agent"], &execution["ended"])).collect();
    assert_eq!(ends, [(&"absent".into(), &"replaced".into()), (&"demo".into(), &serde_json::Value::Null)]);
    assert_eq!(executions[1]["runtime_session"]["reason"], "changed", "{task:#}");
    let shown = world.ok(&["show", "shop-1"]);
    assert_eq!(shown.stdout.matches("the agent cannot run, so another one takes over").count(), 1, "{shown}");
    assert!(shown.stdout.contains("demo: hello"), "{shown}");
}

#[test]
fn an_agent_that_took_over_is_not_replaced_again() {
    let also = "[agents.gone]\ncommand = [\"throughline-no-such-agent-either\"]\n";
    let policy = "on_agent_failure = { replace_with = \"gone\" }\n";
    let world = World::with_settings(&format!("{policy}{NOT_THERE}{also}"));
    world.ok(&["say", "--new", "--detach", "say hello"]);
    world.wait_for_turns("shop-1", 2);
    let retried = world.tl(&["retry", "shop-1"]);
    retried.has_failed(1, "agent_not_installed");
    let executions = world.task("shop-1")["executions"].as_array().expect("a list").len();
    assert_eq!(executions, 2, "nobody takes over from who took over");
}

#[test]
fn without_a_policy_the_failure_names_the_way() {
    let world = World::with_settings(NOT_THERE);
    let said = world.fails(&["say", "--new", "say hello"], 1, "agent_not_installed");
    assert!(said.stderr.contains("get it") && said.stderr.contains("tl switch shop-1 --agent A"), "{said}");
    world.ok(&["switch", "shop-1", "--agent", "demo"]);
    let said = world.ok(&["say", "--task", "shop-1", "say hello"]);
    assert!(said.stdout.contains("hello"), "{said}");
}

#[test]
fn an_agents_own_login_runs_in_the_terminal() {
    let world = World::with_settings(
        "[env]\nWHO = \"me\"\n[agents.mine]\ncommand = [\"mine\"]\nlogin = [\"sh\", \"-c\", \"echo logged in as $WHO\"]\n\
         [agents.other]\ncommand = [\"other\"]\nlogin = [\"throughline-no-such-login\"]\ninstall = \"get it\"\n\
         [agents.sad]\ncommand = [\"sad\"]\nlogin = [\"false\"]\n",
    );
    let ran = world.ok(&["agents", "login", "mine"]);
    assert!(ran.stdout.contains("logged in as me\n"), "{ran}");
    let ran = world.json(&["agents", "login", "mine"]);
    assert_eq!(ran, serde_json::json!({ "agent": "mine", "login": "ended" }));
    world.fails(&["agents", "login", "demo"], 1, "agent_has_no_login");
    world.fails(&["agents", "login", "nobody"], 1, "agent_unknown");
    world.fails(&["agents", "login", "sad"], 1, "login_failed");
    let ran = world.fails(&["agents", "login", "other"], 1, "agent_not_installed");
    assert!(ran.stderr.contains("hint: get it"), "{ran}");
}
