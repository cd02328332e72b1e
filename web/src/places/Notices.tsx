// What this person is told unasked, where, and at which hours not; and what happened lately, when they ask. The same as
// `tl notify` and `tl digest`.
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import { api, ask } from "../api/client";
import { client, noticesQuery } from "../api/queries";
import type { NoticeReason, Notices as Told, QuietHours } from "../api/types";
import { useSay } from "../i18n";
import { exact, prose } from "../text/safe";
import { tellProblem } from "../ui/notice";
import { Clock } from "../ui/time";
import { browserName } from "./browser";
import { channelName } from "./channel";

const REASONS: NoticeReason[] = ["approval", "question", "completed", "failed"];
const ZONES = Intl.supportedValuesOf("timeZone");

/** What a change answers is how it is now. */
const keep = (now: Told) => client.setQueryData(noticesQuery.queryKey, now);

export function Notices() {
  const say = useSay();
  const told = useQuery(noticesQuery).data;
  return (
    <section className="told">
      <h2>{say("notices.title")}</h2>
      <p className="quiet">{say("notices.hint")}</p>
      {told && (
        <>
          <Places told={told} />
          <Main told={told} />
          <Quiet key={JSON.stringify(told.quiet)} told={told} />
        </>
      )}
      <Digest />
    </section>
  );
}

type Place = { id: string; kind: "chats" | "browsers"; name: string; note: string; reasons: NoticeReason[] };

