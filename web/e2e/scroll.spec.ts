// A long past: it is read page by page, in order, without a jump, and only what is in sight is in the document.
import type { Page } from "@playwright/test";
import { enter, expect, shot, test } from "./daemon";

declare global {
  interface Window {
    /** The numbers of the messages in sight, for each drawn frame that showed others than the one before. */
    drawn: number[][];
    slots: number;
  }
}

/** Notes what every frame shows: a jump or a gap counts even if the next frame mends it. */
function watch(page: Page): Promise<void> {
  return page.evaluate(() => {
    window.drawn = [];
    window.slots = 0;
    const look = () => {
      const box = document.querySelector(".timeline")?.getBoundingClientRect();
      const numbers = [...document.querySelectorAll(".entry.message")]
        .filter((entry) => entry.getBoundingClientRect().bottom > (box?.top ?? 0) && entry.getBoundingClientRect().top < (box?.bottom ?? 0))
        .map((entry) => Number(/message (\d+) ends/.exec(entry.textContent ?? "")?.[1]))
        .sort((a, b) => a - b);
      if (String(numbers) !== String(window.drawn.at(-1))) window.drawn.push(numbers);
      window.slots = Math.max(window.slots, document.querySelectorAll(".slot").length);
      requestAnimationFrame(look);
    };
    look();
  });
}

test("hundreds of items scroll back in order, each once, and stay where they are read", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say(JSON.stringify([{ items: 300, text: "message # ends" }]), "--agent", "scripted");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  await expect(page.getByText("message 299 ends", { exact: true })).toBeInViewport();
  await watch(page);
  await page.locator(".timeline").hover();
  const first = () => page.evaluate(() => window.drawn.at(-1)?.[0] ?? 0);
  for (let top = await first(); top > 0; ) {
    await page.mouse.wheel(0, -400);
    // The wheel has done its work when what is on top is another message.
    await page.waitForFunction((top) => (window.drawn.at(-1)?.[0] ?? top) < top, top);
    top = await first();
  }
  await expect(page.getByText("The beginning")).toBeVisible();
  const drawn = await page.evaluate(() => window.drawn);
  expect(drawn.length).toBeGreaterThan(20);
  for (const [frame, numbers] of drawn.entries()) {
    const top = numbers[0] ?? -1;
    expect(numbers, `frame ${frame} has a gap`).toEqual(Array.from({ length: numbers.length }, (_, n) => top + n));
    const before = drawn[frame - 1]?.[0] ?? top;
    expect(numbers.at(-1), `frame ${frame} is joined to the one before`).toBeGreaterThanOrEqual(before - 1);
    expect(top, `frame ${frame} does not go back`).toBeLessThanOrEqual(before);
  }
  expect(await page.evaluate(() => window.slots)).toBeLessThan(60);
  await shot(page, "beginning");
  await page.getByRole("button", { name: "Newest" }).click();
  await expect(page.getByText("message 299 ends", { exact: true })).toBeInViewport();

  const link = await page.locator(".entry.message", { hasText: "message 299" }).getAttribute("id");
  await page.goto(`${daemon.url}/tasks/${key}?item=${link?.replace("item-", "")}`);
  await expect(page.locator(".entry.linked")).toContainText("message 299");
});
