// A plan as a list that can be ticked off only by who works.
import type { PlanEntry } from "../api/types";
import { useSay } from "../i18n";
import { prose } from "../text/safe";

export function PlanList({ entries }: { entries: PlanEntry[] }) {
  return (
    <ol className="plan">
      {entries.map((entry, index) => (
        <li key={index} className={entry.status}>
          <span className="tick" aria-hidden="true">
            {entry.status === "completed" ? "✓" : entry.status === "in_progress" ? "▸" : "·"}
          </span>
          <span className="visually-hidden">{entry.status}: </span>
          {prose(entry.content)}
        </li>
      ))}
    </ol>
  );
}

/** The plan as one line: a part for each step. */
export function PlanProgress({ entries }: { entries: PlanEntry[] }) {
  const say = useSay();
  if (entries.length === 0) return null;
  const done = entries.filter((entry) => entry.status === "completed").length;
  return (
    <div className="progress" role="img" aria-label={say("task.progress", { done, total: entries.length })} title={say("task.progress", { done, total: entries.length })}>
      {entries.slice(0, 60).map((entry, index) => (
        <span key={index} className={entry.status} />
      ))}
    </div>
  );
}
