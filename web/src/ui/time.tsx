// Times for people: how long ago, how long it took, how long is left.
import { useSyncExternalStore } from "react";
import { say, useSay, type Key } from "../i18n";

const STEPS: [number, Key][] = [
  [86_400_000, "unit.d"],
  [3_600_000, "unit.h"],
  [60_000, "unit.min"],
];

/** One unit, the largest that fits. */
export function span(ms: number): string {
  for (const [size, key] of STEPS) if (ms >= size) return say(key, { n: Math.floor(ms / size) });
  if (ms >= 10_000) return say("unit.s", { n: Math.floor(ms / 1000) });
  if (ms >= 1_000) return say("unit.s", { n: (ms / 1000).toFixed(1) });
  return say("unit.ms", { n: Math.max(0, Math.round(ms)) });
}

// One clock for all ages on the page, so that they change together and nothing ticks in a hidden tab.
const watchers = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  if (document.hidden) return;
  now = Date.now();
  for (const watcher of watchers) watcher();
}, 10_000);

function useNow(): number {
  return useSyncExternalStore(
    (watcher) => {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    () => now,
  );
}

export function Age({ at }: { at: string }) {
  const say = useSay();
  const past = useNow() - Date.parse(at);
  const text = past < 60_000 ? say("time.now") : span(past);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {text}
    </time>
  );
}

export function Clock({ at }: { at: string }) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const text = today
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {text}
    </time>
  );
}

export function Left({ until }: { until: string }) {
  const say = useSay();
  const left = Date.parse(until) - useNow();
  return <span className="quiet">{left > 0 ? say("approval.left", { time: span(left) }) : say("approval.over")}</span>;
}
