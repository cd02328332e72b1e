// How far this browser has read each task: the time of the newest row that was in sight at the end.
const PREFIX = "throughline.seen.";
/** How far a person has said that they read what did not arrive elsewhere. */
const READ = "throughline.undelivered.";

export function seenUntil(task: string): string | undefined {
  return localStorage.getItem(PREFIX + task) ?? undefined;
}

export function markSeen(task: string, at: string): void {
  const before = seenUntil(task);
  if (document.hidden || (before && before >= at)) return;
  keep(PREFIX + task, at);
}

export function readUntil(task: string): string | undefined {
  return localStorage.getItem(READ + task) ?? undefined;
}

export function markRead(task: string, at: string): void {
  keep(READ + task, at);
}

function keep(name: string, at: string): void {
  try {
    localStorage.setItem(name, at);
  } catch {
    // A full or forbidden storage costs the mark, nothing else.
  }
}
