// What the daemon finds in messages for what was typed into the search.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { searchQuery } from "../api/queries";
import { useSay } from "../i18n";
import { prose } from "../text/safe";
import { Age } from "../ui/time";

const PAUSE_MS = 180;

export function Found({ text }: { text: string }) {
  const say = useSay();
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { data } = useQuery({ ...searchQuery(asked), enabled: asked !== "" });
  // What was found for other words is not shown for these.
  if (asked !== text || !data?.messages.length) return null;
  return (
    <section className="group found" aria-labelledby="found">
      <h2 id="found">{say("inbox.in_messages")}</h2>
      <ul>
        {data.messages.map((hit) => (
          <li key={hit.cursor}>
            <Link to="/tasks/$key" params={{ key: hit.task.key }} search={{ item: hit.item ?? `input:${hit.input}` }} className="row">
              <span className="mark resting" aria-hidden="true" />
              <span className="row-title" dir="auto">
                {prose(hit.title)}
              </span>
              <span className="row-age">
                <Age at={hit.at} />
              </span>
              <span className="row-glance" dir="auto">
                {prose(hit.excerpt)}
              </span>
              <span className="row-who key">{hit.task.key}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
