// What Throughline itself answers, and what can be chosen next.
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Reply } from "../api/types";
import { useSay } from "../i18n";
import { prose } from "../text/safe";
import { tellProblem } from "../ui/notice";
import { act } from "./choices";

export function ReplyPanel({ reply, onDone }: { reply: Reply; onDone: () => void }) {
  const say = useSay();
  const navigate = useNavigate();
  const choose = useMutation({
    mutationFn: act,
    onSuccess: (key) => {
      onDone();
      if (key) void navigate({ to: "/tasks/$key", params: { key } });
    },
    onError: tellProblem,
  });
  return (
    <section className="reply" role="status">
      <p>{prose(reply.text)}</p>
      <div className="answer">
        {(reply.choices ?? []).map((choice, index) => (
          <button key={index} type="button" disabled={choose.isPending} onClick={() => choose.mutate(choice.action)}>
            {prose(choice.label)}
          </button>
        ))}
        <button type="button" className="plain" onClick={onDone}>
          {say("dialog.close")}
        </button>
      </div>
    </section>
  );
}
