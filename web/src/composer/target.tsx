// Where a message will go: what the person chose, else what the router would make of it.
import { useState } from "react";
import type { Override, Project, Task } from "../api/types";
import { useTasks } from "../inbox/Inbox";
import { useSay } from "../i18n";
import { prose } from "../text/safe";
import { Menu } from "../ui/Menu";

type Chosen = { kind: "auto" } | { kind: "new" } | { kind: "task"; key: string; title: string };

export type Target = ReturnType<typeof useTarget>;

export function useTarget(task: Task | undefined, execution: string | undefined, projects: Project[], _text: string) {
  const [chosen, setChosen] = useState<Chosen>({ kind: "auto" });
  const [project, setProject] = useState<string>();
  const inProject = project ?? task?.project.name ?? (projects.length === 1 ? projects[0]?.name : projects[0]?.name);
  const lane = task?.executions.find(({ id }) => id === execution);
  const address = (): { reply_to?: string; override?: Override } => {
    if (chosen.kind === "new") return { override: { new: true, ...(inProject ? { project: inProject } : {}) } };
    if (chosen.kind === "task") return { override: { task: chosen.key } };
    if (lane && !lane.primary && task) return { override: { task: task.key, agent: lane.agent, role: lane.role } };
    if (task) return { reply_to: task.key };
    return inProject ? { override: { project: inProject } } : {};
  };
  return { chosen, setChosen, project: task ? undefined : inProject, setProject, address, reset: () => setChosen({ kind: "auto" }) };
}

export function TargetLine({ target, task, projects }: { target: Target; task: Task | undefined; projects: Project[] }) {
  const say = useSay();
  const { tasks } = useTasks();
  const { chosen } = target;
  const to =
    chosen.kind === "new"
      ? say("composer.to.new")
      : chosen.kind === "task"
        ? say("composer.to.task", { title: prose(chosen.title) })
        : task
          ? say("composer.to.task", { title: prose(task.title) })
          : say("composer.to.router");
  const agent = chosen.kind === "auto" && task ? ` ${say("composer.with", { agent: task.agent })}` : "";
  return (
    <div className="target">
      <Menu label={say("composer.to.change")} face={<span className="target-face">→ {to}{agent}</span>} align="start">
        <button type="button" onClick={() => target.setChosen({ kind: "auto" })}>
          {task ? say("composer.to.task", { title: prose(task.title) }) : say("composer.to.router")}
        </button>
        <button type="button" onClick={() => target.setChosen({ kind: "new" })}>
          {say("composer.to.new")}
        </button>
        {tasks
          .filter((each) => each.key !== task?.key)
          .slice(0, 6)
          .map((each) => (
            <button key={each.key} type="button" onClick={() => target.setChosen({ kind: "task", key: each.key, title: each.title })}>
              <span className="key">{each.key}</span> {prose(each.title)}
            </button>
          ))}
      </Menu>
      {!task && projects.length > 1 && (
        <select className="project-choice" aria-label={say("inbox.filter.project")} value={target.project} onChange={(event) => target.setProject(event.target.value)}>
          {projects.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </div>
  );
}
