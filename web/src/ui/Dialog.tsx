// A dialog: the browser's own, which keeps the focus inside, closes on Escape and puts the rest out of reach.
import { useEffect, useRef, type ReactNode } from "react";
import { useSay } from "../i18n";

export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => void; children: ReactNode; wide?: boolean }) {
  const say = useSay();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const open = dialog.current;
    const before = document.activeElement;
    open?.showModal();
    // The browser would choose the first button, which closes it.
    open?.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => {
      open?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={wide ? "dialog wide" : "dialog"}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="dialog-body">
        <header>
          <h2>{title}</h2>
          <button type="button" className="plain" aria-label={say("dialog.close")} onClick={onClose}>
            ×
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
