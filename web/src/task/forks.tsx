// Trying another way: a fork of a task, side by side with what it came from, taken over or discarded.
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask, problemOf } from "../api/client";
import { client } from "../api/queries";
import type { Task } from "../api/types";
import { useSay } from "../i18n";
import { Dialog } from "../ui/Dialog";
import { tell } from "../ui/notice";
import { AgentChoice, FormDialog } from "./actions";
import { FileView } from "./TurnEnd";

type Props = { task: Task; onClose: () => void };

export function Fork({ task, onClose }: Props) {
  const say = useSay();
  const navigate = useNavigate();
  const [agent, setAgent] = useState(task.agent);
  const [text, setText] = useState("");
  const submit = async () => {
    const body = { turn: null, agent: agent === task.agent ? null : agent, text: text.trim() || null };
    const made = await ask(api.POST("/api/v1/tasks/{key}/fork", { params: { path: { key: task.key } }, body }));
    void client.invalidateQueries({ queryKey: ["tasks"] });
    await navigate({ to: "/tasks/$key", params: { key: made.task.key } });
  };
  return (
    <FormDialog title={say("fork.title")} hint={say("fork.hint")} verb={say("fork.do")} onClose={onClose} submit={submit}>
      <AgentChoice value={agent} onChange={setAgent} />
      <label>
        {say("fork.say")}
        <textarea data-focus rows={3} value={text} onChange={(event) => setText(event.target.value)} />
      </label>
    </FormDialog>
  );
}

export function Compare({ task, onClose }: Props) {
  const say = useSay();
  const key = task.key;
  const other = task.forked_from?.task.key ?? "";
  const { data, error } = useQuery({
    queryKey: ["compare", key, other],
    queryFn: () => ask(api.GET("/api/v1/tasks/{key}/compare", { params: { path: { key: other }, query: { with: key } } })),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Dialog title={say("compare.title", { left: other, right: key })} onClose={onClose} wide>
      {error && <p className="problem">{problemOf(error).detail}</p>}
      {data?.between.length === 0 && <p className="quiet">{say("compare.same")}</p>}
      {data?.between.map((file) => (
        <FileView key={file.path} file={file} />
      ))}
    </Dialog>
  );
}

export function Take({ task, onClose }: Props) {
  const say = useSay();
  const submit = async () => {
    const taken = await ask(api.POST("/api/v1/tasks/{key}/take", { params: { path: { key: task.key } } }));
    tell({ text: say("take.done", { key: taken.into.key, count: taken.files.length }), ...(taken.kept.length ? { hint: taken.kept.join(" ") } : {}) });
    void client.invalidateQueries();
  };
  const into = task.forked_from?.task.key ?? "";
  return (
    <FormDialog title={say("take.title")} hint={say("take.hint", { key: into })} verb={say("take.do")} onClose={onClose} submit={submit}>
      {null}
    </FormDialog>
  );
}

export function Discard({ task, onClose }: Props) {
  const say = useSay();
  const submit = async () => {
    const gone = await ask(api.POST("/api/v1/tasks/{key}/discard", { params: { path: { key: task.key } } }));
    tell({ text: gone.stays ?? say("discard.done"), ...(gone.hint ? { hint: gone.hint } : {}) });
    void client.invalidateQueries();
  };
  return (
    <FormDialog title={say("discard.title")} hint={say("discard.hint")} verb={say("discard.do")} onClose={onClose} submit={submit}>
      {null}
    </FormDialog>
  );
}
