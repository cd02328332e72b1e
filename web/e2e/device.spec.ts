// A device of one's own: told things while nobody looks, reached at its own address, logged out from another.
import { enter, expect, shot, test } from "./daemon";

test("a pushed word is shown while nobody looks, and opens its task", async ({ page, daemon, context }) => {
  daemon.addProject();
  daemon.say("say hello");
  await context.grantPermissions(["notifications"], { origin: daemon.url });
  await enter(page, daemon);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent("serviceworker"));
  const session = await context.newCDPSession(page);
  const registration = new Promise<string>((known) =>
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && known(registrations[0].registrationId)),
  );
  await session.send("ServiceWorker.enable");
  const registrationId = await registration;
  // Another place: no page of ours is looked at.
  await page.goto("about:blank");
  const data = JSON.stringify({ reason: "approval", task: "shop-1", title: "Say hello", body: "demo is waiting for approval" });
  await session.send("ServiceWorker.deliverPushMessage", { origin: daemon.url, registrationId, data });
  const shown = () =>
    worker.evaluate(async () => {
      const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
      return (await registration.getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, place: data.place }));
    });
  await expect.poll(shown).toEqual([{ title: "Say hello", body: "demo is waiting for approval", tag: "shop-1", place: "/tasks/shop-1" }]);
});

test("settings: this device, the others, and how one of them is logged out", async ({ page, daemon, browser }) => {
  daemon.addProject();
  await enter(page, daemon);
  const other = await (await browser.newContext()).newPage();
  await enter(other, daemon);
  await page.goto(`${daemon.url}/settings`);
  await expect(page.getByRole("heading", { name: "This device" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Notify this device" })).toBeVisible();
  const devices = page.locator("section", { hasText: "Browsers that are logged in" }).locator(".things li");
  await expect(devices).toHaveCount(2);
  await expect(page.locator("section", { hasText: "Where you are recognised" }).locator(".things li")).toContainText("This machine");
  await page.getByRole("button", { name: "What could go?" }).click();
  await expect(page.getByText("Nothing can go now.")).toBeVisible();
  await shot(page, "settings");
  await devices.filter({ hasNotText: "this browser" }).getByRole("button", { name: "Log out" }).click();
  await expect(devices).toHaveCount(1);
  await expect(other.getByText("tl open")).toBeVisible();
  await other.context().close();
});
