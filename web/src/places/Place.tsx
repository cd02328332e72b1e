// The frame of a place that is no task.
import { Link } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { useSay } from "../i18n";

export function Place({ title, children }: { title: string; children: ReactNode }) {
  const say = useSay();
  useEffect(() => {
    document.title = `${title} · Throughline`;
  }, [title]);
  return (
    <main className="place" id="content">
      <div className="task-bar">
        <Link to="/" className="back" aria-label={say("nav.back")}>
          ←
        </Link>
        <h1>{title}</h1>
      </div>
      {children}
    </main>
  );
}
