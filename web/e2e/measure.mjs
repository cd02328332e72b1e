// Measures the page in Chromium, beside a static page and a blank one in the same run. Prints a table; `--check` fails beyond the
// goals. TL names the binary, which has the page in it.
import { chromium } from "@playwright/test";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const TL = resolve(process.env.TL ?? join(process.env.CARGO_TARGET_DIR ?? "../target", "debug/tl"));
const ITEMS = Number(process.env.ITEMS ?? 100_000);
const ROUNDS = 20;
const STREAM = { updates: 1_000, every: 5 };

const folder = mkdtempSync(join(tmpdir(), "tl-measure-"));
const [home, shop] = [join(folder, "home"), join(folder, "shop")];
mkdirSync(home, { mode: 0o700 });
mkdirSync(shop);
writeFileSync(join(home, "config.toml"), `[agents.scripted]\ncommand = ["node", ${JSON.stringify(resolve("e2e/agent.mjs"))}]\n`);
const env = { ...process.env, THROUGHLINE_HOME: home };
const tl = (...args) => execFileSync(TL, args, { cwd: shop, env, encoding: "utf8", maxBuffer: 1e9 });
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

const STATIC = `<!doctype html><title>static</title><ul>${'<li class="row">a row</li>'.repeat(50)}</ul>`;
const BLANK = "<!doctype html><title>blank</title>";
const plain = createServer((request, answer) => answer.setHeader("content-type", "text/html").end(request.url === "/blank" ? BLANK : STATIC));
await new Promise((ready) => plain.listen(0, "127.0.0.1", ready));
const plainUrl = `http://127.0.0.1:${plain.address().port}`;

const daemon = spawn(TL, ["serve"], { env, stdio: ["ignore", "pipe", "ignore"] });
const url = await new Promise((ready) => daemon.stdout.on("data", (text) => /listening on (\S+)/.exec(text) && ready(/listening on (\S+)/.exec(text)[1])));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const rows = [];
const note = (what, ours, still, blank, goal, met) => rows.push({ what, ours, static: still, blank, goal, met });

try {
  tl("project", "add", shop, "--name", "shop", "--agent", "demo");
  for (let n = 0; n < 50; n++) tl("say", "--new", "--detach", `say task ${n}`);
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await page.goto(JSON.parse(tl("open", "--json")).url);
  await page.waitForSelector(".row");

  let script = 0;
  const fresh = await browser.newContext({ storageState: await context.storageState(), serviceWorkers: "block" });
  const first = await fresh.newPage();
  first.on("response", async (response) => {
    if (/\.js$/.test(new URL(response.url()).pathname)) script += Number((await response.allHeaders())["content-length"] ?? 0);
  });
  await first.goto(url);
  await first.waitForSelector(".row");
  note("JavaScript on the first load, KB gzipped", (script / 1000).toFixed(0), 0, 0, "< 250", script < 250_000);

  const visible = async (address, selector) => {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) {
      await first.goto(address);
      await first.waitForSelector(selector, { state: "attached" });
      times.push(
        await first.evaluate(
          (selector) =>
            new Promise((done) => {
              const look = () => (document.querySelector(selector) ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look));
              look();
            }),
          selector,
        ),
      );
    }
    return median(times).toFixed(0);
  };
  note("first row visible, ms (median of 20)", await visible(url, ".row"), await visible(`${plainUrl}/static`, ".row"), await visible(`${plainUrl}/blank`, "body"), "", true);

  const ask = (items) => JSON.stringify([{ items: items / 2, text: "message # with **words** and `code`" }]);
  tl("say", "--new", "--agent", "scripted", ask(200));
  const long = JSON.parse(tl("tasks", "--all", "--json")).tasks.find(({ agent }) => agent === "scripted").key;
  for (let made = 200; made < ITEMS; made += 10_000) tl("say", "--task", long, ask(10_000));
  const open = [];
  for (let round = 0; round < 5; round++) {
    await first.goto(url);
    await first.waitForSelector(".row");
    const began = await first.evaluate(() => performance.now());
    await first.evaluate((key) => document.getElementById(`row-${key}`)?.click(), long);
    await first.waitForSelector(".entry.result");
    open.push((await first.evaluate(() => performance.now())) - began);
  }
  note(`opening a task of ${ITEMS} items, ms`, median(open).toFixed(0), "", "", "< 500", median(open) < 500);

  const watch = (target) =>
    target.evaluate(() => {
      window.long = [];
      new PerformanceObserver((list) => window.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    });
  const blank = await fresh.newPage();
  await blank.goto(`${plainUrl}/blank`);
  tl("say", "--new", "--detach", "--agent", "scripted", JSON.stringify([{ stream: STREAM.updates, every: STREAM.every, piece: "word # of a **message** " }]));
  const streaming = JSON.parse(tl("tasks", "--all", "--json")).tasks.filter(({ agent }) => agent === "scripted").find(({ key }) => key !== long).key;
  await first.goto(`${url}/tasks/${streaming}`);
  await first.waitForSelector(".entry.message");
  await watch(first);
  await watch(blank);
  await first.bringToFront();
  await first.waitForSelector(".entry.result", { timeout: 60_000 });
  const [ours, none] = [await first.evaluate(() => window.long), await blank.evaluate(() => window.long)];
  note(`tasks over 50 ms while ${Math.round(1000 / STREAM.every)} updates/s stream in`, ours.length, "", none.length, "as blank", ours.length <= none.length);
} finally {
  await browser.close();
  plain.close();
  try {
    tl("down", "--all");
  } catch {
    daemon.kill("SIGKILL");
  }
  rmSync(folder, { recursive: true, force: true });
}
console.table(rows);
if (process.argv.includes("--check") && rows.some(({ met }) => !met)) process.exit(1);
