// What would be done, with every character visible; an edit as its diff.
import { useMemo } from "react";
import type { Approval } from "../api/types";
import { useSay } from "../i18n";
import { compare } from "../text/diff";
import { DiffLines } from "../text/Diff";
import { exact } from "../text/safe";

export function RequestView({ approval }: { approval: Approval }) {
  const say = useSay();
  const { input, cwd } = approval.request;
  const { shown } = approval;
  const edit = useMemo(() => editOf(input ?? undefined), [input]);
  return (
    <div className="request">
      <pre className="code exact" tabIndex={0} aria-label={say("approval.input")}>
        {exact(shown.text)}
      </pre>
      {edit && <DiffLines lines={edit} />}
      {shown.description && <p className="quiet">{say("approval.description")}</p>}
      {!shown.complete && <p className="problem">{say("approval.incomplete")}</p>}
      <p className="quiet where">{say("approval.where", { cwd: exact(cwd) })}</p>
    </div>
  );
}

/** The change that an edit would make, where the agent's input says it the usual way. */
function editOf(input: string | undefined) {
  try {
    const value = JSON.parse(input ?? "") as Record<string, unknown>;
    const before = value.old_string ?? value.old_text ?? value.oldText;
    const after = value.new_string ?? value.new_text ?? value.newText;
    return typeof before === "string" && typeof after === "string" ? compare(before, after) : undefined;
  } catch {
    return undefined;
  }
}
