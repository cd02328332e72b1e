// A small menu under a button. It closes when something in it was chosen, and when the focus goes elsewhere.
import { useRef, type ReactNode } from "react";

export function Menu({ label, face, children, align }: { label: string; face: ReactNode; children: ReactNode; align?: "start" | "end" }) {
  const details = useRef<HTMLDetailsElement>(null);
  const close = () => details.current?.removeAttribute("open");
  return (
    <details
      ref={details}
      className={`menu ${align ?? "end"}`}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !details.current?.open) return;
        event.preventDefault();
        event.stopPropagation();
        close();
        details.current.querySelector("summary")?.focus();
      }}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) close();
      }}
    >
      <summary {...(typeof face === "string" ? { "aria-label": label } : {})} title={label}>
        {face}
      </summary>
      {/* A press inside must not take the focus away before its click arrives: some browsers focus no button. */}
      <div className="menu-body" onClick={close} onMouseDown={(event) => event.target instanceof HTMLElement && !event.target.closest("input,textarea") && event.preventDefault()}>
        {children}
      </div>
    </details>
  );
}
