import { expect, test } from "vitest";
import type { Entry, LiveText } from "../api/types";
import { Timeline } from "./timeline";

const execution = "e1";
let place = 0;
const entry = (body: object): Entry => ({ cursor: `c${++place}`, at: new Date(place * 1000).toISOString(), ...body }) as Entry;
const message = (item: string, text: string) => entry({ type: "message", item, execution, turn: "t1", text });
const piece = (item: string, at: number, text: string): LiveText => ({ task: { id: "1", key: "k" }, item, turn: "t1", kind: "message", at, text });
const words = (timeline: Timeline) => timeline.rows.map((row) => (row.entry && "text" in row.entry ? row.entry.text : row.live?.text));

test("an item has one row, where it was first seen, with its newest content", () => {
  const timeline = new Timeline();
  timeline.append([message("a", "one"), message("b", "two")]);
  timeline.append([message("a", "one, changed")]);
  expect(words(timeline)).toEqual(["one, changed", "two"]);
  timeline.prepend([message("z", "zero"), message("a", "one, changed")]);
  expect(words(timeline)).toEqual(["zero", "one, changed", "two"]);
});

test("live text grows in place, survives repeats and gaps, and gives way to the entry", () => {
  const timeline = new Timeline();
  timeline.write(piece("a", 0, "绿"));
  timeline.write(piece("a", 3, "色"));
  timeline.write(piece("a", 3, "色"));
  timeline.write(piece("a", 99, "lost"));
  expect(words(timeline)).toEqual(["绿色"]);
  timeline.write(piece("b", 5, "began before we came"));
  expect(timeline.rows).toHaveLength(1);
  timeline.write(piece("a", 0, "绿色按钮"));
  expect(words(timeline)).toEqual(["绿色按钮"]);
  timeline.append([message("a", "绿色按钮。")]);
  expect(words(timeline)).toEqual(["绿色按钮。"]);
  expect(timeline.rows[0]?.live).toBeUndefined();
});

test("what is being written stands after what is recorded, and goes to its place when it is", () => {
  const timeline = new Timeline();
  timeline.append([message("a", "one")]);
  // A page that comes in the middle hears what is being written before it has caught up.
  timeline.write(piece("d", 0, "four"));
  timeline.append([message("b", "two"), message("c", "three")]);
  expect(words(timeline)).toEqual(["one", "two", "three", "four"]);
  timeline.append([message("d", "four."), message("e", "five")]);
  expect(words(timeline)).toEqual(["one", "two", "three", "four.", "five"]);
  timeline.write(piece("d", 0, "late"));
  expect(timeline.rows.map((row) => row.live)).toEqual([undefined, undefined, undefined, undefined, undefined]);
});

test("what a turn wrote and did not record goes with its end", () => {
  const timeline = new Timeline();
  timeline.write(piece("a", 0, "half a sen"));
  let told = 0;
  timeline.watch(() => told++);
  timeline.append([entry({ type: "turn_ended", turn: "t1", outcome: "interrupted" })]);
  expect(timeline.rows.map((row) => row.id)).toEqual(["turn:t1"]);
  expect(told).toBe(1);
});

test("text that streams into one row tells nobody else", () => {
  const timeline = new Timeline();
  timeline.write(piece("a", 0, "x"));
  timeline.append([message("b", "y")]);
  let [list, a, b] = [0, 0, 0];
  timeline.watch(() => list++);
  timeline.watchRow("a", () => a++);
  timeline.watchRow("b", () => b++);
  timeline.write(piece("a", 1, "z"));
  expect([list, a, b]).toEqual([0, 1, 0]);
});

test("what happens to an approval or an input is told by its own row, in whatever order it comes", () => {
  const timeline = new Timeline();
  const settled = entry({ type: "approval_settled", approval: "p1", state: "denied", reason: "no" });
  const asked = entry({ type: "approval", approval: { id: "p1", execution } });
  timeline.append([asked, settled]);
  expect(timeline.rows.map((row) => row.settled?.reason)).toEqual(["no"]);
  const older = new Timeline();
  older.append([settled, entry({ type: "input_withdrawn", input: "i1" })]);
  older.prepend([asked, entry({ type: "user_message", input: "i1", execution, content: [] })]);
  expect(older.rows.map((row) => [row.settled?.state, row.withdrawn])).toEqual([
    ["denied", false],
    [undefined, true],
  ]);
});

test("a plan that is worked through is one row until somebody speaks", () => {
  const timeline = new Timeline();
  const plan = (version: number) => entry({ type: "plan", version, entries: [] });
  timeline.append([plan(1), message("a", "x"), plan(2)]);
  timeline.append([plan(3), entry({ type: "user_message", input: "i", execution, content: [] }), plan(4)]);
  const versions = timeline.rows.flatMap((row) => (row.entry?.type === "plan" ? [row.entry.version] : []));
  expect(versions).toEqual([3, 4]);
});

test("bookkeeping has no row, and a turn knows whose it is", () => {
  const timeline = new Timeline();
  timeline.append([
    entry({ type: "turn_requested", turn: "t9", execution: "e9", input: "i" }),
    entry({ type: "turn_started", turn: "t9", runtime_session: "r", epoch: 1 }),
    entry({ type: "checkpoint_taken", checkpoint: "c", turn: "t9", side: "after", changed: [{ path: "a", change: "added", added: 1, removed: 0 }] }),
    entry({ type: "turn_ended", turn: "t9", outcome: "completed" }),
  ]);
  expect(timeline.rows.map((row) => [row.id, row.execution])).toEqual([["turn:t9", "e9"]]);
  expect(timeline.changed.get("t9")).toHaveLength(1);
});
