// Where a message will go: what the person chose, else what the router would make of it.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { explainQuery } from "../api/queries";
import type { Explained, Override, Project, Task } from "../api/types";
import { useTasks } from "../inbox/Inbox";
import { keyOr, useSay, type Say } from "../i18n";
import { prose } from "../text/safe";
import { Menu } from "../ui/Menu";

type Chosen = { kind: "auto" } | { kind: "new" } | { kind: "task"; key: string; title: string };

export type Target = ReturnType<typeof useTarget>;

export function useTarget(name: string | undefined, task: Task | undefined, execution: string | undefined, projects: Project[], text: string) {
  const [chosen, setChosen] = useState<Chosen>({ kind: "auto" });
  const [project, setProject] = useState<string>();
  const projectOf = (projects: Project[]) => project ?? task?.project.name ?? projects[0]?.name;
  const inProject = name ? undefined : projectOf(projects);
  const lane = task?.executions.find(({ id }) => id === execution);
  const foreseen = useForeseen(text, name, inProject, chosen.kind === "auto" && (!lane || lane.primary));
  const address = (project: string | undefined): { reply_to?: string; override?: Override } => {
    if (chosen.kind === "new") return { override: { new: true, ...(project ? { project } : {}) } };
    if (chosen.kind === "task") return { override: { task: chosen.key } };
    if (lane && !lane.primary && name) return { override: { task: name, agent: lane.agent, role: lane.role } };
    if (name) return { reply_to: name };
    return project ? { override: { project } } : {};
  };
  /** Whose conversation it is said in, and what is said about where it goes. */
  const place = (projects: Project[]) => ({ project: name ? undefined : projectOf(projects), address: address(projectOf(projects)) });
  return { chosen, setChosen, foreseen, project: inProject, setProject, place, reset: () => setChosen({ kind: "auto" }) };
}

/** What the router would make of it; asked once somebody stops typing for a moment. */
const PAUSE_MS = 250;

function useForeseen(text: string, replyTo: string | undefined, project: string | undefined, wanted: boolean) {
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const enabled = wanted && asked !== "" && text.trim() !== "";
  const { data } = useQuery({ ...explainQuery(asked, replyTo, project), enabled, placeholderData: (before) => before });
  return enabled ? data : undefined;
}

export function TargetLine({ target, task, projects }: { target: Target; task: Task | undefined; projects: Project[] }) {
  const say = useSay();
  const { tasks } = useTasks();
  const { chosen, foreseen } = target;
  const to =
    chosen.kind === "new"
      ? say("composer.to.new")
      : chosen.kind === "task"
        ? say("composer.to.task", { title: prose(chosen.title) })
        : task
          ? say("composer.to.task", { title: prose(task.title) })
          : say("composer.to.router");
  const preview = foreseen && chosen.kind === "auto" ? foresight(foreseen, say) : undefined;
  const agent = chosen.kind === "auto" && task ? ` ${say("composer.with", { agent: task.agent })}` : "";
  return (
    <div className="target">
      <Menu label={say("composer.to.change")} face={<span className="target-face" title={foreseen?.decision.evidence.join(" · ")}>→ {preview ?? to + agent}</span>} align="start">
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

/** "continues *Fix routing* with codex", in the page's words. */
function foresight({ decision, title }: Explained, say: Say): string {
  const { intent, target } = decision;
  const what = say(keyOr(`composer.intent.${intent}`, "composer.intent.other"), {
    title: prose(title ?? ""),
    agent: target.agent ?? "",
    role: target.role ? say(`role.${target.role}`) : "",
    intent: intent.replaceAll("_", " "),
  });
  const names = intent === "continue" || intent === "new_task";
  return names && target.agent ? `${what} ${say("composer.with", { agent: target.agent })}` : what;
}
