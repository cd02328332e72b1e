// Browser tests: Debian's Chromium against the real binary. No retries: what is flaky is wrong.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "e2e",
  outputDir: "artefacts/runs",
  // Room for a busy machine: a test waits for what must be so, and these only end one that waits for nothing.
  timeout: 180_000,
  expect: { timeout: 30_000 },
  workers: 2,
  fullyParallel: true,
  retries: 0,
  forbidOnly: true,
  reporter: [["list"], ["./e2e/last-words.ts"]],
  use: {
    viewport: { width: 1280, height: 800 },
    locale: "en-US",
    // The wheel moves the page at once: a test need not tell the middle of a glide from its end.
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-smooth-scrolling"] },
  },
});
