// Where this person is recognised: paired chats, each with the way to end it, and a code for one more.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { client, identitiesQuery } from "../api/queries";
import { keyOr, useSay } from "../i18n";
import { exact } from "../text/safe";
import { tellProblem } from "../ui/notice";

const CHANNELS = ["telegram", "feishu"] as const;

export function Identities() {
  const say = useSay();
  const identities = useQuery(identitiesQuery).data?.identities ?? [];
  const revoke = useMutation({
    mutationFn: (id: string) => ask(api.DELETE("/api/v1/identities/{id}", { params: { path: { id } } })),
    onError: tellProblem,
    onSettled: () => void client.invalidateQueries({ queryKey: ["identities"] }),
  });
  const pair = useMutation({
    mutationFn: (channel: string) => ask(api.POST("/api/v1/pairings", { body: { channel } })),
    onError: tellProblem,
  });
  return (
    <section>
      <h2>{say("people.title")}</h2>
      <p className="quiet">{say("people.hint")}</p>
      <ul className="things">
        {identities.map(({ id, channel }) => (
          <li key={id}>
            <strong>{say(keyOr(`people.channel.${channel}`, "people.channel.other"))}</strong>
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
        {CHANNELS.map((channel) => (
          <button key={channel} type="button" disabled={pair.isPending} onClick={() => pair.mutate(channel)}>
            {say("people.pair", { channel: say(`people.channel.${channel}`) })}
          </button>
        ))}
      </div>
      {pair.data && (
        <div role="status">
          <p className="quiet">{say("people.say", { channel: say(keyOr(`people.channel.${pair.data.channel}`, "people.channel.other")) })}</p>
          <pre className="code">{pair.data.say}</pre>
          {pair.data.link && (
            <a href={pair.data.link} target="_blank" rel="noreferrer">
              {say("people.open")}
            </a>
          )}
        </div>
      )}
    </section>
  );
}
