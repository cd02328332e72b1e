// The way in: a link's code is behind the # of the address, and never leaves for anywhere but the daemon.
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, ask, known, problemOf } from "../api/client";
import { client } from "../api/queries";
import { useSay } from "../i18n";

export function LoginPage() {
  const say = useSay();
  return (
    <main className="door" id="content">
      <p className="wordmark">Throughline</p>
      <h1>{say("login.title")}</h1>
      <p>{say("login.hint")}</p>
      <pre className="code">tl open</pre>
    </main>
  );
}

export function EnterPage() {
  const say = useSay();
  const navigate = useNavigate();
  const [failed, setFailed] = useState<string>();
  const once = useRef(false);
  useEffect(() => {
    if (once.current) return;
    once.current = true;
    const code = location.hash.slice(1);
    // Out of the address bar and the history before anything else.
    history.replaceState(null, "", "/login");
    void ask(api.POST("/api/v1/login", { body: { code } }))
      .then(async () => {
        known.set("in");
        await client.invalidateQueries();
        await navigate({ to: "/", replace: true });
      })
      .catch((error: unknown) => setFailed(problemOf(error).detail));
  }, [navigate]);
  if (!failed) {
    return (
      <main className="door" id="content">
        <p className="wordmark">Throughline</p>
        <p role="status">{say("login.entering")}</p>
      </main>
    );
  }
  return (
    <main className="door" id="content">
      <p className="wordmark">Throughline</p>
      <h1>{say("login.failed")}</h1>
      <p>{failed}</p>
      <p>{say("login.hint")}</p>
      <pre className="code">tl open</pre>
    </main>
  );
}
