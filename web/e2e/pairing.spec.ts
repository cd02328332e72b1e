// Pairing a chat from the page: the code is said to the bot, the page sees it used, and revoking ends it.
import { enter, expect } from "./daemon";
import { test } from "./bot";

test("a code from the page pairs a chat, the page sees it, and revoking ends it", async ({ page, daemon, bot }) => {
  daemon.addProject();
  await enter(page, daemon);
  await page.goto(`${daemon.url}/settings`);
  const section = page.locator("section", { hasText: "Where you are recognised" });
  await section.getByRole("button", { name: "Pair Telegram" }).click();
  const code = (await section.getByRole("status").locator("pre").textContent()) ?? "";
  expect(code).toMatch(/^\/start [A-Z2-9]{10}$/);
  await expect(section.getByRole("link", { name: "Open the chat" })).toHaveAttribute("href", `https://t.me/stub_bot?start=${code.slice(7)}`);
  bot.says(code);
  const known = section.locator(".things li", { hasText: "telegram:42" });
  await expect(known).toBeVisible();
  await expect(section.getByRole("status")).toHaveCount(0);
  await expect.poll(() => bot.sent.join("\n")).toContain("Paired");
  await known.getByRole("button", { name: "Revoke" }).click();
  await expect(known).toHaveCount(0);
  const before = bot.sent.length;
  bot.says(code);
  await expect.poll(() => bot.sent.slice(before).join("\n")).toContain("does not work");
  await expect(section.getByRole("button", { name: "Pair Feishu" }), "it is not set up").toHaveCount(0);
});
