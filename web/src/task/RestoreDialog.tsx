// Bringing the workspace back to what it was before a turn: first what would change, then the deed.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask, problemOf } from "../api/client";
import { useSay } from "../i18n";
import { exact, prose } from "../text/safe";
import { Dialog } from "../ui/Dialog";
import { tell, tellProblem } from "../ui/notice";
import { Counts } from "./ToolRow";

export function RestoreDialog({ task, turn, onClose }: { task: string; turn: string; onClose: () => void }) {
  const say = useSay();
  const path = { key: task };
  const { data, error } = useQuery({
    queryKey: ["restore", task, turn],
    queryFn: () => ask(api.GET("/api/v1/tasks/{key}/restore", { params: { path, query: { turn, before: true, undo: false } } })),
    staleTime: 0,
    gcTime: 0,
  });
  const restore = useMutation({
    mutationFn: () => ask(api.POST("/api/v1/tasks/{key}/restore", { params: { path }, body: { turn, before: true, undo: false } })),
    onSuccess: () => {
      tell({ text: say("restore.done") });
      onClose();
    },
    onError: tellProblem,
  });
  const problem = error && problemOf(error);
  return (
    <Dialog title={say("restore.title")} onClose={onClose}>
      <div className="form">
        {problem && (
          <p role="alert" className="problem">
            {problem.detail} <span className="hint">{problem.hint}</span>
          </p>
        )}
        {data && (
          <>
            <p>{data.files.length === 0 ? say("restore.nothing") : say("restore.changes")}</p>
            <ul className="restore-files">
              {data.files.map((file) => (
                <li key={file.path}>
                  <span className="path">{exact(file.path)}</span> <span className="quiet">{file.change}</span>{" "}
                  <Counts added={file.added} removed={file.removed} />
                </li>
              ))}
            </ul>
            {data.kept.map((line, index) => (
              <p key={index} className="quiet">
                {prose(line)}
              </p>
            ))}
          </>
        )}
        <div className="form-end">
          <button type="button" data-focus onClick={onClose}>
            {say("dialog.cancel")}
          </button>
          <button type="button" className="primary" disabled={!data?.files.length || restore.isPending} onClick={() => restore.mutate()}>
            {say("restore.do")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
