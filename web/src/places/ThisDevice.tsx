// What this device can be for the page: an app of its own, and a place to be told things. Browsers allow both only in a secure
// context; where that is missing, it is said instead of offered.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { client } from "../api/queries";
import { language, useSay } from "../i18n";
import { install, installable } from "../offline";
import { useCell } from "../ui/cell";
import { tell, tellProblem } from "../ui/notice";

export function ThisDevice() {
  const say = useSay();
  return (
    <section>
      <h2>{say("device.title")}</h2>
      {isSecureContext ? (
        <ul className="things">
          <Install />
          <Push />
        </ul>
      ) : (
        <p className="quiet">{say("settings.insecure")}</p>
      )}
    </section>
  );
}

function Install() {
  const say = useSay();
  const asked = useCell(installable);
  const installed = matchMedia("(display-mode: standalone)").matches;
  return (
    <li>
      <strong>{say("device.install")}</strong>
      <span className="quiet">{say(installed ? "device.install.done" : asked ? "device.install.hint" : "device.install.menu")}</span>
      {asked && !installed && (
        <button type="button" onClick={() => void install()}>
          {say("device.install.do")}
        </button>
      )}
    </li>
  );
}

const subscribedQuery = { queryKey: ["push"], queryFn: async () => (await subscription()) !== null, retry: false } as const;

async function subscription(): Promise<PushSubscription | null> {
  const worker = await navigator.serviceWorker.ready;
  return worker.pushManager.getSubscription();
}

function Push() {
  const say = useSay();
  const able = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  const subscribed = useQuery({ ...subscribedQuery, enabled: able }).data ?? false;
  const change = useMutation({
    mutationFn: () => (subscribed ? unsubscribe() : subscribe()),
    onSuccess: (refused) => refused && tell({ text: say("device.push.refused") }),
    onError: tellProblem,
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["push"] });
      void client.invalidateQueries({ queryKey: ["logins"] });
    },
  });
  return (
    <li>
      <strong>{say("device.push")}</strong>
      <span className="quiet">{say(able ? "device.push.hint" : "device.push.unable")}</span>
      {able && (
        <button type="button" aria-pressed={subscribed} disabled={change.isPending} onClick={() => change.mutate()}>
          {say(subscribed ? "device.push.stop" : "device.push.start")}
        </button>
      )}
    </li>
  );
}

/** Whether the person said no to the browser's own question. */
async function subscribe(): Promise<boolean> {
  if ((await Notification.requestPermission()) !== "granted") return true;
  const { key } = await ask(api.GET("/api/v1/push"));
  const worker = await navigator.serviceWorker.ready;
  const made = (await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })).toJSON();
  const { endpoint, keys } = made;
  if (!endpoint || !keys?.p256dh || !keys.auth) return true;
  await ask(api.PUT("/api/v1/login/push", { body: { endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth }, locale: language.get() } }));
  return false;
}

async function unsubscribe(): Promise<boolean> {
  await ask(api.DELETE("/api/v1/login/push"));
  await (await subscription())?.unsubscribe();
  return false;
}
