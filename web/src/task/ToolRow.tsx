// A tool call: one line with its state; what went in and came out when opened. Edits show their diff at once.
import { useMemo } from "react";
import type { FileChange, ToolCall } from "../api/types";
import { keyOr, useSay } from "../i18n";
import { compare } from "../text/diff";
import { DiffLines } from "../text/Diff";
import { exact, prose } from "../text/safe";
import { WholeText } from "./content";

/** Longer texts are not compared in the page. */
const LONGEST = 300_000;
/** Output that streams in is shown from its end. */
const TAIL = 4_000;

export function ToolRow({ call, live }: { call: ToolCall; live: string | undefined }) {
  const say = useSay();
  const state = say(keyOr(`entry.tool.${call.status}`, "entry.tool.unknown"));
  const changes = call.changes ?? [];
  const detail = call.input || call.output || live;
  return (
    <div className={`tool ${call.status}`}>
      <details className="fold">
        <summary>
          <span className="tool-state" aria-hidden="true" />
          <span className="visually-hidden">{state}: </span>
          <span className="tool-title">{prose(call.title)}</span>
          <span className="quiet">{call.status === "failed" ? state : call.tool}</span>
          {call.not_asked && <span className="tag">{say("entry.tool.not_asked")}</span>}
        </summary>
        {detail && <Detail call={call} live={live} />}
      </details>
      {call.status === "in_progress" && live && <pre className="plain-text tail">{prose(live.slice(-TAIL))}</pre>}
      {changes.map((change, index) => (
        <Change key={index} change={change} />
      ))}
    </div>
  );
}

function Detail({ call, live }: { call: ToolCall; live: string | undefined }) {
  const say = useSay();
  return (
    <div className="tool-detail">
      {call.input && (
        <>
          <p className="caption">{say("entry.tool.input")}</p>
          <WholeText text={call.input}>{(text) => <pre className="plain-text">{exact(text.slice(0, 50_000))}</pre>}</WholeText>
        </>
      )}
      {(call.output || live) && (
        <>
          <p className="caption">{say("entry.tool.output")}</p>
          {call.output ? (
            <WholeText text={call.output}>{(text) => <pre className="plain-text">{prose(text.slice(0, 200_000))}</pre>}</WholeText>
          ) : (
            <pre className="plain-text">{prose((live ?? "").slice(-TAIL))}</pre>
          )}
        </>
      )}
    </div>
  );
}

export function Change({ change }: { change: FileChange }) {
  const { before, after } = change;
  const lines = useMemo(() => {
    if (before?.blob || after.blob || (before?.text.length ?? 0) + after.text.length > LONGEST) return undefined;
    return compare(before?.text ?? "", after.text);
  }, [before, after]);
  const say = useSay();
  const added = lines?.filter((line) => line.kind === "added").length ?? 0;
  const removed = lines?.filter((line) => line.kind === "removed").length ?? 0;
  return (
    <details className="fold change" open={added + removed > 0 && added + removed <= 40}>
      <summary>
        <span className="path">{exact(change.path)}</span>
        <Counts added={added} removed={removed} />
      </summary>
      {lines ? <DiffLines lines={lines} /> : <p className="quiet">{say("entry.diff.long")}</p>}
    </details>
  );
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="counts">
      {added > 0 && <span className="plus">+{added}</span>} {removed > 0 && <span className="minus">−{removed}</span>}
    </span>
  );
}
