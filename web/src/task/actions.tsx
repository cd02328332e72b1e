// What can be done to a task: the same list for its menu and for the palette, and the dialogs that some of it needs.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type FormEvent, type ReactNode } from "react";
import { api, ask } from "../api/client";
import { agentsQuery, client } from "../api/queries";
import type { Role, Task } from "../api/types";
import { useSay } from "../i18n";
import { Dialog } from "../ui/Dialog";
import { tellProblem } from "../ui/notice";
import { ChangesDialog } from "./ChangesDialog";
import { Compare, Discard, Fork, Take } from "./forks";

export type Ask = "add" | "switch" | "note" | "fork" | "compare" | "take" | "discard" | "changes";
/** These need a dialog; the rest is done at once. */
export const ASKS: readonly string[] = ["add", "switch", "note", "fork", "compare", "take", "discard"] satisfies Ask[];
export type Action = { id: string; label: string; act: () => void };

const ROLES: Role[] = ["reviewer", "tester", "researcher", "editor"];

export function useTaskActions(task: Task | undefined, onAsk: (ask: Ask) => void): Action[] {
  const say = useSay();
  const path = { params: { path: { key: task?.key ?? "" } } };
  const change = useMutation({ mutationFn: (call: () => Promise<unknown>) => call(), onError: tellProblem, onSettled: () => refresh(task) });
  if (!task) return [];
  const does = (call: () => Promise<unknown>) => () => change.mutate(call);
  const running = task.executions.some((execution) => execution.active_turn);
  const actions: (Action | false)[] = [
    running && { id: "stop", label: say("task.stop"), act: does(() => ask(api.POST("/api/v1/tasks/{key}/cancel", path))) },
    { id: "add", label: say("task.add"), act: () => onAsk("add") },
    { id: "switch", label: say("task.switch"), act: () => onAsk("switch") },
    { id: "note", label: say("task.note"), act: () => onAsk("note") },
    { id: "changes", label: say("task.changes"), act: () => onAsk("changes") },
    { id: "fork", label: say("task.fork"), act: () => onAsk("fork") },
    Boolean(task.forked_from) && { id: "compare", label: say("task.compare"), act: () => onAsk("compare") },
    Boolean(task.forked_from) && { id: "take", label: say("task.take"), act: () => onAsk("take") },
    Boolean(task.forked_from) && { id: "discard", label: say("task.discard"), act: () => onAsk("discard") },
    !running && { id: "retry", label: say("task.retry"), act: does(() => ask(api.POST("/api/v1/tasks/{key}/retry", path))) },
    { id: "fresh", label: say("task.fresh"), act: does(() => ask(api.POST("/api/v1/tasks/{key}/fresh", path))) },
    task.lifecycle === "open"
      ? { id: "close", label: say("task.close"), act: does(() => ask(api.POST("/api/v1/tasks/{key}/close", path))) }
      : { id: "reopen", label: say("task.reopen"), act: does(() => ask(api.POST("/api/v1/tasks/{key}/reopen", path))) },
    { id: "copy", label: say("task.copy_link"), act: () => void navigator.clipboard?.writeText(`${location.origin}/tasks/${task.key}`) },
  ];
  return actions.filter((action) => action !== false);
}

/** Is done with one execution of a task. */
export function useDismissal(task: Task) {
  const dismiss = (id: string) => ask(api.POST("/api/v1/tasks/{key}/executions/{id}/dismiss", { params: { path: { key: task.key, id } } }));
  return useMutation({ mutationFn: dismiss, onError: tellProblem, onSettled: () => refresh(task) });
}

function refresh(task: Task | undefined): void {
  if (task) void client.invalidateQueries({ queryKey: ["task", task.key] });
}

export function TaskDialog({ ask: asked, task, onClose }: { ask: Ask; task: Task; onClose: () => void }) {
  switch (asked) {
    case "add":
      return <AddAgent task={task} onClose={onClose} />;
    case "switch":
      return <SwitchAgent task={task} onClose={onClose} />;
    case "note":
      return <PinNote task={task} onClose={onClose} />;
    case "fork":
      return <Fork task={task} onClose={onClose} />;
    case "changes":
      return <ChangesDialog task={task} onClose={onClose} />;
    case "compare":
      return <Compare task={task} onClose={onClose} />;
    case "take":
      return <Take task={task} onClose={onClose} />;
    case "discard":
      return <Discard task={task} onClose={onClose} />;
  }
}

type FormProps = { title: string; hint?: string; verb: string; onClose: () => void; submit: () => Promise<unknown>; children: ReactNode };

export function FormDialog({ title, hint, verb, onClose, submit, children }: FormProps) {
  const say = useSay();
  const change = useMutation({ mutationFn: submit, onSuccess: onClose, onError: tellProblem });
  const send = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={send}>
        {hint && <p className="quiet">{hint}</p>}
        {children}
        <div className="form-end">
          <button type="button" onClick={onClose}>
            {say("dialog.cancel")}
          </button>
          <button type="submit" className="primary" disabled={change.isPending}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function AgentChoice({ value, onChange }: { value: string; onChange: (agent: string) => void }) {
  const say = useSay();
  const agents = useQuery(agentsQuery).data?.agents ?? [];
  return (
    <label>
      {say("add.agent")}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {agents.map((agent) => (
          <option key={agent.name} value={agent.name} disabled={!agent.found}>
            {agent.name}
          </option>
        ))}
      </select>
    </label>
  );
}

function AddAgent({ task, onClose }: { task: Task; onClose: () => void }) {
  const say = useSay();
  const [agent, setAgent] = useState(task.agent);
  const [role, setRole] = useState<Role>("reviewer");
  const submit = () =>
    ask(api.POST("/api/v1/tasks/{key}/executions", { params: { path: { key: task.key } }, body: { agent, role } })).then(() => refresh(task));
  return (
    <FormDialog title={say("add.title")} verb={say("add.do")} onClose={onClose} submit={submit}>
      <AgentChoice value={agent} onChange={setAgent} />
      <label>
        {say("add.role")}
        <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {ROLES.map((each) => (
            <option key={each} value={each}>
              {say(`role.${each}`)}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  );
}

function SwitchAgent({ task, onClose }: { task: Task; onClose: () => void }) {
  const say = useSay();
  const [agent, setAgent] = useState(task.agent);
  const submit = () => ask(api.POST("/api/v1/tasks/{key}/switch", { params: { path: { key: task.key } }, body: { agent, model: null } })).then(() => refresh(task));
  return (
    <FormDialog title={say("switch.title")} hint={say("switch.hint")} verb={say("switch.do")} onClose={onClose} submit={submit}>
      <AgentChoice value={agent} onChange={setAgent} />
    </FormDialog>
  );
}

function PinNote({ task, onClose }: { task: Task; onClose: () => void }) {
  const say = useSay();
  const [text, setText] = useState("");
  const submit = () => ask(api.POST("/api/v1/tasks/{key}/notes", { params: { path: { key: task.key } }, body: { text } })).then(() => refresh(task));
  return (
    <FormDialog title={say("note.title")} hint={say("note.hint")} verb={say("note.do")} onClose={onClose} submit={submit}>
      <textarea data-focus rows={3} value={text} aria-label={say("note.title")} onChange={(event) => setText(event.target.value)} />
    </FormDialog>
  );
}
