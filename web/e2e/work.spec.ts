// The stories: first run to a finished task, follow-ups, approvals, a second agent, the queue.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { enter, expect, say, shot, test } from "./daemon";

test("from the first run to a finished first task, and a follow-up in the same session", async ({ page, daemon }) => {
  await page.goto(daemon.firstLink);
  await expect(page.getByRole("heading", { name: "Where is the code?" })).toBeVisible();
  expect(page.url()).not.toContain("#");
  await shot(page, "first-run");
  await page.getByLabel("Folder").fill("nowhere");
  await page.getByRole("button", { name: "Add project" }).click();
  await expect(page.getByRole("alert")).toContainText("absolute");
  await page.getByLabel("Folder").fill(daemon.shop);
  await page.getByRole("button", { name: "Add project" }).click();
  await say(page, "plan look around; write notes");
  await page.waitForURL(/\/tasks\/shop-1$/);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  await expect(page.locator(".timeline .plan li.completed")).toHaveCount(2);
  await say(page, "recall");
  await expect(page.getByText("1. plan look around; write notes")).toBeVisible();
  await expect(page.locator(".entry.result")).toHaveCount(2);
  await expect(page.getByText("first runtime session")).toHaveCount(1);
  await expect(page.locator(".row")).toHaveCount(1);
  await shot(page, "first-task");
});

test("a request is approved with one key and one look, and denied with a reason", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  daemon.say("run touch yes.txt");
  await expect(page.locator(".group.needs .row")).toHaveCount(1);
  await page.keyboard.press("j");
  await page.keyboard.press("a");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("touch yes.txt");
  await shot(page, "approve");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page.locator(".group.needs")).toHaveCount(0);
  await expect.poll(() => existsSync(join(daemon.shop, "yes.txt"))).toBe(true);

  const key = daemon.say("run touch no.txt");
  await page.goto(`${daemon.url}/tasks/${key}`);
  const card = page.locator(".approval.pending");
  await expect(card).toContainText("touch no.txt");
  await card.getByRole("textbox").fill("not here");
  await card.getByRole("button", { name: "Deny" }).click();
  await expect(page.locator(".approval.denied")).toContainText("not here");
  // The reason is a turn of its own.
  await expect(page.locator(".entry.result")).toHaveCount(2);
  expect(existsSync(join(daemon.shop, "no.txt"))).toBe(false);
  await shot(page, "denied");
});

test("what is always allowed becomes a rule, which decides the next one, is listed and revoked", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  const key = daemon.say("run echo hi");
  await page.goto(`${daemon.url}/tasks/${key}`);
  const card = page.locator(".approval.pending");
  await expect(card).toContainText("Any member of shop can decide");
  await shot(page, "always");
  await card.getByRole("button", { name: "Always" }).click();
  await expect(page.locator(".entry.result")).toHaveCount(1);
  await say(page, "run echo hi");
  await expect(page.locator(".entry.result")).toHaveCount(2);
  await expect(page.locator(".approval", { hasText: "Decided by rule 1 of the project" })).toHaveCount(1);
  await page.goto(`${daemon.url}/projects`);
  await page.getByText("What it allows without asking").click();
  const rule = page.locator(".policy .things li");
  await expect(rule).toContainText("echo hi");
  await page.getByRole("checkbox", { name: "reviewer: Read files" }).click();
  await expect(page.getByRole("checkbox", { name: "reviewer: Read files" })).toBeChecked();
  await shot(page, "rules");
  await rule.getByRole("button", { name: "Revoke" }).click();
  await expect(rule).toHaveCount(0);
});

test("a reviewer joins the same task, with a lane of its own", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say("write a.txt hello");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toHaveCount(1);
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "Add an agent…" }).click();
  await page.getByRole("dialog").getByLabel("Role").selectOption("reviewer");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const lane = page.getByRole("button", { name: /demo reviewer/ });
  await lane.click();
  await say(page, "say it looks right");
  await expect(page.locator(".entry.message").last()).toContainText("it looks right");
  await expect(page.locator(".entry.tool_call")).toHaveCount(0);
  await shot(page, "reviewer");
  await page.getByRole("button", { name: "Everyone" }).click();
  await expect(page.locator(".entry.tool_call")).toHaveCount(1);
  await expect(page.locator(".entry.tool_call")).toContainText("not asked");
  await expect(page.getByRole("button", { name: /demo editor/ })).toContainText("some unasked");
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "All changes" }).click();
  await expect(page.getByRole("dialog").locator("tr.added")).toContainText("hello");
  await shot(page, "changes");
  await page.getByRole("dialog").getByRole("combobox").selectOption({ label: "demo · reviewer" });
  await expect(page.getByRole("dialog").locator("tr.added")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(page.locator(".row")).toHaveCount(1);
});

