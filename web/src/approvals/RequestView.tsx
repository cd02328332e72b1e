// What would be done, exactly as the agent sent it.
import type { Approval } from "../api/types";
import { useSay } from "../i18n";
import { exact } from "../text/safe";

export function RequestView({ approval }: { approval: Approval }) {
  const say = useSay();
  const { input, cwd } = approval.request;
  return (
    <div className="request">
      {input && (
        <pre className="code exact" tabIndex={0} aria-label={say("approval.input")}>
          {exact(input)}
        </pre>
      )}
      <p className="quiet where">{say("approval.where", { cwd: exact(cwd) })}</p>
    </div>
  );
}
