// A long past: it is read page by page, in order, without a jump, and only what is in sight is in the document.
import { enter, expect, shot, test } from "./daemon";

test("hundreds of items scroll back in order, each once, and stay where they are read", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say(JSON.stringify([{ items: 300, text: "message # ends" }]), "--agent", "scripted");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toContainText("Completed", { timeout: 30_000 });
  await expect(page.getByText("message 299 ends", { exact: true })).toBeVisible();
  const timeline = page.locator(".timeline");
  const numbers = () =>
    page.locator(".entry.message").evaluateAll((entries) => {
      const box = document.querySelector(".timeline")?.getBoundingClientRect();
      return entries
        .filter((entry) => entry.getBoundingClientRect().bottom > (box?.top ?? 0) && entry.getBoundingClientRect().top < (box?.bottom ?? 0))
        .map((entry) => Number(/message (\d+) ends/.exec(entry.textContent ?? "")?.[1]))
        .sort((a, b) => a - b);
    });
  let seen = await numbers();
  await timeline.hover();
  while ((seen[0] ?? 0) > 0) {
    const before: number[] = seen;
    await page.mouse.wheel(0, -220);
    await expect.poll(async () => (seen = await numbers())[0]).toBeLessThan(before[0] ?? 0);
    // Consecutive, and joined to what was in sight before: nothing skipped, nothing twice.
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, n) => (seen[0] ?? 0) + n));
    expect(seen.at(-1)).toBeGreaterThanOrEqual((before[0] ?? 0) - 1);
    expect(await page.locator(".slot").count()).toBeLessThan(60);
  }
  await expect(page.getByText("The beginning")).toBeVisible();
  await shot(page, "beginning");
  await page.getByRole("button", { name: "Newest" }).click();
  await expect(page.getByText("message 299 ends", { exact: true })).toBeVisible();

  const link = await page.locator(".entry.message", { hasText: "message 299" }).getAttribute("id");
  await page.goto(`${daemon.url}/tasks/${key}?item=${link?.replace("item-", "")}`);
  await expect(page.locator(".entry.linked")).toContainText("message 299");
});
