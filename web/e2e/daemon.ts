// A real daemon in a home of its own, with a project, and a browser that is let in.
import { test as base, expect, type Page } from "@playwright/test";
import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

/** A program of this workspace, as `cargo build` leaves it. */
export const built = (name: string): string => resolve(process.env.CARGO_TARGET_DIR ?? "../target", "debug", name);
const TL = process.env.TL ?? built("tl");
const AGENT = resolve("e2e/agent.mjs");

/** What a daemon is started with. */
export type Surroundings = { config: string; env?: Record<string, string> };

const SCRIPTED: Surroundings = { config: `[agents.scripted]\ncommand = ["node", ${JSON.stringify(AGENT)}]\n` };

export class Daemon {
  readonly folder = mkdtempSync(join(tmpdir(), "tl-e2e-"));
  readonly home = join(this.folder, "home");
  readonly shop = join(this.folder, "shop");
  readonly port: number;
  firstLink = "";
  readonly #log = join(this.folder, "daemon.log");
  #process: ChildProcess | undefined;

  readonly #variables: Record<string, string>;

  private constructor(port: number, { config, env }: Surroundings) {
    this.port = port;
    this.#variables = env ?? {};
    mkdirSync(this.shop);
    mkdirSync(this.home, { mode: 0o700 });
    writeFileSync(join(this.home, "config.toml"), config);
  }

  static async start(surroundings = SCRIPTED): Promise<Daemon> {
    const daemon = new Daemon(await freePort(), surroundings);
    await daemon.serve();
    return daemon;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async serve(): Promise<void> {
    const stdio = ["ignore", "pipe", openSync(this.#log, "a")] as const;
    const child = spawn(TL, ["serve", "--listen", `127.0.0.1:${this.port}`], { env: this.#env(), stdio: [...stdio] });
    this.#process = child;
    let said = "";
    await new Promise<void>((ready, failed) => {
      child.stdout?.on("data", (text) => {
        said += String(text);
        if (/^listening on .*\n/m.test(said)) ready();
      });
      child.on("exit", () => failed(new Error(`tl serve ended: ${said}`)));
    });
    await expect.poll(() => /open (http\S+)/.exec(said)?.[1] ?? (this.firstLink || "")).not.toBe("");
    this.firstLink = /open (http\S+)/.exec(said)?.[1] ?? this.firstLink;
  }

  /** No goodbye: what a power cut does to the daemon. Its keepers live on. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGKILL");
    await gone;
  }

  async end(): Promise<void> {
    try {
      this.tl("down", "--all");
    } finally {
      await this.kill();
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** What the daemon said, for whoever looks at a failure. */
  log(): string {
    return readFileSync(this.#log, "utf8");
  }

  tl(...args: string[]): string {
    return execFileSync(TL, args, { cwd: this.shop, env: this.#env(), encoding: "utf8" });
  }

  /** The same for what needs this process to go on meanwhile, such as a stub that answers the daemon. */
  async tlMeanwhile(...args: string[]): Promise<string> {
    return (await promisify(execFile)(TL, args, { cwd: this.shop, env: this.#env(), encoding: "utf8" })).stdout;
  }

  link(): string {
    return (JSON.parse(this.tl("open", "--json")) as { url: string }).url;
  }

  addProject(): void {
    this.tl("project", "add", this.shop, "--name", "shop", "--agent", "demo");
  }

  /** Says something as a new task, from a terminal; its key. */
  say(text: string, ...flags: string[]): string {
    this.tl("say", "--new", "--detach", ...flags, text);
    const tasks = JSON.parse(this.tl("tasks", "--all", "--json")) as { tasks: { key: string }[] };
    return tasks.tasks.map(({ key }) => key).sort((a, b) => Number(b.split("-").pop()) - Number(a.split("-").pop()))[0] ?? "";
  }

  #env(): NodeJS.ProcessEnv {
    return { ...process.env, ...this.#variables, THROUGHLINE_HOME: this.home, NO_COLOR: "1" };
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** Logs the page in by a fresh link, and waits until it is. */
export async function enter(page: Page, daemon: Daemon): Promise<void> {
  await page.goto(daemon.link());
  await page.waitForURL(`${daemon.url}/`);
  await expect(page.getByRole("searchbox")).toBeVisible();
}

export async function say(page: Page, text: string): Promise<void> {
  await page.locator(".composer textarea").fill(text);
  await page.locator(".composer textarea").press("Enter");
  await expect(page.locator(".composer textarea")).toHaveValue("");
}

export function shot(page: Page, name: string): Promise<Buffer> {
  return page.screenshot({ path: `artefacts/${name}.png` });
}

type Fixtures = { surroundings: Surroundings; daemon: Daemon; errors: string[] };

export const test = base.extend<Fixtures>({
  surroundings: [SCRIPTED, { option: true }],
  daemon: async ({ surroundings }, use, testInfo) => {
    const daemon = await Daemon.start(surroundings);
    await use(daemon);
    if (testInfo.status !== testInfo.expectedStatus) await testInfo.attach("daemon.log", { body: daemon.log(), contentType: "text/plain" });
    await daemon.end();
  },
  // A page that logs an error, breaks its policy or throws has failed, whatever else it shows.
  errors: [
    async ({ page }, use) => {
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(String(error.stack)));
      page.on("console", (message) => {
        const text = message.text();
        const network = /Failed to load resource|WebSocket connection|ERR_CONNECTION/.test(text);
        if (message.type() === "error" && !network) errors.push(text);
      });
      await use(errors);
      expect(errors).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