test("an agent that failed is dismissed where that is seen, and the task goes on without it", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say("say one");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toHaveCount(1);
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "Add an agent…" }).click();
  await page.getByRole("dialog").getByLabel("Role").selectOption("reviewer");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: /demo reviewer/ }).click();
  await say(page, "fail");
  await expect(page.locator(".state-word")).toHaveText("failed");
  await shot(page, "failed-reviewer");
  // The last editor stays: nobody else could do its work.
  await page.getByRole("button", { name: "Dismiss" }).click();
  await expect(page.locator(".lane-box.ended")).toContainText("reviewer");
  await expect(page.locator(".state-word")).toHaveText("resting");
  await page.getByRole("button", { name: "Everyone" }).click();
  await expect(page.getByText("demo was dismissed")).toBeVisible();
  await say(page, "recall");
  await expect(page.locator(".entry.message").last()).toContainText("say one");
});

test("what waits behind a running turn is shown, taken back and edited; the turn is stopped", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say("sleep 600000");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  await say(page, "say later");
  await say(page, "say never");
  await expect(page.locator(".queue li")).toHaveCount(2);
  await shot(page, "queue");
  await page.locator(".queue li").nth(1).getByRole("button", { name: "Take back" }).click();
  await expect(page.locator(".queue li")).toHaveCount(1);
  await page.locator(".queue li").getByRole("button", { name: "Edit" }).click();
  await expect(page.locator(".composer textarea")).toHaveValue("say later");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator(".entry.result")).toContainText("Stopped");
});

test.describe("on a slow line", () => {
  // A service worker's requests would pass by the gate below.
  test.use({ serviceWorkers: "block" });
  test("what is written before its task has loaded goes there, once", async ({ page, daemon }) => {
    daemon.addProject();
    const key = daemon.say("say first");
    await enter(page, daemon);
    let open = () => {};
    const gate = new Promise<void>((opened) => (open = opened));
    await page.route(`**/api/v1/tasks/${key}**`, async (route) => {
      await gate;
      await route.continue();
    });
    await page.goto(`${daemon.url}/tasks/${key}`);
    await say(page, "recall");
    await expect.poll(() => daemon.tl("show", key, "--json")).toContain("recall");
    open();
    await expect(page.locator(".entry.user_message")).toHaveCount(2);
    await expect(page.locator(".entry.message").last()).toContainText("say first");
    await expect(page.locator(".row")).toHaveCount(1);
  });
});

test("an attachment goes along", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  await page.locator("input[type=file]").setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("four") });
  await say(page, "read README.md");
  await page.waitForURL(/\/tasks\//);
  await expect(page.locator(".entry.user_message")).toContainText("notes.txt");
});

test("words in messages are found, in any language", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say("say 把按钮改成绿色");
  daemon.tl("say", "--task", key, "say the needle is here");
  await enter(page, daemon);
  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await expect(page.locator(".group.found .row").first()).toContainText("the needle is here");
  await page.getByRole("searchbox").fill("按钮");
  await page.locator(".group.found .row-glance", { hasText: "按钮" }).last().click();
  await expect(page.locator(".entry.linked")).toContainText("按钮");
});

test("another way is tried in a fork, compared and taken over", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say("write a.txt one");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toHaveCount(1);
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "Try another way: fork…" }).click();
  await page.getByLabel("What should it do instead?").fill("write a.txt two");
  await page.getByRole("button", { name: "Fork", exact: true }).click();
  await expect(page.getByText(`forked from ${key}`)).toBeVisible();
  await expect(page.locator(".entry.result").last()).toContainText("Completed");
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "Compare with what it came from" }).click();
  await expect(page.getByRole("dialog").locator("tr.added")).toContainText("two");
  await shot(page, "compare");
  await page.keyboard.press("Escape");
  await page.getByLabel("Actions").click();
  await page.getByRole("button", { name: "Take its changes over…" }).click();
  await page.getByRole("button", { name: "Take", exact: true }).click();
  await expect.poll(() => readFileSync(join(daemon.shop, "a.txt"), "utf8")).toContain("two");
});
