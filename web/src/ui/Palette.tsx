// The palette: go to any task or place, do anything to the task that is open.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useId, useState } from "react";
import { taskQuery } from "../api/queries";
import { useTasks } from "../inbox/Inbox";
import { useSay, type Key } from "../i18n";
import { ASKS, TaskDialog, useTaskActions, type Ask } from "../task/actions";
import { prose } from "../text/safe";
import { Dialog } from "./Dialog";

type Entry = { id: string; group: Key; label: string; detail?: string; act: () => void };
const SHOWN = 40;

export function Palette({ onClose }: { onClose: () => void }) {
  const say = useSay();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [asking, setAsking] = useState<Ask>();
  const list = useId();
  const { entries, task } = useEntries(onClose, setAsking);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = entries.filter(({ label, detail }) => words.every((word) => `${label} ${detail ?? ""}`.toLowerCase().includes(word))).slice(0, SHOWN);
  const chosen = Math.min(at, Math.max(0, fitting.length - 1));
  useEffect(() => {
    document.getElementById(`${list}-${chosen}`)?.scrollIntoView({ block: "nearest" });
  }, [chosen, list]);
  if (asking && task) return <TaskDialog ask={asking} task={task} onClose={onClose} />;
  return (
    <Dialog title={say("nav.palette")} onClose={onClose}>
      <input
        className="palette-input"
        data-focus
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={fitting.length ? `${list}-${chosen}` : undefined}
        aria-label={say("palette.placeholder")}
        placeholder={say("palette.placeholder")}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, fitting.length - 1));
          else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
          else if (event.key === "Enter") fitting[chosen]?.act();
          else return;
          event.preventDefault();
        }}
      />
      <ul className="palette" role="listbox" id={list} aria-label={say("nav.palette")}>
        {fitting.map((entry, index) => (
          <li key={entry.id} id={`${list}-${index}`} role="option" aria-selected={index === chosen} onMouseMove={() => setAt(index)} onClick={entry.act}>
            <span dir="auto">{entry.label}</span>
            <span className="quiet">{entry.detail ?? say(entry.group)}</span>
          </li>
        ))}
        {fitting.length === 0 && <li className="quiet">{say("palette.none")}</li>}
      </ul>
    </Dialog>
  );
}

function useEntries(onClose: () => void, onAsk: (ask: Ask) => void) {
  const say = useSay();
  const navigate = useNavigate();
  const { key } = useParams({ strict: false });
  const { data: task } = useQuery({ ...taskQuery(key ?? ""), enabled: Boolean(key) });
  const { tasks } = useTasks();
  const actions = useTaskActions(task, onAsk);
  const go = (to: "/" | "/projects" | "/agents" | "/settings") => () => {
    onClose();
    void navigate({ to });
  };
  const entries: Entry[] = [
    ...actions.map(({ id, label, act }): Entry => ({
      id: `do-${id}`,
      group: "palette.actions",
      label,
      detail: task?.key ?? "",
      act: () => {
        act();
        if (!ASKS.includes(id)) onClose();
      },
    })),
    ...tasks.map((each): Entry => ({
      id: each.id,
      group: "palette.tasks",
      label: prose(each.title),
      detail: each.key,
      act: () => {
        onClose();
        void navigate({ to: "/tasks/$key", params: { key: each.key } });
      },
    })),
    { id: "inbox", group: "palette.places", label: say("nav.inbox"), act: go("/") },
    { id: "projects", group: "palette.places", label: say("nav.projects"), act: go("/projects") },
    { id: "agents", group: "palette.places", label: say("nav.agents"), act: go("/agents") },
    { id: "settings", group: "palette.places", label: say("nav.settings"), act: go("/settings") },
  ];
  return { entries, task };
}
