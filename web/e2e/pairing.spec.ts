// Pairing a chat from the page: the code is said to the bot, the page sees it used, and revoking ends it.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { enter, expect, test as base } from "./daemon";

const TOKEN = "7000000007:AAF-stub_stub_stub_stub_stub_stub_st";

/** As much of a Bot API as a daemon needs to hear one person and to answer them. */
class Bot {
  readonly sent: string[] = [];
  readonly #pending: { update_id: number; message: unknown }[] = [];
  readonly #waiting: ServerResponse[] = [];
  #last = 0;

  readonly #server = createServer((request, response) => {
    let body = "";
    request.on("data", (text) => (body += String(text)));
    request.on("end", () => this.#answer(request.url?.split("/").pop() ?? "", JSON.parse(body || "{}"), response));
  });

  listen(): Promise<void> {
    return new Promise((ready) => this.#server.listen(0, "127.0.0.1", ready));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  end(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  says(text: string): void {
    const chat = { id: 42, type: "private" };
    this.#last += 1;
    this.#pending.push({ update_id: this.#last, message: { message_id: this.#last, date: 1, from: { id: 42, is_bot: false }, chat, text } });
    for (const response of this.#waiting.splice(0)) this.#tell(response, this.#pending);
  }

  #answer(method: string, body: { offset?: number; text?: string }, response: ServerResponse): void {
    if (method === "getUpdates") {
      while (this.#pending[0] && this.#pending[0].update_id < (body.offset ?? 0)) this.#pending.shift();
      if (this.#pending.length > 0) this.#tell(response, this.#pending);
      else this.#waiting.push(response);
    } else if (method === "sendMessage") {
      this.sent.push(body.text ?? "");
      this.#tell(response, { message_id: 1_000 + this.sent.length });
    } else {
      this.#tell(response, method === "getMe" ? { id: 7, is_bot: true, username: "stub_bot" } : true);
    }
  }

  #tell(response: ServerResponse, result: unknown): void {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ ok: true, result }));
  }
}

const test = base.extend<{ bot: Bot }>({
  bot: async ({}, use) => {
    const bot = new Bot();
    await bot.listen();
    await use(bot);
    bot.end();
  },
  surroundings: async ({ bot }, use) => use({ config: `[channels.telegram]\ntoken = "${TOKEN}"\napi_url = "${bot.url}"\n` }),
});

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
  await section.getByRole("button", { name: "Pair Feishu" }).click();
  await expect(page.getByText("feishu is not set up")).toBeVisible();
});
