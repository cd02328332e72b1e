// Where this person is recognised: paired chats, each with the way to end it, and a code for one more.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, ask } from "../api/client";
import { client, identitiesQuery } from "../api/queries";
import type { Pairing } from "../api/types";
import { useSay } from "../i18n";
import { exact } from "../text/safe";
import { tellProblem } from "../ui/notice";
import { channelName } from "./channel";

/** How often there is a look at whether a code was used. */
const LOOK_MS = 2_000;

/** A code that is open, and who was known when it was given out. */
type Open = Pairing & { known: string[] };

export function Identities() {
  const say = useSay();
  // While a code is open somebody may bring it in another place, of which no event tells.
  const [code, setCode] = useState<Open>();
  const { identities = [], channels = [] } = useQuery({ ...identitiesQuery, refetchInterval: code ? LOOK_MS : false }).data ?? {};
  const paired = code !== undefined && identities.some(({ id, channel }) => channel === code.channel && !code.known.includes(id));
  useEffect(() => {
    if (paired) setCode(undefined);
  }, [paired]);
  useEffect(() => {
    if (!code) return;
    const over = setTimeout(() => setCode(undefined), Math.max(0, Date.parse(code.expires_at) - Date.now()));
    return () => clearTimeout(over);
  }, [code]);
  const revoke = useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/api/v1/identities/{id}", { params: { path: { id } } })),
    onError: tellProblem,
    onSettled: () => void client.invalidateQueries({ queryKey: ["identities"] }),
  });
  const pair = useMutation({
    mutationFn: (channel: string) => ask(api.POST("/api/v1/pairings", { body: { channel } })),
    onSuccess: (offered) => setCode({ ...offered, known: identities.map(({ id }) => id) }),
    onError: tellProblem,
  });
  return (
    <section>
      <h2>{say("people.title")}</h2>
      <p className="quiet">{say("people.hint")}</p>
      <ul className="things">
        {identities.map(({ id, channel }) => (
          <li key={id}>
            <strong>{channelName(say, channel)}</strong>
            <span className="quiet path">{exact(id)}</span>
            {channel !== "os" && (
              <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate(id)}>
                {say("people.revoke")}
              </button>
            )}
          </li>
        ))}
      </ul>
      <div className="form-end start">
        {channels.length === 0 && <p className="quiet">{say("people.none")}</p>}
        {channels.map((channel) => (
          <button key={channel} type="button" disabled={pair.isPending} onClick={() => pair.mutate(channel)}>
            {say("people.pair", { channel: channelName(say, channel) })}
          </button>
        ))}
      </div>
      {code && (
        <div role="status">
          <p className="quiet">{say("people.say", { channel: channelName(say, code.channel) })}</p>
          <pre className="code">{code.say}</pre>
          {code.link && (
            <a href={code.link} target="_blank" rel="noreferrer">
              {say("people.open")}
            </a>
          )}
        </div>
      )}
    </section>
  );
}
