// One request to do one exact thing: every character of it, and the answer. A decision binds to the digest of what stands here.
import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { api, ask, problemOf } from "../api/client";
import { client } from "../api/queries";
import type { Approval, EntryOf } from "../api/types";
import { useSay } from "../i18n";
import { exact } from "../text/safe";
import { tell, tellProblem } from "../ui/notice";
import { Left } from "../ui/time";
import { RequestView } from "./RequestView";

type Props = { approval: Approval; settled?: EntryOf<"approval_settled"> | undefined; agent: string; project?: string | undefined; onDone?: () => void; autoFocus?: boolean };

export function ApprovalCard({ approval, settled, agent, project, onDone, autoFocus }: Props) {
  const say = useSay();
  const state = settled?.state ?? approval.state;
  const pending = state === "pending";
  const title = useId();
  return (
    <section className={pending ? "approval pending" : `approval ${state}`} aria-labelledby={title}>
      <header>
        <h3 id={title}>
          {say("approval.asks", { agent })} <span className="what">{exact(approval.request.title)}</span>
        </h3>
        {pending ? <Left until={approval.expires_at} /> : <span className={`verdict ${state}`}>{say(`approval.state.${state}`)}</span>}
      </header>
      <RequestView approval={approval} />
      {settled?.not_asked && <p className="reason">{say("approval.not_asked")}</p>}
      {settled?.rule != null && <p className="reason">{say("approval.by_rule", { number: settled.rule })}</p>}
      {settled?.reason && <p className="reason">“{exact(settled.reason)}”</p>}
      {pending && project && <p className="quiet deciders">{say("approval.deciders", { project })}</p>}
      {pending && <Answer approval={approval} onDone={onDone} autoFocus={autoFocus ?? false} />}
    </section>
  );
}

function Answer({ approval, onDone, autoFocus }: { approval: Approval; onDone: (() => void) | undefined; autoFocus: boolean }) {
  const say = useSay();
  const [reason, setReason] = useState("");
  const decide = useMutation({
    mutationFn: (option: "allow" | "always" | "deny") =>
      ask(
        api.POST("/api/v1/approvals/{id}/decision", {
          params: { path: { id: approval.id } },
          body: {
            option: option === "deny" ? "deny" : "allow",
            ...(option === "always" ? { always: true } : {}),
            ...(approval.digest ? { digest: approval.digest } : {}),
            ...(option === "deny" && reason.trim() ? { reason: reason.trim() } : {}),
          },
        }),
      ),
    onSuccess: ({ rule, no_rule }) => {
      if (rule) tell({ text: say("approval.always.made", { words: exact(rule.words) }) });
      if (no_rule) tell({ text: say("approval.always.none", { why: no_rule }) });
      onDone?.();
    },
    onError: (error) => {
      if (problemOf(error).code === "approval_settled") tell({ text: say("approval.gone") });
      else tellProblem(error);
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["approvals"] });
      void client.invalidateQueries({ queryKey: ["task", approval.task.key] });
    },
  });
  return (
    <div className="answer">
      <button type="button" className="primary" data-focus={autoFocus || undefined} disabled={decide.isPending || !approval.digest} onClick={() => decide.mutate("allow")}>
        {say("approval.once")}
      </button>
      <button type="button" title={say("approval.always.hint")} disabled={decide.isPending || !approval.digest} onClick={() => decide.mutate("always")}>
        {say("approval.always")}
      </button>
      <button type="button" disabled={decide.isPending} onClick={() => decide.mutate("deny")}>
        {say("approval.deny")}
      </button>
      <input
        type="text"
        value={reason}
        placeholder={say("approval.reason")}
        aria-label={say("approval.reason")}
        onChange={(event) => setReason(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.nativeEvent.isComposing) decide.mutate("deny");
        }}
      />
    </div>
  );
}
