// What a person said, and what was made of it.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { EntryOf, Task } from "../api/types";
import { correct } from "../composer/choices";
import { useTasks } from "../inbox/Inbox";
import { keyOr, useSay } from "../i18n";
import { prose } from "../text/safe";
import { Menu } from "../ui/Menu";
import { tellProblem } from "../ui/notice";
import { Blocks } from "./content";

type Props = { entry: EntryOf<"user_message">; withdrawn: boolean; task: Task };

export function UserMessage({ entry, withdrawn, task }: Props) {
  const say = useSay();
  const { decision } = entry;
  const agent = task.executions.find(({ id }) => id === entry.execution)?.agent;
  return (
    <div className={withdrawn ? "said withdrawn" : "said"}>
      <p className="who">
        {say("entry.you")}
        {withdrawn && <span className="tag">{say("entry.withdrawn")}</span>}
        {entry.interrupt && <span className="tag">{say("entry.interrupt")}</span>}
      </p>
      <Blocks blocks={entry.content} />
      {decision && (
        <details className="decision">
          <summary>
            → {say(keyOr(`entry.decision.${decision.intent}`, "entry.decision.other"), { intent: decision.intent.replaceAll("_", " ") })}
            {agent && ` ${say("composer.with", { agent })}`}
          </summary>
          <ul aria-label={say("entry.decision.evidence")}>
            {decision.evidence.map((evidence, index) => (
              <li key={index}>{prose(evidence)}</li>
            ))}
          </ul>
          <Wrong decision={decision.id} task={task} />
        </details>
      )}
    </div>
  );
}

/** Not what I meant: the message goes elsewhere, and the record says so. */
function Wrong({ decision, task }: { decision: string; task: Task }) {
  const say = useSay();
  const navigate = useNavigate();
  const { tasks } = useTasks();
  const move = useMutation({
    mutationFn: (to: { task: string } | { new: true }) => correct(decision, to),
    onSuccess: (key) => key && void navigate({ to: "/tasks/$key", params: { key } }),
    onError: tellProblem,
  });
  return (
    <Menu label={say("entry.wrong")} face={<span>{say("entry.wrong")}</span>} align="start">
      <button type="button" onClick={() => move.mutate({ new: true })}>
        {say("entry.wrong.new")}
      </button>
      {tasks
        .filter(({ key }) => key !== task.key)
        .slice(0, 6)
        .map(({ key, title }) => (
          <button key={key} type="button" onClick={() => move.mutate({ task: key })}>
            {say("entry.wrong.other", { key })} <span className="quiet">{prose(title)}</span>
          </button>
        ))}
    </Menu>
  );
}
