// How a turn ended, and what it changed.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api/client";
import { diffQuery } from "../api/queries";
import type { ChangedFile, EntryOf, FileDiff, Task } from "../api/types";
import { useSay } from "../i18n";
import { parsePatch } from "../text/diff";
import { DiffLines } from "../text/Diff";
import { exact, prose } from "../text/safe";
import { tellProblem } from "../ui/notice";
import { span } from "../ui/time";
import { RestoreDialog } from "./RestoreDialog";
import { Counts } from "./ToolRow";

type Props = { entry: EntryOf<"turn_ended">; changed: ChangedFile[] | undefined; task: Task };

export function TurnEnd({ entry, changed, task }: Props) {
  const say = useSay();
  const retry = useMutation({
    mutationFn: () => ask(api.POST("/api/v1/tasks/{key}/retry", { params: { path: { key: task.key } } })),
    onError: tellProblem,
  });
  const bad = entry.outcome !== "completed";
  const last = task.executions.some((execution) => execution.last_turn?.id === entry.turn && !execution.active_turn);
  return (
    <div className="turn-end">
      <p className="line-text">
        <strong>{say(`turn.${entry.outcome}`)}</strong>
        {entry.duration_ms != null && ` ${say("turn.in", { time: span(entry.duration_ms) })}`}
        {entry.usage?.total_tokens != null && ` · ${entry.usage.total_tokens.toLocaleString()} tokens`}
        {entry.usage?.cost && ` · ${entry.usage.cost}`}
      </p>
      {entry.reason && <p className="reason">{prose(entry.reason)}</p>}
      {entry.hint && <p className="hint">{prose(entry.hint)}</p>}
      {bad && last && (
        <button type="button" disabled={retry.isPending} onClick={() => retry.mutate()}>
          {say("turn.retry")}
        </button>
      )}
      {changed && <Changed files={changed} task={task.key} turn={entry.turn} />}
    </div>
  );
}

function Changed({ files, task, turn }: { files: ChangedFile[]; task: string; turn: string }) {
  const say = useSay();
  const [open, setOpen] = useState(false);
  const [restoring, setRestoring] = useState(false);
  return (
    <details className="fold change" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {files.length === 1 ? say("entry.changed.files.one") : say("entry.changed.files", { count: files.length })}
        <Counts added={sum(files, "added")} removed={sum(files, "removed")} />
      </summary>
      {open && (
        <>
          <TurnDiffView task={task} turn={turn} />
          <button type="button" onClick={() => setRestoring(true)}>
            {say("restore.before")}
          </button>
        </>
      )}
      {restoring && <RestoreDialog task={task} turn={turn} onClose={() => setRestoring(false)} />}
    </details>
  );
}

const sum = (files: ChangedFile[], name: "added" | "removed") => files.reduce((total, file) => total + file[name], 0);

export function TurnDiffView({ task, turn }: { task: string; turn: string }) {
  const say = useSay();
  const { data, error, isPending } = useQuery(diffQuery(task, turn));
  if (isPending) return <p className="quiet">{say("entry.more.loading")}</p>;
  if (error) return <p className="quiet">{say("entry.diff.none", { why: error.message })}</p>;
  return (
    <>
      {data.left_out && <p className="quiet">{say("entry.diff.none", { why: data.left_out })}</p>}
      {data.edited_before && <p className="quiet">{say("entry.diff.edited")}</p>}
      {data.files.map((file) => (
        <FileView key={file.path} file={file} />
      ))}
    </>
  );
}

export function FileView({ file }: { file: FileDiff }) {
  const say = useSay();
  return (
    <section className="file-diff">
      <h4>
        <span className="path">
          {file.from && `${exact(file.from)} → `}
          {exact(file.path)}
        </span>
        <Counts added={file.added} removed={file.removed} />
      </h4>
      {file.patch ? <DiffLines lines={parsePatch(file.patch)} /> : <p className="quiet">{say(file.binary ? "entry.diff.binary" : "entry.diff.long")}</p>}
    </section>
  );
}
