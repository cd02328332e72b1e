// How the page looks and speaks, and which browsers are let in.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { client, loginsQuery, versionQuery } from "../api/queries";
import { chooseLanguage, language, useSay, type Language } from "../i18n";
import { useCell } from "../ui/cell";
import { tellProblem } from "../ui/notice";
import { chooseTheme, theme, THEMES, type Theme } from "../ui/theme";
import { Clock } from "../ui/time";
import { browserName } from "./browser";
import { Identities } from "./Identities";
import { Notices } from "./Notices";
import { Place } from "./Place";
import { Retention } from "./Retention";
import { ThisDevice } from "./ThisDevice";

export function SettingsPage() {
  const say = useSay();
  const version = useQuery(versionQuery).data;
  return (
    <Place title={say("settings.title")}>
      <div className="form">
        <label>
          {say("settings.language")}
          <select value={useCell(language)} onChange={(event) => speak(event.target.value as Language)}>
            <option value="en">English</option>
            <option value="zh">中文</option>
          </select>
        </label>
        <label>
          {say("settings.theme")}
          <select value={useCell(theme)} onChange={(event) => chooseTheme(event.target.value as Theme)}>
            {THEMES.map((name) => (
              <option key={name} value={name}>
                {say(`settings.theme.${name}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ThisDevice />
      <Devices />
      <Identities />
      <Notices />
      <Retention />
      {version && (
        <p className="quiet">
          {say("settings.daemon")} {version.version} · {version.home}
        </p>
      )}
    </Place>
  );
}

/** The daemon speaks it too: in glances, in replies, in other places that this person reads. */
function speak(chosen: Language): void {
  chooseLanguage(chosen);
  void ask(api.PUT("/api/v1/me", { body: { locale: chosen } }))
    .catch(tellProblem)
    .finally(() => void client.invalidateQueries());
}

function Devices() {
  const say = useSay();
  const elsewhere = Boolean(useQuery(versionQuery).data?.public_url);
  const logins = useQuery(loginsQuery).data?.logins ?? [];
  const again = () => void client.invalidateQueries({ queryKey: ["logins"] });
  const revoke = useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/api/v1/logins/{id}", { params: { path: { id } } })),
    onSettled: again,
    onError: tellProblem,
  });
  const link = useMutation({ mutationFn: (place: "here" | "elsewhere") => ask(api.POST("/api/v1/login-links", { params: { query: { place } } })), onError: tellProblem });
  return (
    <section>
      <h2>{say("settings.devices")}</h2>
      <ul className="things">
        {logins.map((login) => (
          <li key={login.id}>
            <strong>{browserName(login.browser)}</strong>
            {login.current && <span className="good">{say("settings.this")}</span>}
            {login.push && <span className="quiet">{say("settings.told")}</span>}
            <span className="quiet">
              <Clock at={login.since} />
            </span>
            <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate(login.id)}>
              {say("settings.revoke")}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => link.mutate(elsewhere ? "elsewhere" : "here")}>
        {say("settings.new_device")}
      </button>
      {link.data && (
        <>
          <p className="quiet">{say("settings.new_device.hint")}</p>
          <pre className="code">{link.data.url}</pre>
        </>
      )}
    </section>
  );
}
