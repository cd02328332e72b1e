// What was written and not sent, per place, so that looking elsewhere or reloading costs nothing. A place has one draft, whichever
// composer shows it: what was sent is gone from all of them.
import { Cell, useCell } from "../ui/cell";

const PREFIX = "throughline.draft.";
const drafts = new Map<string, Cell<string>>();

function draftOf(place: string): Cell<string> {
  const known = drafts.get(place);
  if (known) return known;
  const draft = new Cell(sessionStorage.getItem(PREFIX + place) ?? "");
  draft.watch(() => keep(place, draft.get()));
  drafts.set(place, draft);
  return draft;
}

function keep(place: string, text: string): void {
  if (text) sessionStorage.setItem(PREFIX + place, text);
  else sessionStorage.removeItem(PREFIX + place);
}

export function useDraft(place: string): [string, (text: string) => void] {
  const draft = draftOf(place);
  return [useCell(draft), (text) => draft.set(text)];
}

/** Takes away what was sent; what was added while it was on its way stays. */
export function clearDraft(place: string, sent: string): void {
  const draft = draftOf(place);
  if (draft.get().startsWith(sent)) draft.set(draft.get().slice(sent.length).trimStart());
}
