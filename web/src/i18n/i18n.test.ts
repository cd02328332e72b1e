import { expect, test } from "vitest";
import { parseFrame } from "../api/frames";
import { en, type Key } from "./en";
import { zh } from "./zh";

const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("both languages say the same things with the same values", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  for (const key of Object.keys(en) as Key[]) expect([key, names(zh[key])]).toEqual([key, names(en[key])]);
});

test("a frame is one event of the stream, and a beat is none", () => {
  expect(parseFrame(": beat\n\n")).toBeUndefined();
  expect(parseFrame('id: c1\nevent: ready\ndata: {"cursor":"c1"}\n\n')).toEqual({ event: "ready", cursor: "c1" });
  expect(parseFrame('event: live\ndata: {"text":"a: b"}\n\n')).toEqual({ event: "live", live: { text: "a: b" } });
  expect(parseFrame('event: problem\ndata: {"code":"x"}\n\n')).toEqual({ event: "problem", problem: { code: "x" } });
  expect(parseFrame("event: newer\ndata: {}\n\n")).toBeUndefined();
});
