// Tasks by what they need. Pure, so that the list and the keys agree on the order.
import type { ActivityWord, TaskSummary } from "../api/types";

export type Group = "needs" | "working" | "queued" | "resting";

const GROUP_OF: Record<ActivityWord, Group> = {
  waiting_approval: "needs",
  waiting_answer: "needs",
  blocked: "needs",
  failed: "needs",
  working: "working",
  queued: "queued",
  resting: "resting",
  unknown: "resting",
};

export const GROUPS: Group[] = ["needs", "working", "queued", "resting"];

export type Filter = { project: string; agent: string; group: string; text: string };

export const NO_FILTER: Filter = { project: "", agent: "", group: "", text: "" };

export function groupOf(task: TaskSummary): Group {
  return task.lifecycle === "open" ? GROUP_OF[task.activity.word] : "resting";
}

export function fits(task: TaskSummary, filter: Filter): boolean {
  const words = filter.text.trim().toLowerCase();
  return (
    (!filter.project || task.project.name === filter.project) &&
    (!filter.agent || task.workers.some(({ agent }) => agent === filter.agent)) &&
    (!filter.group || groupOf(task) === filter.group) &&
    (!words || `${task.key} ${task.title} ${task.glance} ${task.last_said}`.toLowerCase().includes(words))
  );
}

export function grouped(tasks: TaskSummary[], filter: Filter): [Group, TaskSummary[]][] {
  const all = tasks.filter((task) => fits(task, filter));
  return GROUPS.map((group): [Group, TaskSummary[]] => [group, all.filter((task) => groupOf(task) === group)]).filter(
    ([, tasks]) => tasks.length > 0,
  );
}
