// Line diffs: unified patches as they come from the daemon, and two texts compared here (Myers, within a bound).

export type Line = { kind: "same" | "added" | "removed" | "gap"; text: string; before?: number; after?: number };

/** How many edits are looked for before two texts are simply called different. */
const MOST_EDITS = 600;
/** Unchanged lines that are kept around a change. */
const CONTEXT = 3;

/** The lines of a unified diff; its file headers are left out. */
export function parsePatch(patch: string): Line[] {
  const lines: Line[] = [];
  let before = 0;
  let after = 0;
  let inside = false;
  for (const text of patch.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(text);
    if (hunk) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      inside = true;
      lines.push({ kind: "gap", text: (hunk[3] ?? "").trim(), before, after });
    } else if (!inside || text.startsWith("\\")) {
      continue;
    } else if (text.startsWith("+")) {
      lines.push({ kind: "added", text: text.slice(1), after: after++ });
    } else if (text.startsWith("-")) {
      lines.push({ kind: "removed", text: text.slice(1), before: before++ });
    } else if (text.startsWith(" ")) {
      lines.push({ kind: "same", text: text.slice(1), before: before++, after: after++ });
    }
  }
  return lines;
}

/** What leads from one text to another, with a little around each change. */
export function compare(before: string, after: string): Line[] {
  const [old, young] = [split(before), split(after)];
  let head = 0;
  while (head < old.length && head < young.length && old[head] === young[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < young.length - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++;
  const middle = edits(old.slice(head, old.length - tail), young.slice(head, young.length - tail));
  const lines: Line[] = [];
  let b = 1;
  let a = 1;
  const push = (kind: "same" | "added" | "removed", text: string) => {
    if (kind === "same") lines.push({ kind, text, before: b++, after: a++ });
    else if (kind === "added") lines.push({ kind, text, after: a++ });
    else lines.push({ kind, text, before: b++ });
  };
  for (const text of old.slice(0, head)) push("same", text);
  for (const { kind, text } of middle) push(kind, text);
  for (const text of old.slice(old.length - tail)) push("same", text);
  return shorten(lines);
}

function split(text: string): string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

type Edit = { kind: "same" | "added" | "removed"; text: string };

function edits(old: string[], young: string[]): Edit[] {
  const trace: Int32Array[] = [];
  const most = Math.min(old.length + young.length, MOST_EDITS);
  let reach = new Int32Array(2 * most + 3);
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice());
    for (let k = -d; k <= d; k += 2) {
      const at = k + most + 1;
      const down = k === -d || (k !== d && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
      let x = down ? (reach[at + 1] ?? 0) : (reach[at - 1] ?? 0) + 1;
      while (x < old.length && x - k < young.length && old[x] === young[x - k]) x++;
      reach[at] = x;
      if (x >= old.length && x - k >= young.length) return walk(trace, old, young, most);
    }
  }
  const removed = old.map((text): Edit => ({ kind: "removed", text }));
  return removed.concat(young.map((text) => ({ kind: "added", text })));
}

function walk(trace: Int32Array[], old: string[], young: string[], most: number): Edit[] {
  const found: Edit[] = [];
  let x = old.length;
  let y = young.length;
  for (let d = trace.length - 1; d >= 0; d--) {
    const reach = trace[d] as Int32Array;
    const k = x - y;
    const at = k + most + 1;
    const down = k === -d || (k !== d && (reach[at - 1] ?? 0) < (reach[at + 1] ?? 0));
    const from = d === 0 ? 0 : down ? k + 1 : k - 1;
    const startX = d === 0 ? 0 : (reach[from + most + 1] ?? 0);
    const startY = startX - from;
    while (x > startX && y > startY) found.push({ kind: "same", text: old[--x] ?? "" }), y--;
    if (d === 0) break;
    if (down) found.push({ kind: "added", text: young[--y] ?? "" });
    else found.push({ kind: "removed", text: old[--x] ?? "" });
  }
  return found.reverse();
}

/** Leaves out what is far from any change. */
function shorten(lines: Line[]): Line[] {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (line.kind !== "same") near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const kept: Line[] = [];
  lines.forEach((line, index) => {
    if (near[index]) kept.push(line);
    else if (kept.at(-1)?.kind !== "gap") kept.push({ kind: "gap", text: "", ...(line.before ? { before: line.before } : {}) });
  });
  return kept.at(-1)?.kind === "gap" ? kept.slice(0, -1) : kept;
}
