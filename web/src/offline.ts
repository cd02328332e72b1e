// Keeps the page's own files for when the daemon does not answer. Nothing of the work is kept.
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
