// What a person is told, where and when not; and what did not reach them.
import { pair, test } from "./bot";
import { enter, expect, shot } from "./daemon";

const told = (text: string) => JSON.parse(text) as { chats: { reasons: string[] }[]; quiet?: { from: string; zone: string; except: string[] } };

test("the page chooses what a chat is told, keeps quiet hours, and tells what happened", async ({ page, daemon, bot }) => {
  daemon.addProject();
  await pair(daemon, bot);
  daemon.tl("say", "--new", "say good night");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/settings`);
  const section = page.locator("section", { hasText: "What you are told" });
  const results = section.getByRole("checkbox", { name: "Telegram telegram:42: Results" });
  await expect(results).toBeChecked();
  await results.click();
  await expect(results).not.toBeChecked();
  await expect.poll(() => told(daemon.tl("notify", "--json")).chats[0]?.reasons).toEqual(["approval", "question", "failed"]);
  await section.getByLabel("From", { exact: true }).fill("23:15");
  await section.getByLabel("Time zone").fill("Europe/Berlin");
  await section.getByRole("group", { name: "Told all the same" }).getByLabel("Approvals").check();
  await section.getByRole("button", { name: "Keep quiet" }).click();
  await expect(section.getByRole("button", { name: "No quiet hours" })).toBeVisible();
  expect(told(daemon.tl("notify", "--json")).quiet).toMatchObject({ from: "23:15", zone: "Europe/Berlin", except: ["approval"] });
  await section.getByLabel("Time zone").fill("Europe/Atlantis");
  await section.getByRole("button", { name: "Change" }).click();
  await expect(page.getByText("there is no time zone `Europe/Atlantis`")).toBeVisible();
  await section.getByRole("button", { name: "What happened lately?" }).click();
  await expect(section.locator(".digest")).toContainText("good night");
  await expect(section.locator(".digest").getByRole("link", { name: "shop-1" })).toHaveAttribute("href", "/tasks/shop-1");
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await section.scrollIntoViewIfNeeded();
    await shot(page, `notices-${scheme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await section.scrollIntoViewIfNeeded();
  await shot(page, "phone-notices-dark");
  const last = await section.getByRole("checkbox", { name: "Telegram telegram:42: Failures" }).boundingBox();
  expect((last?.x ?? 999) + (last?.width ?? 0)).toBeLessThanOrEqual(390);
  await section.getByRole("button", { name: "No quiet hours" }).click();
  await expect(section.getByRole("button", { name: "Keep quiet" })).toBeVisible();
  expect(told(daemon.tl("notify", "--json")).quiet).toBeUndefined();
});

test("what did not reach a chat is said where the task is, until it was read", async ({ page, daemon, bot }) => {
  daemon.addProject();
  await pair(daemon, bot);
  bot.refuses = "Forbidden: bot was blocked by the user";
  daemon.tl("say", "--new", "say hello");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/shop-1`);
  const missed = page.locator(".undelivered");
  await missed.locator("summary").click();
  await expect(missed).toContainText("a result");
  await expect(missed).toContainText("the platform refuses it: Forbidden: bot was blocked by the user");
  await shot(page, "undelivered");
  await missed.getByRole("button", { name: "I have read this" }).click();
  await expect(missed).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Say hello" })).toBeVisible();
  await expect(missed).toHaveCount(0);
});
