// The offline shell: the page and its files from the last visit when the daemon does not answer. Calls to the API are never
// kept, so that nothing of the work stays in the browser, and nothing old is taken for new.
const SHELL = "shell-1";

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(SHELL).then((cache) => cache.add("/")).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => Promise.all(names.filter((name) => name !== SHELL).map((name) => caches.delete(name))));
  event.waitUntil(old.then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin || url.pathname.startsWith("/api/")) return;
  if (url.pathname.startsWith("/assets/")) event.respondWith(kept(request));
  else if (request.mode === "navigate") event.respondWith(newest());
});

/** A word about a task. Whoever looks at the page sees it there already. */
self.addEventListener("push", (event) => event.waitUntil(show(event.data?.json() ?? {})));

async function show({ title, body, task, reason }) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.some((page) => page.visibilityState === "visible" && page.focused)) return;
  const waits = reason === "approval" || reason === "question";
  await self.registration.showNotification(title ?? "Throughline", {
    body: body ?? "",
    tag: task ?? "throughline",
    renotify: true,
    requireInteraction: waits,
    icon: "/icon.svg",
    data: { place: task ? `/tasks/${encodeURIComponent(task)}` : "/" },
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(go(event.notification.data?.place ?? "/"));
});

/** In the page that is open, else in a new one. */
async function go(place) {
  const [page] = await self.clients.matchAll({ type: "window" });
  if (!page) return void (await self.clients.openWindow(place));
  await page.focus();
  await page.navigate(place);
}

/** Files whose name holds their digest never change. */
async function kept(request) {
  const cache = await caches.open(SHELL);
  const known = await cache.match(request);
  if (known) return known;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

/** The page itself is the same for every place. */
async function newest() {
  const cache = await caches.open(SHELL);
  try {
    const answer = await fetch("/");
    if (answer.ok) await cache.put("/", answer.clone());
    return answer;
  } catch {
    return (await cache.match("/")) ?? Response.error();
  }
}
