//! The person's language: chosen once, or taken from the terminal; and status from the record.

use crate::support::World;
use crate::support::terminal::Terminal;

#[test]
fn a_person_is_spoken_to_in_the_language_that_they_chose() {
    let world = World::new();
    world.ok(&["say", "plan look around; write notes"]);
    assert_eq!(world.ok(&["locale"]).stdout, "en (auto)\n");
    let listed = world.ok(&["tasks"]).stdout;
    assert!(listed.contains("resting"), "{listed}");
    assert_eq!(world.ok(&["locale", "zh"]).stdout, "zh (chosen: zh)\n");
    let listed = world.ok(&["tasks"]).stdout;
    assert!(listed.contains("空闲") && listed.contains("刚刚"), "{listed}");
    assert!(listed.contains("Ticked off 2 plan entries"), "what an agent said is not translated: {listed}");
    let shown = world.ok(&["show", "shop-1", "--card"]).stdout;
    assert!(shown.contains("已完成 2/2（第"), "{shown}");
    let timeline = world.ok(&["show", "shop-1"]).stdout;
    assert!(timeline.contains("你：plan look around; write notes") && timeline.contains("计划，第 1 版"), "{timeline}");
    let went_on = world.ok(&["say", "--task", "shop-1", "say more"]).stdout;
    assert!(went_on.starts_with("→ 继续 *plan look around; write notes*（shop-1），由 demo 执行\n"), "{went_on}");
    let begun = world.ok(&["say", "--new", "--detach", "say else"]).stdout;
    assert!(begun.starts_with("→ 新任务 shop-2 *say else*，由 demo 执行\n"), "{begun}");
    let joined = world.ok(&["add", "shop-1", "--agent", "demo", "--role", "reviewer"]).stdout;
    assert!(joined.contains("demo 已以审查身份加入，只读"), "{joined}");
    world.fails(&["locale", "klingon!"], 1, "bad_locale");
    world.ok(&["down"]);
    assert_eq!(world.ok(&["locale"]).stdout, "zh (chosen: zh)\n", "it is durable");
    world.ok(&["locale", "auto"]);
    let mut command = world.command(&["tasks"]);
    command.env("LANG", "zh_CN.UTF-8");
    let ran = command.output().expect("it runs");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("空闲"), "{ran:?}");
}

#[test]
fn requests_and_orders_are_in_the_persons_language() {
    let world = World::new();
    world.ok(&["locale", "zh"]);
    let mut terminal = Terminal::of(world.command(&["say", "run echo ran > proof.txt\nsay after"]));
    terminal.wait_for("[y] 批准、[n] 拒绝，或 [s] 跳过（稍后决定）？");
    assert!(terminal.seen.contains("需要批准") && terminal.seen.contains("  位于 "), "{}", terminal.seen);
    terminal.type_line("批准");
    terminal.wait_for("after");
    assert_eq!(terminal.finish().0, Some(0));
    assert!(world.project.join("proof.txt").exists());
    world.ok(&["say", "--detach", "run rm proof.txt"]);
    let id = world.wait_for_approval("shop-1");
    let listed = world.ok(&["approvals"]).stdout;
    assert!(listed.contains("待决定"), "{listed}");
    let shown = world.ok(&["approvals", &id]).stdout;
    assert!(shown.contains(&format!("批准：tl approve {id}\n拒绝：tl deny {id}\n")), "{shown}");
    let denied = world.ok(&["deny", &id]).stdout;
    assert!(denied.starts_with("已拒绝：") && denied.contains("查看进展：tl show shop-1 --follow"), "{denied}");
    world.wait_for_turns("shop-1", 2);
    let order = |args: &[&str]| world.ok(args).stdout;
    let title = "shop-1 *run echo ran > proof.txt*";
    assert_eq!(order(&["note", "shop-1", "mind the gap"]), format!("{title}：已记下\n"));
    assert_eq!(order(&["fresh", "shop-1"]), format!("{title}：下一条消息将重新开始\n"));
    assert_eq!(order(&["close", "shop-1"]), format!("{title}：已关闭\n"));
    assert_eq!(order(&["reopen", "shop-1"]), format!("{title}：已重新打开\n"));
}

#[test]
fn a_status_is_answered_from_the_record_with_links_and_without_an_agent() {
    let world = World::new();
    world.ok(&["say", "plan look around; write notes"]);
    world.ok(&["down", "--all"]);
    let before = world.task("shop-1")["executions"][0]["runtime_session"]["epoch"].clone();
    let told = world.ok(&["status", "shop-1"]).stdout;
    assert!(told.starts_with("shop-1 *plan look around; write notes* — demo rests"), "{told}");
    assert!(told.contains("Plan: all 2 done"), "{told}");
    let status = world.json(&["status", "shop-1"]);
    let links = status["replies"][0]["links"].as_array().expect("links").clone();
    assert!(links.iter().any(|link| link["label"] == "plan" && link["cursor"].is_string()), "{status:#}");
    let session = &status["tasks"][0]["executions"][0]["runtime_session"];
    assert_eq!(session["epoch"], before);
    assert_eq!(session["phase"], "parked", "no agent was woken");
}
