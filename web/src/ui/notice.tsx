// What the page tells in passing: one line at a time, read out to whoever cannot see it.
import { Cell, useCell } from "./cell";
import { problemOf } from "../api/client";

type Notice = { text: string; hint?: string; bad?: boolean };

const notice = new Cell<Notice | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

export function tell(said: Notice): void {
  clearTimeout(timer);
  notice.set(said);
  timer = setTimeout(() => notice.set(undefined), said.bad ? 8_000 : 3_000);
}

export function tellProblem(error: unknown): void {
  const { detail, hint } = problemOf(error);
  tell({ text: detail, hint, bad: true });
}

export function Notices() {
  const said = useCell(notice);
  return (
    <div className="notices" role="status" aria-live="polite">
      {said && (
        <p className={said.bad ? "notice bad" : "notice"} onClick={() => notice.set(undefined)}>
          {said.text}
          {said.hint && <span className="hint">{said.hint}</span>}
        </p>
      )}
    </div>
  );
}
