// What a person said, and what was made of it.
import type { EntryOf, Task } from "../api/types";
import { keyOr, useSay } from "../i18n";
import { prose } from "../text/safe";
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
          <ul>
            {decision.evidence.map((evidence, index) => (
              <li key={index}>{prose(evidence)}</li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
