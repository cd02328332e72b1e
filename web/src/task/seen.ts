// How far this browser has read each task: the time of the newest row that was in sight at the end.
const PREFIX = "throughline.seen.";

export function seenUntil(task: string): string | undefined {
  return localStorage.getItem(PREFIX + task) ?? undefined;
}

export function markSeen(task: string, at: string): void {
  const before = seenUntil(task);
  if (document.hidden || (before && before >= at)) return;
  try {
    localStorage.setItem(PREFIX + task, at);
  } catch {
    // A full or forbidden storage costs the mark, nothing else.
  }
}
