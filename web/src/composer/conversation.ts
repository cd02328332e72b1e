// This tab's conversation, and a key per message so that sending it again after a lost answer has one effect.
import { api, ask } from "../api/client";

const STORED = "throughline.conversation";

function name(): string {
  let known = sessionStorage.getItem(STORED);
  if (!known) {
    known = `web-${random()}`;
    sessionStorage.setItem(STORED, known);
  }
  return known;
}

function random(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const opened = new Set<string>();

/** The conversation's name; it is opened as one of the web the first time. */
export async function conversation(project: string | undefined): Promise<string> {
  const id = project ? `${name()}-${project}` : name();
  if (!opened.has(id)) {
    await ask(api.PUT("/api/v1/conversations/{id}", { params: { path: { id } }, body: { channel: "web", ...(project ? { project } : {}) } }));
    opened.add(id);
  }
  return id;
}

let last: { body: string; key: string; at: number } | undefined;
/** The same words sent again so soon are the same message whose answer got lost. */
const SAME_MS = 3_000;

export function messageKey(body: unknown): string {
  const text = JSON.stringify(body);
  const now = Date.now();
  if (last?.body === text && now - last.at < SAME_MS) return last.key;
  last = { body: text, key: random(), at: now };
  return last.key;
}
