//! Agents that want a login: given a key where one is at hand, else the task waits, and what to do is said everywhere.

use crate::support::World;

/// An agent in a few lines. It opens a session once it was told to use its key, or once its own login left a file.
const AGENT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":"%s",%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
  case "$line" in
  *'"method":"initialize"'*)
    answer '"result":{"protocolVersion":1,"authMethods":[{"id":"browser","name":"Browser"},{"id":"key","name":"Key"}]}' ;;
  *'"method":"authenticate"'*'"methodId":"key"'*) known=yes; answer '"result":{}' ;;
  *'"method":"session/new"'*)
    if [ -n "$known" ] || [ -e "$LOGIN" ]; then answer '"result":{"sessionId":"one"}'
    else answer '"error":{"code":-32000,"message":"Authentication required"}'; fi ;;
  *'"method":"session/prompt"'*) answer '"result":{"stopReason":"end_turn"}' ;;
  esac
done
"#;

fn world(more: &str) -> World {
    let world = World::bare();
    let script = world.folder("agent").join("agent.sh");
    std::fs::write(&script, AGENT).expect("written");
    let login = world.folder("agent").join("logged-in");
    let settings = format!(
        "default_agent = \"locked\"\n[env]\nLOGIN = \"{login}\"\n{more}\n[agents.locked]\ncommand = [\"sh\", \"{script}\"]\n\
         login = [\"touch\", \"{login}\"]\nquirks.key_logins = {{ key = \"LOCKED_KEY\" }}\n",
        login = login.display(),
        script = script.display(),
    );
    std::fs::create_dir_all(&world.home).expect("a home");
    std::fs::write(world.home.join("config.toml"), settings).expect("settings");
    world.ok(&["project", "add", "."]);
    world
}

#[test]
fn without_a_key_the_task_is_blocked_and_goes_on_after_the_login() {
    let world = world("");
    let refused = world.fails(&["say", "fix routing"], 1, "login_needed");
    assert!(refused.stderr.contains("tl agents login locked"), "{refused}");
    assert_eq!(world.task("shop-1")["activity"]["word"], "blocked", "{:#}", world.task("shop-1"));
    let agents = world.ok(&["agents"]);
    assert!(agents.stdout.contains("login needed"), "{agents}");
    let doctor = world.tl(&["doctor"]);
    assert!(doctor.stdout.contains("→ tl agents login locked"), "{doctor}");
    world.ok(&["agents", "login", "locked"]);
    world.ok(&["retry", "shop-1"]);
    world.wait_for_turns("shop-1", 2);
    assert_eq!(world.task("shop-1")["executions"][0]["last_turn"]["outcome"], "completed");
    let agents = world.ok(&["agents"]);
    assert!(!agents.stdout.contains("login needed"), "{agents}");
}

#[test]
fn with_a_key_at_hand_it_is_logged_in_and_nobody_is_asked() {
    let world = world("LOCKED_KEY = \"secret\"");
    world.ok(&["say", "fix routing"]);
    assert_eq!(world.task("shop-1")["executions"][0]["last_turn"]["outcome"], "completed");
    let agents = world.ok(&["agents"]);
    assert!(!agents.stdout.contains("login needed"), "{agents}");
}
