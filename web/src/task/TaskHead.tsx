// The head of a task: what it is, where it stands, who works on it, and what can be done to it.
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Execution, Task } from "../api/types";
import { keyOr, useSay, type Key } from "../i18n";
import { prose } from "../text/safe";
import { Mark } from "../ui/Mark";
import { Menu } from "../ui/Menu";
import { PlanList, PlanProgress } from "./PlanList";
import { TaskDialog, useDismissal, useTaskActions, type Ask } from "./actions";
import { Undelivered } from "./Undelivered";

type Props = { task: Task; execution: string | undefined; setExecution: (id: string | undefined) => void };

export function TaskHead({ task, execution, setExecution }: Props) {
  const say = useSay();
  const [asking, setAsking] = useState<Ask>();
  const closed = task.lifecycle !== "open";
  const state = closed ? say(`lifecycle.${task.lifecycle}` as Key) : say(`activity.${task.activity.word}`);
  return (
    <header className="task-head">
      <div className="task-bar">
        <Link to="/" className="back" aria-label={say("nav.back")}>
          ←
        </Link>
        <h1 dir="auto">{prose(task.title)}</h1>
        <Actions task={task} onAsk={setAsking} />
      </div>
      <p className="task-state">
        <Mark word={task.activity.word} closed={closed} />
        <span className="state-word">{state}</span>
        {task.activity.reason && <span className="quiet">{prose(task.activity.reason)}</span>}
        <span className="quiet">
          {task.project.name} · <span className="key">{task.key}</span>
        </span>
        {task.forked_from && (
          <Link to="/tasks/$key" params={{ key: task.forked_from.task.key }} className="quiet">
            {say("task.forked", { key: task.forked_from.task.key })}
          </Link>
        )}
      </p>
      {task.plan.length > 0 && (
        <details className="fold head-fold">
          <summary aria-label={say("task.plan")}>
            <PlanProgress entries={task.plan} />
          </summary>
          <PlanList entries={task.plan} />
        </details>
      )}
      {task.notes.length > 0 && (
        <ul className="notes" aria-label={say("task.notes")}>
          {task.notes.map((note, index) => (
            <li key={index}>{prose(note)}</li>
          ))}
        </ul>
      )}
      <Undelivered name={task.key} />
      <Lanes task={task} execution={execution} setExecution={setExecution} />
      {asking && <TaskDialog ask={asking} task={task} onClose={() => setAsking(undefined)} />}
    </header>
  );
}

function Actions({ task, onAsk }: { task: Task; onAsk: (ask: Ask) => void }) {
  const say = useSay();
  const actions = useTaskActions(task, onAsk);
  const running = task.executions.some((execution) => execution.active_turn);
  return (
    <div className="task-actions">
      {running && (
        <button type="button" className="stop" onClick={() => actions.find(({ id }) => id === "stop")?.act()}>
          {say("task.stop")}
        </button>
      )}
      <Menu label={say("task.actions")} face="⋯">
        {actions
          .filter(({ id }) => id !== "stop")
          .map((action) => (
            <button key={action.id} type="button" onClick={action.act}>
              {action.label}
            </button>
          ))}
      </Menu>
    </div>
  );
}

/** Who works on it: one lane each; choosing one leaves only its part of the timeline. */
function Lanes({ task, execution, setExecution }: Props) {
  const say = useSay();
  const many = task.executions.length > 1;
  return (
    <div className="lanes">
      {many && (
        <button type="button" className="lane" aria-pressed={!execution} onClick={() => setExecution(undefined)}>
          {say("task.everyone")}
        </button>
      )}
      {task.executions.map((each) => (
        <span key={each.id} className={each.ended ? "lane-box ended" : "lane-box"}>
          {many ? (
            <button type="button" className="lane" aria-pressed={execution === each.id} onClick={() => setExecution(execution === each.id ? undefined : each.id)}>
              <LaneName execution={each} />
            </button>
          ) : (
            <span className="lane">
              <LaneName execution={each} />
            </span>
          )}
          {IN_TROUBLE.includes(each.activity.word) && <Dismiss task={task} execution={each} />}
          <Menu label={say("task.session")} face="ⓘ" align="start">
            <SessionFacts execution={each} />
            {!IN_TROUBLE.includes(each.activity.word) && <Dismiss task={task} execution={each} />}
          </Menu>
        </span>
      ))}
    </div>
  );
}

/** Who failed is dismissed where that is seen; who did not, from its own menu. */
const IN_TROUBLE: string[] = ["failed", "blocked"];

/** Somebody has to be left to do the work: of an editor, another editor. */
function Dismiss({ task, execution }: { task: Task; execution: Execution }) {
  const say = useSay();
  const dismiss = useDismissal(task);
  const left = task.executions.filter(({ id, ended }) => !ended && id !== execution.id);
  const goesOn = left.some(({ primary, role }) => primary || role === execution.role || role === "editor");
  if (execution.ended || !goesOn) return null;
  return (
    <button type="button" className="dismiss" title={say("task.dismiss.hint", { agent: execution.agent })} disabled={dismiss.isPending} onClick={() => dismiss.mutate(execution.id)}>
      {say("task.dismiss")}
    </button>
  );
}

function LaneName({ execution }: { execution: Execution }) {
  const say = useSay();
  return (
    <>
      <Mark word={execution.activity.word} closed={Boolean(execution.ended)} />
      {execution.agent} <span className="quiet">{say(`role.${execution.role}`)}</span>
      <ReadOnly execution={execution} />
      <Unasked execution={execution} />
    </>
  );
}

/** A role that only reads says so, and whether anything holds it to that. */
function ReadOnly({ execution }: { execution: Execution }) {
  const say = useSay();
  const held = execution.runtime_session?.read_only;
  if (!held) return null;
  return (
    <span className="tag" title={say(keyOr(`task.read_only.${held.enforced_by ?? "nothing"}`, "task.read_only"))}>
      {say("task.read_only")}
    </span>
  );
}

/** What an agent does without a question is said where its name stands. */
function Unasked({ execution }: { execution: Execution }) {
  const say = useSay();
  const held = execution.ended ? undefined : execution.runtime_session?.unasked;
  if (!held) return null;
  return (
    <span className="tag" title={say("task.unasked.what", { what: prose(held.what) })}>
      {say(keyOr(`task.unasked.${held.scope}`, "task.unasked.some"))}
    </span>
  );
}

function SessionFacts({ execution }: { execution: Execution }) {
  const say = useSay();
  const session = execution.runtime_session;
  const turns = execution.turns === 1 ? say("task.turns.one") : say("task.turns", { count: execution.turns });
  if (!session) return <p className="facts quiet">{say("task.session.none")}</p>;
  const facts: [string, string | null | undefined][] = [
    ["", `${say(`task.phase.${session.phase}`)} · ${say(`task.session.reason.${session.reason}`)}`],
    ["", `${session.agent.name} ${session.agent.version} · ${turns} · ${say("task.epoch", { epoch: session.epoch })}`],
    [say("task.model"), session.model],
    [say("task.mode"), session.mode],
    [say("task.native"), session.native_id],
    ["MCP", session.mcp_servers.join(", ")],
  ];
  return (
    <div className="facts">
      <p className="caption">{say("task.session")}</p>
      {facts.map(([name, value], index) =>
        value ? (
          <p key={index}>
            {name && <span className="quiet">{name} </span>}
            {prose(value)}
          </p>
        ) : null,
      )}
    </div>
  );
}
