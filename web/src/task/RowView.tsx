// One row of the timeline, by what it is. Each watches its own row, so that text that streams into one draws only that one.
import { memo, useSyncExternalStore, type ReactNode } from "react";
import type { Task } from "../api/types";
import { ApprovalCard } from "../approvals/ApprovalCard";
import { say, useSay } from "../i18n";
import { Markdown } from "../text/Markdown";
import { exact, prose } from "../text/safe";
import { Clock, span } from "../ui/time";
import { WholeText, Attachments } from "./content";
import { PlanList } from "./PlanList";
import type { Row, Timeline } from "./timeline";
import { ToolRow } from "./ToolRow";
import { TurnEnd } from "./TurnEnd";
import { UserMessage } from "./UserMessage";

type Props = { row: Row; task: Task; timeline: Timeline; linked: boolean };

export const RowView = memo(function RowView({ row, task, timeline, linked }: Props) {
  useSyncExternalStore(
    (watcher) => timeline.watchRow(row.id, watcher),
    () => timeline.rowVersion(row.id),
  );
  const body = rowBody(row, task, timeline);
  return (
    <article id={`item-${row.id}`} className={`entry ${kindOf(row)}${linked ? " linked" : ""}`}>
      <span className="knot" aria-hidden="true" />
      {body}
      <a className="stamp" href={`?item=${encodeURIComponent(row.id)}`} onClick={(event) => keepLink(event, row.id)}>
        <Clock at={row.at} />
      </a>
    </article>
  );
});

/** The address of an item, without going there: it is in sight already. */
function keepLink(event: React.MouseEvent, id: string): void {
  if (event.metaKey || event.ctrlKey) return;
  event.preventDefault();
  history.replaceState(history.state, "", `?item=${encodeURIComponent(id)}`);
  void navigator.clipboard?.writeText(location.href);
}

function kindOf(row: Row): string {
  const entry = row.entry;
  if (!entry) return row.live?.kind ?? "line";
  if (entry.type === "turn_ended") return `result ${entry.outcome}`;
  if (entry.type === "approval") return "approval-row";
  return ["message", "thought", "tool_call", "user_message", "plan"].includes(entry.type) ? entry.type : "line";
}

export function agentOf(task: Task, execution: string | undefined): string {
  const found = task.executions.find(({ id }) => id === execution);
  return found?.agent ?? task.agent;
}

function rowBody(row: Row, task: Task, timeline: Timeline): ReactNode {
  const { entry, live } = row;
  const who = <Who task={task} execution={row.execution} />;
  if (!entry) {
    if (!live) return null;
    if (live.kind === "thought") return <Thought text={live.text} streaming />;
    return (
      <>
        {who}
        <Markdown text={live.text} />
      </>
    );
  }
  switch (entry.type) {
    case "user_message":
      return <UserMessage entry={entry} withdrawn={row.withdrawn} task={task} />;
    case "message":
      return (
        <>
          {who}
          {entry.question && <span className="tag">{say("entry.question")}</span>}
          <WholeText text={entry}>{(text) => <Markdown text={text} />}</WholeText>
          <Attachments blocks={entry.attachments ?? []} />
        </>
      );
    case "thought":
      return <Thought text={entry.text} />;
    case "tool_call":
      return <ToolRow call={entry} live={live?.text} />;
    case "plan":
      return (
        <>
          <p className="caption">{say("entry.plan")}</p>
          <PlanList entries={entry.entries} />
        </>
      );
    case "approval":
      return <ApprovalCard approval={entry.approval} settled={row.settled} agent={agentOf(task, row.execution)} project={task.project.name} />;
    case "turn_ended":
      return <TurnEnd entry={entry} changed={timeline.changed.get(entry.turn)} task={task} />;
    case "handoff_given":
      return (
        <details className="fold">
          <summary>{say("entry.handoff")}</summary>
          <WholeText text={entry.text}>{(text) => <Markdown text={text} />}</WholeText>
        </details>
      );
    case "agent_note":
      return (
        <details className="fold">
          <summary>
            {entry.about}: {prose(entry.text.slice(0, 120))}
          </summary>
          <pre className="plain-text">{exact(entry.text)}</pre>
        </details>
      );
    default:
      return <p className="line-text">{line(row, task)}</p>;
  }
}

/** One line about what happened. */
function line(row: Row, task: Task): string {
  const entry = row.entry;
  const agent = agentOf(task, row.execution);
  switch (entry?.type) {
    case "task_created":
      return say("task.created");
    case "task_retitled":
      return say("task.retitled", { title: prose(entry.title) });
    case "task_closed":
      return say("task.closed.line");
    case "task_reopened":
      return say("task.reopened.line");
    case "note_pinned":
      return say("note.pinned", { text: prose(entry.text) });
    case "turn_held":
      return say("turn.held", { who: prose(entry.behind) });
    case "turn_stalled":
      return say("turn.stalled", { time: span(entry.silent_secs * 1000) });
    case "approvals_refused":
      return say("approval.too_many");
    case "turn_stopping":
      return say("turn.stopping");
    case "runtime_session_started":
      return say(`session.started.${entry.reason}`, { agent });
    case "runtime_session_resumed":
      return say(`session.resumed.${entry.cause}`);
    case "runtime_session_reattached":
      return say("session.reattached");
    case "runtime_session_parked":
      return say("session.parked", { cause: prose(entry.cause) });
    case "runtime_session_lost":
      return say("session.lost", { cause: prose(entry.cause) });
    case "runtime_session_closed":
      return say("session.closed");
    case "execution_ended":
      return entry.end === "cancelled" ? say("execution.dismissed", { agent }) : say("execution.ended", { end: entry.end });
    case "model_chosen":
      return say("model.chosen", { model: prose(entry.model) });
    default:
      // An entry of a newer daemon: its name says more than nothing.
      return (entry?.type ?? "").replaceAll("_", " ");
  }
}

function Who({ task, execution }: { task: Task; execution: string | undefined }) {
  const say = useSay();
  const found = task.executions.find(({ id }) => id === execution);
  return (
    <p className="who">
      {found?.agent ?? task.agent}
      {found && task.executions.length > 1 && <span className="quiet"> {say(`role.${found.role}`)}</span>}
    </p>
  );
}

function Thought({ text, streaming }: { text: string; streaming?: boolean }) {
  const say = useSay();
  return (
    <details className="fold">
      <summary>{say(streaming ? "entry.thinking" : "entry.thought")}</summary>
      <Markdown text={text} />
    </details>
  );
}
