// A real agent in the browser: Claude Code from agents/install, against the scripted model of crates/testkit.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { built, expect, say, shot, test as base } from "./daemon";

/** The folder of the agents' programs; none if they are not installed and nobody insists. */
function agents(): string | undefined {
  try {
    return execFileSync(resolve("../agents/install"), ["--where"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch (error) {
    if (process.env.CI === "true" || process.env.THROUGHLINE_REAL_AGENTS === "required") throw error;
    return undefined;
  }
}

const test = base.extend({
  surroundings: async ({}, use) => {
    const bin = agents();
    test.skip(bin === undefined, "agents/install has not been run");
    const home = mkdtempSync(join(tmpdir(), "tl-e2e-person-"));
    const model = spawn(built("scripted-model"), { stdio: ["pipe", "pipe", "inherit"] });
    const url = await new Promise<string>((ready, failed) => {
      model.on("error", failed);
      model.stdout.on("data", (text) => ready(/listening on (\S+)/.exec(String(text))?.[1] ?? ""));
    });
    await use({ config: config(bin ?? "", url, home), env: { HOME: home } });
    model.stdin.end();
    rmSync(home, { recursive: true, force: true });
  },
});

function config(bin: string, model: string, home: string): string {
  const env: Record<string, string> = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
  };
  // A JSON string is a TOML string too.
  const lines = Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  return `default_agent = "claude-code"\n[env]\n${lines.join("")}`;
}

test("Claude Code: from the first run to a finished first task, approved on the way, and a follow-up that remembers", async ({ page, daemon }) => {
  await page.goto(daemon.firstLink);
  await page.getByLabel("Folder").fill(daemon.shop);
  await page.getByRole("button", { name: "Add project" }).click();
  await say(page, "RUN touch made.txt\nSAY the file is there");
  await page.waitForURL(/\/tasks\/shop-1$/);
  const card = page.locator(".approval.pending");
  await expect(card).toContainText("touch made.txt");
  expect(existsSync(join(daemon.shop, "made.txt"))).toBe(false);
  await shot(page, "real-approval");
  await card.getByRole("button", { name: "Allow once" }).click();
  await expect(page.locator(".entry.result")).toContainText("Completed");
  expect(existsSync(join(daemon.shop, "made.txt"))).toBe(true);
  await expect(page.locator(".entry.message").last()).toContainText("the file is there");
  await say(page, "RECALL");
  await expect(page.locator(".entry.message").last()).toContainText("RUN touch made.txt / SAY the file is there");
  await expect(page.locator(".entry.result")).toHaveCount(2);
  await expect(page.locator(".row")).toHaveCount(1);
  await shot(page, "real-done");
});
