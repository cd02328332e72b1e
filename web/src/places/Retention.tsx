// What is no longer needed and could go. It goes by `tl gc`, on the machine itself.
import { useMutation } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import type { Freed } from "../api/types";
import { keyOr, useSay } from "../i18n";
import { size } from "../text/Markdown";
import { tellProblem } from "../ui/notice";

export function Retention() {
  const say = useSay();
  const collect = useMutation({
    mutationFn: () => ask(api.POST("/api/v1/gc", { body: { dry_run: true } })),
    onError: tellProblem,
  });
  const freed = collect.data;
  return (
    <section>
      <h2>{say("retention.title")}</h2>
      <p className="quiet">{say("retention.hint")}</p>
      {freed && <FreedList freed={freed} />}
      <div className="form-end start">
        <button type="button" disabled={collect.isPending} onClick={() => collect.mutate()}>
          {say("retention.look")}
        </button>
      </div>
    </section>
  );
}

function FreedList({ freed }: { freed: Freed }) {
  const say = useSay();
  const kinds = freed.freed.filter(({ count }) => count > 0);
  if (kinds.length === 0) return <p role="status">{say("retention.nothing")}</p>;
  return (
    <div role="status">
      <p>{say("retention.would")}</p>
      <ul className="things">
        {kinds.map(({ kind, count, bytes }) => (
          <li key={kind}>
            <strong>{say(keyOr(`retention.kind.${kind}`, "retention.kind.other"))}</strong>
            <span className="quiet">
              {count} · {size(bytes)}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
