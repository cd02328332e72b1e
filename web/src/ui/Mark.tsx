// The mark of a state on the line: its shape says it too, so that nobody needs the colour.
import type { ActivityWord } from "../api/types";

const SHAPES: Record<string, string> = {
  waiting_approval: "ask",
  waiting_answer: "ask",
  blocked: "ask",
  failed: "failed",
  working: "working",
  queued: "queued",
  resting: "resting",
};

export function Mark({ word, closed }: { word: ActivityWord; closed?: boolean }) {
  return <span className={`mark ${closed ? "closed" : (SHAPES[word] ?? "resting")}`} aria-hidden="true" />;
}
