// What failed and why in a few lines at the very end, where somebody who sees only the end of a log finds it.
import type { Reporter, TestCase, TestResult } from "@playwright/test/reporter";

export default class LastWords implements Reporter {
  readonly #words: string[] = [];

  printsToStdio(): boolean {
    return false;
  }

  onTestEnd(test: TestCase, { error }: TestResult): void {
    if (!error) return;
    const said = (error.message ?? String(error.value)).replace(/\u001b\[[0-9;]*m/g, "");
    const lines = said.split("\n").filter((line) => line.trim());
    this.#words.push(`${test.title}: ${lines.slice(0, 6).join(" | ").slice(0, 400)} (line ${error.location?.line})`);
  }

  onEnd(): void {
    for (const words of this.#words) console.log(words);
  }
}
