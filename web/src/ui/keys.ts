// Keys that work anywhere on the page, except while somebody writes.
import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

function writes(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** `mod+k` is ⌘K or Ctrl+K. A dialog on top keeps the keys to itself. */
export function useKeys(keys: Keys): void {
  const newest = useRef(keys);
  newest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      const mod = event.metaKey || event.ctrlKey;
      const name = mod ? `mod+${event.key.toLowerCase()}` : event.key;
      const act = newest.current[name];
      if (!act || (!mod && writes(event.target)) || (!mod && document.querySelector("dialog[open]"))) return;
      event.preventDefault();
      act(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
