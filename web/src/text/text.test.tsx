import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { compare, parsePatch, type Line } from "./diff";
import { highlight } from "./highlight";
import { Markdown } from "./Markdown";
import { exact, linkTarget, prose } from "./safe";

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

test("markdown becomes elements, and HTML stays text", () => {
  expect(html("**a** `b`")).toContain("<strong>a</strong> <code>b</code>");
  expect(html("<script>alert(1)</script>")).toContain("&lt;script&gt;");
  expect(html("a <img src=x onerror=alert(1)> b")).not.toContain("<img");
  expect(html("![x](http://evil.example/p.png)")).not.toContain("<img");
  expect(html("[x](javascript:alert(1))")).not.toContain("href");
  expect(html("[x](https://example.com/)")).toContain('rel="noopener noreferrer nofollow"');
  expect(html("| a |\n| - |\n| b |")).toContain("<td>b</td>");
  expect(html("- [x] done")).toContain("☑");
});

test("text that nobody wrote for people is shown as it is", () => {
  const long = "x".repeat(5_000_000);
  const started = performance.now();
  expect(html(long).length).toBeLessThan(50_000);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test("characters that hide or reorder are shown", () => {
  expect(exact("a\u202eb\u200bc\u0007\r")).toBe("a\\u{202e}b\\u{200b}c\\u{7}\\r");
  expect(exact("tab\tline\n中文")).toBe("tab\tline\n中文");
  expect(prose("👨‍👩‍👧 \u202e x")).toBe("👨‍👩‍👧 \\u{202e} x");
  expect(linkTarget("https://example.com/a")).toBe("https://example.com/a");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/relative", "java\nscript:x"]) expect(linkTarget(bad)).toBeUndefined();
});

test("code keeps every character, whatever its colours", () => {
  for (const code of ['fn main() { let s = "a\\"b"; // hi\n}', "echo '$x' # c", "/* open", "``"]) {
    for (const language of ["rust", "sh", "ts", ""]) expect(highlight(code, language).map(({ text }) => text).join("")).toBe(code);
  }
  expect(highlight("let x = 1 // y", "ts").map(({ kind }) => kind)).toContain("comment");
});

const apply = (lines: Line[], side: "before" | "after") =>
  lines.filter(({ kind }) => kind === "same" || kind === (side === "before" ? "removed" : "added")).map(({ text }) => text);

test("a diff leads from the one text to the other", () => {
  const cases: [string[], string[]][] = [
    [[], ["a"]],
    [["a"], []],
    [["a", "b", "c"], ["a", "x", "c"]],
    [["a", "b", "c", "d"], ["b", "c", "d", "e"]],
    [["x", "a", "y", "b", "z"], ["a", "b", "c"]],
    [["1", "2", "3"], ["3", "2", "1"]],
  ];
  for (const [before, after] of cases) {
    const lines = compare(before.join("\n"), after.join("\n"));
    expect(apply(lines, "before")).toEqual(before);
    expect(apply(lines, "after")).toEqual(after);
  }
  const long = Array.from({ length: 3_000 }, (_, n) => `line ${n}`);
  const changed = long.with(1_500, "changed");
  const lines = compare(long.join("\n"), changed.join("\n"));
  expect(lines.filter(({ kind }) => kind !== "gap")).toHaveLength(8);
  expect(lines.find(({ kind }) => kind === "added")?.after).toBe(1_501);
});

test("a unified patch is read with its line numbers", () => {
  const lines = parsePatch("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ fn\n same\n-old\n+new\n\\ No newline at end of file\n");
  expect(lines).toEqual([
    { kind: "gap", text: "fn", before: 1, after: 1 },
    { kind: "same", text: "same", before: 1, after: 1 },
    { kind: "removed", text: "old", before: 2 },
    { kind: "added", text: "new", after: 2 },
  ]);
});
