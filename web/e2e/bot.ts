// A bot that hears one person, and a daemon that is set up with it.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test as base, type Daemon } from "./daemon";

const TOKEN = "7000000007:AAF-stub_stub_stub_stub_stub_stub_st";

/** As much of a Bot API as a daemon needs to hear one person and to answer them. */
export class Bot {
  readonly sent: string[] = [];
  /** What a message is refused with. */
  refuses: string | undefined;
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
    } else if (method === "sendMessage" && this.refuses) {
      response.writeHead(403, { "content-type": "application/json" });
      response.end(JSON.stringify({ ok: false, error_code: 403, description: this.refuses }));
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

export const test = base.extend<{ bot: Bot }>({
  bot: async ({}, use) => {
    const bot = new Bot();
    await bot.listen();
    await use(bot);
    bot.end();
  },
  surroundings: async ({ bot }, use) => use({ config: `[channels.telegram]\ntoken = "${TOKEN}"\napi_url = "${bot.url}"\n` }),
});

/** The person of the home talks to the bot from now on. */
export async function pair(daemon: Daemon, bot: Bot): Promise<void> {
  // The daemon asks the bot for its name.
  const pairing = await daemon.tlMeanwhile("pair", "telegram", "--json");
  bot.says((JSON.parse(pairing) as { say: string }).say);
  await expect.poll(() => bot.sent.join("\n")).toContain("Paired");
}
