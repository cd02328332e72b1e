// What an agent says may be meant to harm: it neither runs, nor reaches out, nor freezes the page.
import { enter, expect, shot, test } from "./daemon";

const TABLE = `| a | b |\n| - | - |\n${"| cell | <img src=x onerror=alert(1)> |\n".repeat(3000)}`;
const HOSTILE = [
  "<script>window.harmed = 1</script>",
  '<img src="http://127.0.0.1:9/beacon.png" onerror="window.harmed = 2">',
  "![pixel](http://127.0.0.1:9/pixel.png) ![inline](data:image/svg+xml;base64,PHN2Zy8+)",
  "[click](javascript:window.harmed=3) [data](data:text/html,<script>1</script>) [fine](https://example.com/)",
  "<style>body{display:none}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css><iframe src=http://127.0.0.1:9/></iframe>",
  "rm -rf \u202e gpj.enod\u202c and \u2066isolated\u2069",
  "```html\n<script>window.harmed = 4</script>\n```",
  "[ref]: http://127.0.0.1:9/ref\n\n![r][ref]",
].join("\n\n");

test("a hostile message does nothing but stand there", async ({ page, daemon }) => {
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(daemon.url) && !request.url().startsWith("blob:")) foreign.push(request.url());
  });
  daemon.addProject();
  await enter(page, daemon);
  const steps = [{ say: HOSTILE }, { say: `\n\n${TABLE}` }];
  const key = daemon.say(JSON.stringify(steps), "--agent", "scripted");
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  const message = page.locator(".entry.message");
  await message.locator(".more").first().click();
  await expect(message).toContainText("<script>window.harmed = 1</script>");
  await expect(message).toContainText("\\u{202e}");
  expect(await page.evaluate(() => (window as { harmed?: number }).harmed)).toBeUndefined();
  expect(await message.locator("script, img, iframe, style, link").count()).toBe(0);
  const targets = await message.locator("a").evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).protocol));
  expect(targets.every((protocol) => ["http:", "https:", "mailto:"].includes(protocol))).toBe(true);
  expect(foreign).toEqual([]);
  await shot(page, "hostile");
});

test("a line of five million characters does not freeze the page", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  const key = daemon.say(JSON.stringify([{ repeat: "x", times: 5_000_000 }]), "--agent", "scripted");
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".entry.result")).toContainText("Completed");
  const longest = await page.evaluate(
    () =>
      new Promise<number>((done) => {
        let longest = 0;
        let last = performance.now();
        const until = last + 1_000;
        const frame = (now: number) => {
          longest = Math.max(longest, now - last);
          last = now;
          if (now < until) requestAnimationFrame(frame);
          else done(longest);
        };
        requestAnimationFrame(frame);
      }),
  );
  // A page that lays out the whole line stands still for much longer than any busy machine.
  expect(longest).toBeLessThan(5_000);
  expect(await page.locator(".entry.message").evaluate((entry) => entry.textContent?.length)).toBeLessThan(100_000);
  await page.locator(".entry.message .more").first().click();
  await expect(page.locator(".composer textarea")).toBeEditable();
  await page.locator(".composer textarea").fill("still here");
  await expect(page.locator(".composer textarea")).toHaveValue("still here");
});

test("an approval shows every character of what would run", async ({ page, daemon }) => {
  daemon.addProject();
  await enter(page, daemon);
  const key = daemon.say("run echo \u202etxt.exe\u200b # harmless");
  await page.goto(`${daemon.url}/tasks/${key}`);
  await expect(page.locator(".approval.pending")).toContainText("\\u{202e}");
  await expect(page.locator(".approval.pending")).not.toContainText("\u202e");
});
