// The agent's own slash commands, completed as one types.
import { useState, type KeyboardEvent, type RefObject } from "react";
import type { Task } from "../api/types";
import { useSay } from "../i18n";

type Command = { id: string; name: string };
const SHOWN = 8;

export function useCommands(task: Task | undefined, text: string, setText: (text: string) => void, area: RefObject<HTMLTextAreaElement | null>) {
  const [at, setAt] = useState(0);
  const typed = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  const primary = task?.executions.find((execution) => execution.primary);
  const known: Command[] = primary?.runtime_session?.commands ?? [];
  const fitting = typed === undefined ? [] : known.filter(({ id }) => id.toLowerCase().startsWith(typed)).slice(0, SHOWN);
  const chosen = Math.min(at, Math.max(0, fitting.length - 1));
  const take = (command: Command) => {
    setText(`/${command.id} `);
    setAt(0);
    area.current?.focus();
  };
  /** Whether the key was for the list. */
  const press = (event: KeyboardEvent): boolean => {
    const command = fitting[chosen];
    if (!command) return false;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") setAt((chosen + (event.key === "ArrowDown" ? 1 : fitting.length - 1)) % fitting.length);
    else if (event.key === "Tab" || (event.key === "Enter" && text !== `/${command.id}`)) take(command);
    else return false;
    event.preventDefault();
    return true;
  };
  return { fitting, chosen, take, press };
}

export function CommandHints({ fitting, chosen, take }: ReturnType<typeof useCommands>) {
  const say = useSay();
  if (fitting.length === 0) return null;
  return (
    <ul className="commands" role="listbox" aria-label={say("composer.commands")}>
      {fitting.map((command, index) => (
        <li key={command.id} role="option" aria-selected={index === chosen} onMouseDown={(event) => event.preventDefault()} onClick={() => take(command)}>
          <code>/{command.id}</code> <span className="quiet">{command.name}</span>
        </li>
      ))}
    </ul>
  );
}
