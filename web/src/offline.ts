// The page as an app: it keeps its own files for when the daemon does not answer, and nothing of the work; it can be installed.
import { Cell } from "./ui/cell";

type InstallQuestion = Event & { prompt: () => Promise<unknown> };

/** The browser's own offer to install the page, until it was made use of. */
export const installable = new Cell<InstallQuestion | undefined>(undefined);

addEventListener("beforeinstallprompt", (event) => {
  event.preventDefault();
  installable.set(event as InstallQuestion);
});

export async function install(): Promise<void> {
  await installable.get()?.prompt();
  installable.set(undefined);
}

export function keepShell(): void {
  if (!("serviceWorker" in navigator) || !isSecureContext || import.meta.env.DEV) return;
  const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
  const policy = types?.createPolicy("throughline", { createScriptURL: (url) => (url === "/worker.js" ? url : "") });
  const url = policy ? policy.createScriptURL("/worker.js") : "/worker.js";
  void navigator.serviceWorker.register(url as string).catch(() => undefined);
}

type TrustedTypes = {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): unknown };
};
