// What the whole task changed, or one execution of it: from the state before its first turn to the one after its last.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { problemOf } from "../api/client";
import { changesQuery } from "../api/queries";
import type { Task } from "../api/types";
import { useSay } from "../i18n";
import { prose } from "../text/safe";
import { Dialog } from "../ui/Dialog";
import { FileView } from "./TurnEnd";

export function ChangesDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const say = useSay();
  const [execution, setExecution] = useState("");
  const { data, error, isPending } = useQuery(changesQuery(task.key, execution));
  return (
    <Dialog title={say("changes.title")} onClose={onClose} wide>
      {task.executions.length > 1 && (
        <label className="changes-of">
          {say("changes.of")}
          <select value={execution} onChange={(event) => setExecution(event.target.value)}>
            <option value="">{say("task.everyone")}</option>
            {task.executions.map(({ id, agent, role }) => (
              <option key={id} value={id}>
                {agent} · {say(`role.${role}`)}
              </option>
            ))}
          </select>
        </label>
      )}
      {isPending && <p className="quiet">{say("entry.more.loading")}</p>}
      {error && <p className="problem">{problemOf(error).detail}</p>}
      {data?.left_out && <p className="quiet">{say("entry.diff.none", { why: prose(data.left_out) })}</p>}
      {data && !data.left_out && data.files.length === 0 && <p className="quiet">{say("changes.none")}</p>}
      {data?.edited_between && <p className="quiet">{say("changes.between")}</p>}
      {data?.files.map((file) => (
        <FileView key={file.path} file={file} />
      ))}
    </Dialog>
  );
}
