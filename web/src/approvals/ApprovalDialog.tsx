// The approval that a key asked for, on top of whatever is open.
import { useQuery } from "@tanstack/react-query";
import { taskQuery } from "../api/queries";
import type { Approval } from "../api/types";
import { useSay } from "../i18n";
import { Dialog } from "../ui/Dialog";
import { ApprovalCard } from "./ApprovalCard";

export function ApprovalDialog({ approval, onClose }: { approval: Approval; onClose: () => void }) {
  const say = useSay();
  const task = useQuery(taskQuery(approval.task.key)).data;
  const agent = task?.executions.find((execution) => execution.id === approval.execution)?.agent ?? task?.agent ?? "";
  return (
    <Dialog title={say("approval.title")} onClose={onClose}>
      <p className="quiet">
        {task?.title} <span className="key">{approval.task.key}</span>
      </p>
      <ApprovalCard approval={approval} agent={agent} project={task?.project.name} onDone={onClose} autoFocus />
    </Dialog>
  );
}
