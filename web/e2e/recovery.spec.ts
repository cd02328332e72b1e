// The daemon goes away in the middle of a stream: the page says so, catches up, and shows nothing twice.
import { enter, expect, say, shot, test } from "./daemon";

test("kill -9 in the middle of a stream: nothing is missing and nothing doubled", async ({ page, daemon }) => {
  daemon.addProject();
  daemon.tl("project", "add", daemon.shop, "--name", "shop");
  await enter(page, daemon);
  const key = daemon.say(JSON.stringify([{ stream: 400, every: 10, piece: "w# " }]), "--agent", "scripted");
  await page.goto(`${daemon.url}/tasks/${key}`);
  const message = page.locator(".entry.message");
  await expect(message).toContainText("w20 ");
  await daemon.kill();
  await expect(page.locator(".banner")).toContainText("Connection lost");
  await shot(page, "lost");
  await daemon.serve();
  await expect(page.locator(".banner p")).toHaveCount(0);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  const words = (await message.locator(".prose").innerText()).trim().split(/\s+/);
  expect(words).toEqual(Array.from({ length: 400 }, (_, n) => `w${n}`));
  await expect(message).toHaveCount(1);
  await expect(page.locator(".entry.user_message")).toHaveCount(1);
  await say(page, JSON.stringify([{ say: "still the same task" }]));
  await expect(page.getByText("still the same task", { exact: true })).toHaveCount(1);
  await shot(page, "recovered");
});

test("a page that is opened without a daemon shows its shell, and fills itself when the daemon is back", async ({ page, daemon }) => {
  daemon.addProject();
  daemon.say("say hello");
  await enter(page, daemon);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  await page.reload();
  await expect(page.locator(".row")).toHaveCount(1);
  await daemon.kill();
  await page.reload();
  await expect(page.locator(".wordmark")).toBeVisible();
  await daemon.serve();
  await expect(page.locator(".row")).toHaveCount(1);
});

test("a browser that is logged out is shown the way in, at once", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  await page.goto(`${daemon.url}/settings`);
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page.getByText("tl open")).toBeVisible();
});
