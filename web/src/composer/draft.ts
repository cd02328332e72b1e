// What was written and not sent, per task, so that looking elsewhere or reloading costs nothing.
import { useState } from "react";

const PREFIX = "throughline.draft.";

export function useDraft(place: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => sessionStorage.getItem(PREFIX + place) ?? "");
  const keep = (next: string) => {
    setText(next);
    if (next) sessionStorage.setItem(PREFIX + place, next);
    else clearDraft(place);
  };
  return [text, keep];
}

export function clearDraft(place: string): void {
  sessionStorage.removeItem(PREFIX + place);
}