/** Chats, groups, and browsers that are told by push: for which reasons each is told. */
function Places({ told }: { told: Told }) {
  const say = useSay();
  const change = useMutation({
    mutationFn: ({ id, kind, reasons }: Place) =>
      ask(
        kind === "chats"
          ? api.PUT("/api/v1/notices/chats/{conversation}", { params: { path: { conversation: id } }, body: { reasons } })
          : api.PUT("/api/v1/notices/browsers/{login}", { params: { path: { login: id } }, body: { reasons } }),
      ),
    onSuccess: keep,
    onError: tellProblem,
  });
  const held = (count: number) => (count > 0 ? say("notices.held", { count }) : "");
  const places: Place[] = [
    ...told.chats.map(({ conversation, identity, channel, group, reasons, held: count }) => {
      const name = channelName(say, channel);
      return { id: conversation, kind: "chats" as const, name: group ? say("notices.group", { channel: name }) : name, note: [identity, held(count)].filter(Boolean).join(" · "), reasons };
    }),
    ...(told.browsers ?? []).map(({ login, browser, current, reasons }) => ({ id: login, kind: "browsers" as const, name: browserName(browser), note: current ? say("settings.this") : "", reasons })),
  ];
  if (places.length === 0) return <p>{say("notices.nowhere")}</p>;
  const toggled = (place: Place, reason: NoticeReason) => REASONS.filter((each) => (each === reason) !== place.reasons.includes(each));
  return (
    <table className="allowances">
      <thead>
        <tr>
          <td />
          {REASONS.map((reason) => (
            <th key={reason} scope="col">
              {say(`notices.reason.${reason}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {places.map((place) => (
          <tr key={place.id}>
            <th scope="row">
              <strong>{place.name}</strong> <span className="quiet path">{exact(place.note)}</span>
            </th>
            {REASONS.map((reason) => (
              <td key={reason}>
                <input
                  type="checkbox"
                  aria-label={`${place.name} ${place.note}: ${say(`notices.reason.${reason}`)}`}
                  checked={place.reasons.includes(reason)}
                  disabled={change.isPending}
                  onChange={() => change.mutate({ ...place, reasons: toggled(place, reason) })}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Where they hear of what they do elsewhere. */
function Main({ told }: { told: Told }) {
  const say = useSay();
  const own = told.chats.filter(({ group }) => !group);
  const choose = useMutation({
    mutationFn: (conversation: string) => ask(api.PUT("/api/v1/notices/main", { body: conversation ? { conversation } : {} })),
    onSuccess: keep,
    onError: tellProblem,
  });
  if (own.length === 0) return null;
  return (
    <div className="form">
      <label>
        {say("notices.main")}
        <select value={told.main ?? ""} disabled={choose.isPending} onChange={(event) => choose.mutate(event.target.value)}>
          <option value="">{say("notices.main.last")}</option>
          {own.map(({ conversation, identity, channel }) => (
            <option key={conversation} value={conversation}>
              {channelName(say, channel)} {exact(identity)}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Quiet({ told }: { told: Told }) {
  const say = useSay();
  const zones = useId();
  const [hours, setHours] = useState<QuietHours>(
    told.quiet ?? { from: "22:00", until: "07:00", zone: Intl.DateTimeFormat().resolvedOptions().timeZone, except: [] },
  );
  const except = hours.except ?? [];
  const change = useMutation({
    mutationFn: (wanted: QuietHours | undefined) => ask(wanted ? api.PUT("/api/v1/notices/quiet", { body: wanted }) : api.DELETE("/api/v1/notices/quiet")),
    onSuccess: keep,
    onError: tellProblem,
  });
  return (
    <form
      className="form quiet-hours"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate(hours);
      }}
    >
      <h3>{say("notices.quiet")}</h3>
      <p className="quiet" role="status">
        {!told.quiet && say("notices.quiet.never")}
        {told.quiet && !told.quiet_until && say("notices.quiet.at", { from: told.quiet.from, until: told.quiet.until, zone: told.quiet.zone ?? "" })}
        {told.quiet_until && (
          <>
            {say("notices.quiet.now")} <Clock at={told.quiet_until} />
          </>
        )}
      </p>
      <div className="spans">
        <label>
          {say("notices.quiet.from")}
          <input type="time" required value={hours.from} onChange={(event) => setHours({ ...hours, from: event.target.value })} />
        </label>
        <label>
          {say("notices.quiet.until")}
          <input type="time" required value={hours.until} onChange={(event) => setHours({ ...hours, until: event.target.value })} />
        </label>
        <label>
          {say("notices.quiet.zone")}
          <input type="text" list={zones} required value={hours.zone ?? ""} onChange={(event) => setHours({ ...hours, zone: event.target.value })} />
        </label>
        <datalist id={zones}>
          {ZONES.map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
      <fieldset className="spans">
        <legend>{say("notices.quiet.except")}</legend>
        {REASONS.map((reason) => (
          <label key={reason} className="check">
            <input
              type="checkbox"
              checked={except.includes(reason)}
              onChange={() => setHours({ ...hours, except: REASONS.filter((each) => (each === reason) !== except.includes(each)) })}
            />
            {say(`notices.reason.${reason}`)}
          </label>
        ))}
      </fieldset>
      <div className="form-end start">
        <button type="submit" disabled={change.isPending}>
          {say(told.quiet ? "notices.quiet.change" : "notices.quiet.keep")}
        </button>
        {told.quiet && (
          <button type="button" disabled={change.isPending} onClick={() => change.mutate(undefined)}>
            {say("notices.quiet.end")}
          </button>
        )}
      </div>
    </form>
  );
}

function Digest() {
  const say = useSay();
  const look = useMutation({ mutationFn: () => ask(api.GET("/api/v1/digest", { params: { query: {} } })), onError: tellProblem });
  return (
    <div>
      <div className="form-end start">
        <button type="button" disabled={look.isPending} onClick={() => look.mutate()}>
          {say("notices.digest")}
        </button>
      </div>
      {look.data && (
        <div role="status" className="digest">
          {look.data.text.split("\n").map((line, nth) => (
            <Line key={nth} line={line} tasks={look.data.tasks} />
          ))}
        </div>
      )}
    </div>
  );
}

/** What is between stars is set off; a task that a line begins with leads to it. */
function Line({ line, tasks }: { line: string; tasks: string[] }) {
  const key = tasks.find((key) => line.startsWith(`${key} `));
  const [, title, rest] = /^ ?\*([^*]+)\*(.*)$/.exec(line.slice(key?.length ?? 0)) ?? [];
  return (
    <p>
      {key && (
        <Link to="/tasks/$key" params={{ key }}>
          {key}
        </Link>
      )}{" "}
      {title === undefined ? prose(line.slice(key?.length ?? 0)) : <strong>{prose(title)}</strong>}
      {rest && prose(rest)}
    </p>
  );
}
