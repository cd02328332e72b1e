// What was to be said of this task in a chat and did not arrive there, or may not have: with the reason, until the person has
// read it here.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { undeliveredQuery } from "../api/queries";
import type { Delivery } from "../api/types";
import { keyOr, useSay } from "../i18n";
import { channelName } from "../places/channel";
import { exact, prose } from "../text/safe";
import { Clock } from "../ui/time";
import { markRead, readUntil } from "./seen";

export function Undelivered({ name }: { name: string }) {
  const say = useSay();
  const [read, setRead] = useState(readUntil(name));
  const all = useQuery(undeliveredQuery(name)).data?.deliveries ?? [];
  const missed = all.filter(({ at }) => !read || at > read);
  const newest = missed.reduce((last, { at }) => (at > last ? at : last), "");
  if (missed.length === 0) return null;
  const dismiss = () => {
    markRead(name, newest);
    setRead(newest);
  };
  return (
    <details className="fold head-fold undelivered">
      <summary>{missed.length === 1 ? say("undelivered.one") : say("undelivered", { count: missed.length })}</summary>
      <ul className="things">
        {missed.map((each) => (
          <Missed key={each.id} delivery={each} />
        ))}
      </ul>
      <button type="button" onClick={dismiss}>
        {say("undelivered.dismiss")}
      </button>
    </details>
  );
}

function Missed({ delivery }: { delivery: Delivery }) {
  const say = useSay();
  return (
    <li>
      <strong>{channelName(say, delivery.channel)}</strong>
      {delivery.to && <span className="quiet path">{exact(delivery.to)}</span>}
      <span className="problem">{say(keyOr(`undelivered.state.${delivery.state}`, "undelivered.state.dead"))}</span>
      <span>{say(keyOr(`undelivered.kind.${delivery.kind}`, "undelivered.kind.reply"))}</span>
      {delivery.why && <span className="quiet">{prose(delivery.why.text)}</span>}
      <span className="quiet">
        <Clock at={delivery.at} />
      </span>
    </li>
  );
}
