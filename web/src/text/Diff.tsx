// A diff as a person reads it: one column, old and new line numbers, signs besides the colours.
import { useState } from "react";
import { useSay } from "../i18n";
import type { Line } from "./diff";
import { prose } from "./safe";

/** So many lines at once. */
const LINES = 400;
const LONGEST_LINE = 2_000;
const SIGN = { same: " ", added: "+", removed: "−", gap: "" };

export function DiffLines({ lines }: { lines: Line[] }) {
  const say = useSay();
  const [shown, setShown] = useState(LINES);
  return (
    <div className="diff" tabIndex={0} role="group">
      <table>
        <tbody>
          {lines.slice(0, shown).map((line, index) => (
            <tr key={index} className={line.kind}>
              <td className="nr">{line.kind === "gap" ? "⋯" : line.before}</td>
              <td className="nr">{line.kind === "gap" ? "" : line.after}</td>
              <td className="sign">{SIGN[line.kind]}</td>
              <td className="line">{prose(line.text.slice(0, LONGEST_LINE))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown < lines.length && (
        <button type="button" className="plain more" onClick={() => setShown(shown + 5 * LINES)}>
          {say("entry.more", { size: lines.length })}
        </button>
      )}
    </div>
  );
}
