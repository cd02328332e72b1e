// A long past: it is read page by page, in order, each message once, and only what is in sight is in the document.
//
// What counts is where the page comes to rest after each turn of the wheel: a frame in between may be half of the old and half
// of the new on a busy machine. How many of those there are is measured (`npm run measure`), not tested.
import type { Page } from "@playwright/test";
import { enter, expect, shot, test } from "./daemon";

type Sight = { numbers: number[]; slots: number };

/** What is in sight, from top to bottom, once two frames in a row show the same, and more than nothing. */
function atRest(page: Page): Promise<Sight> {
  return page.evaluate(
    () =>
      new Promise<Sight>((done) => {
        let before = "";
        const look = () => {
          const box = document.querySelector(".timeline")?.getBoundingClientRect() ?? new DOMRect();
          const entries = [...document.querySelectorAll(".entry.message")].filter((entry) => {
            const { top, bottom } = entry.getBoundingClientRect();
            return bottom > box.top && top < box.bottom;
          });
          const top = (entry: Element) => entry.getBoundingClientRect().top;
          entries.sort((one, other) => top(one) - top(other));
          const numbers = entries.map((entry) => Number(/message (\d+) ends/.exec(entry.textContent ?? "")?.[1]));
          const places = entries.map(top);
          const now = JSON.stringify([numbers, places]);
          if (numbers.length > 0 && now === before) done({ numbers, slots: document.querySelectorAll(".slot").length });
          else {
            before = now;
            requestAnimationFrame(look);
          }
        };
        look();
      }),
  );
}

/** Reads up to the first message; what was in sight after each turn of the wheel. */
async function readUp(page: Page): Promise<Sight[]> {
  await page.locator(".timeline").hover();
  const sights: Sight[] = [];
  while (sights.at(-1)?.numbers[0] !== 0) {
    await page.mouse.wheel(0, -400);
    const top = sights.at(-1)?.numbers[0] ?? 299;
    await expect.poll(async () => (await atRest(page)).numbers[0], `the wheel goes up from ${top}`).toBeLessThan(top);
    sights.push(await atRest(page));
  }
  return sights;
}

function expectInOrder(sights: Sight[]): void {
  for (const [turn, { numbers }] of sights.entries()) {
    const top = numbers[0] ?? -1;
    expect(numbers, `each once and in order after turn ${turn} of the wheel`).toEqual(numbers.map((_, n) => top + n));
    expect(numbers.at(-1), `turn ${turn} joins what was read before`).toBeGreaterThanOrEqual((sights[turn - 1]?.numbers[0] ?? 0) - 1);
  }
}

test("hundreds of items scroll back in order, each once, and stay where they are read", async ({ page, daemon }) => {
  daemon.addProject();
  const key = daemon.say(JSON.stringify([{ items: 300, text: "message # ends" }]), "--agent", "scripted");
  await enter(page, daemon);
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  await expect(page.getByText("message 299 ends", { exact: true })).toBeInViewport();
  const sights = await readUp(page);
  await expect(page.getByText("The beginning")).toBeVisible();
  expectInOrder(sights);
  for (const { slots } of sights) expect(slots, "only what is in sight is in the document").toBeLessThan(60);
  await shot(page, "beginning");
  await page.getByRole("button", { name: "Newest" }).click();
  await expect(page.getByText("message 299 ends", { exact: true })).toBeInViewport();

  const link = await page.locator(".entry.message", { hasText: "message 299" }).getAttribute("id");
  await page.goto(`${daemon.url}/tasks/${key}?item=${link?.replace("item-", "")}`);
  await expect(page.locator(".entry.linked")).toContainText("message 299");
});

test("whoever comes in the middle of a turn reads it in the order in which it is recorded", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  const key = daemon.say(JSON.stringify([{ items: 100, every: 20, text: "message # ends" }]), "--agent", "scripted");
  const pages = [page];
  for (let more = 0; more < 5; more++) pages.push(await page.context().newPage());
  for (const one of pages) {
    // High enough for all of it.
    await one.setViewportSize({ width: 1280, height: 12_000 });
    await one.goto(`${daemon.url}/tasks/${key}`);
    await expect(one.locator(".entry.message").first()).toBeVisible();
  }
  for (const one of pages) {
    await one.bringToFront();
    await expect(one.locator(".entry.result")).toContainText("Completed");
    expect((await atRest(one)).numbers).toEqual([...Array(100).keys()]);
  }
});
