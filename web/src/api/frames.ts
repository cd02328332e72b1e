// What the event stream says: one Server-Sent Event per WebSocket message, as its text.
import type { Entry, LiveText, Problem } from "./types";

export type Frame =
  | { event: "ready"; cursor: string }
  | { event: "entry"; cursor: string; entry: Entry }
  | { event: "live"; live: LiveText }
  | { event: "problem"; problem: Problem };

/** The frame in a message; nothing for beats and for what a newer daemon may say. */
export function parseFrame(message: string): Frame | undefined {
  const fields: Record<string, string> = {};
  for (const line of message.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  const { id: cursor, event, data } = fields;
  if (data === undefined) return undefined;
  switch (event) {
    case "ready":
      return cursor ? { event, cursor } : undefined;
    case "entry":
      return cursor ? { event, cursor, entry: JSON.parse(data) as Entry } : undefined;
    case "live":
      return { event, live: JSON.parse(data) as LiveText };
    case "problem":
      return { event, problem: JSON.parse(data) as Problem };
    default:
      return undefined;
  }
}
