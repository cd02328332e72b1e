// Everybody can use it: a phone, keys alone, Chinese, a screen reader, light and dark.
import type { Page } from "@playwright/test";
import axe from "axe-core";
import { enter, expect, say, shot, test, type Daemon } from "./daemon";

/** Some of everything, so that every part of the page is there. */
function fill(daemon: Daemon): string {
  daemon.addProject();
  const worked = daemon.say("plan look; write\nwrite src/a.ts export const a = 1;\nsay **done**, see `src/a.ts`:\nfail");
  daemon.say("run touch x.txt");
  return worked;
}

async function violations(page: Page): Promise<string[]> {
  // The policy of the page forbids injected scripts; the test's own world does not need its permission.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id });
  await session.send("Runtime.evaluate", { expression: axe.source, contextId: executionContextId });
  const { result } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { runOnly: ['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa','best-practice'] }).then(r => JSON.stringify(r.violations))",
    contextId: executionContextId,
    awaitPromise: true,
  });
  const found = JSON.parse(String(result.value)) as { id: string; impact: string; nodes: { html: string }[] }[];
  return found.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing serious, ${scheme}`, async ({ page, daemon }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const key = fill(daemon);
    await enter(page, daemon);
    await expect(page.locator(".row")).toHaveCount(2);
    expect(await violations(page)).toEqual([]);
    await shot(page, `home-${scheme}`);
    await page.goto(`${daemon.url}/tasks/${key}`);
    await expect(page.locator(".entry.result")).toHaveCount(1);
    expect(await violations(page)).toEqual([]);
    await shot(page, `task-${scheme}`);
    await page.locator(".group.needs .row", { hasText: "run touch" }).click();
    await expect(page.locator(".approval.pending")).toBeVisible();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Control+k");
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await violations(page)).toEqual([]);
    await shot(page, `palette-${scheme}`);
    await page.keyboard.press("Escape");
    for (const place of ["projects", "agents", "settings"]) {
      await page.goto(`${daemon.url}/${place}`);
      await expect(page.locator(".place .things li").first()).toBeVisible();
      expect(await violations(page)).toEqual([]);
      await shot(page, `${place}-${scheme}`);
    }
  });
}

test("keys alone: find, open, answer, approve, go back", async ({ page, daemon }) => {
  const key = fill(daemon);
  await enter(page, daemon);
  await expect(page.locator(".row")).toHaveCount(2);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("next task");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/tasks/${key}$`));
  await expect(page.locator(".entry.result").first()).toBeVisible();
  await page.keyboard.press("r");
  await page.keyboard.type("say by hand");
  await page.keyboard.press("Enter");
  await expect(page.locator(".composer textarea")).toHaveValue("");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForURL(`${daemon.url}/`);
  // The request holds the workspace, so the message waits behind it, and from then on the list stands still.
  await expect(page.locator(`#row-${key}`)).toContainText("waits for");
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await expect(page.locator(".row.current")).toContainText("is waiting for approval");
  await page.keyboard.press("Enter");
  await expect(page.locator(".approval.pending")).toBeVisible();
  await page.keyboard.press("a");
  await page.keyboard.press("Enter");
  await expect(page.locator(".approval.approved")).toBeVisible();
});

test("one hand: a phone shows one thing at a time and nothing sticks out", async ({ page, daemon }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const key = fill(daemon);
  await enter(page, daemon);
  await expect(page.locator(".row")).toHaveCount(2);
  await shot(page, "phone-inbox");
  await page.locator(`#row-${key}`).click();
  await page.waitForURL(new RegExp(`/tasks/${key}$`));
  await expect(page.locator(".side")).toBeHidden();
  await expect(page.locator(".entry.result")).toBeVisible();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  expect(wide).toBe(false);
  await shot(page, "phone-task");
  for (const button of await page.locator(".composer button:visible, .back").all()) {
    const box = await button.boundingBox();
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(30);
  }
  await page.locator(".back").click();
  await page.locator(".group.needs .row", { hasText: "run touch" }).click();
  await expect(page.getByRole("button", { name: "Allow once" })).toBeInViewport();
  await shot(page, "phone-approval");
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.locator(".approval.approved")).toBeVisible();
});

test.describe("in Chinese", () => {
  test.use({ locale: "zh-CN" });
  test("the page speaks it, and a task is done in it", async ({ page, daemon }) => {
    fill(daemon);
    await enter(page, daemon);
    await expect(page.getByRole("heading", { name: /需要你/ }).first()).toBeVisible();
    expect(await page.locator("html").getAttribute("lang")).toBe("zh-Hans");
    await say(page, "say 你好");
    await page.waitForURL(/\/tasks\//);
    await expect(page.locator(".entry.message, .task-state").last()).toBeVisible();
    await shot(page, "chinese");
    await page.goto(`${daemon.url}/settings`);
    await page.getByLabel("语言").selectOption("en");
    await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible();
    expect(await violations(page)).toEqual([]);
  });
});
