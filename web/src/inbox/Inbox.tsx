// The inbox: every task as a glance, grouped by what it needs, driven by keys or fingers.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { approvalsQuery, projectsQuery, tasksQuery } from "../api/queries";
import type { TaskSummary } from "../api/types";
import { ApprovalDialog } from "../approvals/ApprovalDialog";
import { say as sayNow, useSay, type Key } from "../i18n";
import { prose } from "../text/safe";
import { useKeys } from "../ui/keys";
import { Mark } from "../ui/Mark";
import { Age } from "../ui/time";
import { Found } from "./Found";
import { GROUPS, NO_FILTER, grouped, type Filter } from "./groups";

export function useTasks(all = false) {
  const query = useInfiniteQuery(tasksQuery({ all }));
  const tasks = useMemo(() => query.data?.pages.flatMap((page) => page.tasks) ?? [], [query.data]);
  return { ...query, tasks };
}

export function Inbox() {
  const say = useSay();
  const [filter, setFilter] = useState<Filter>(NO_FILTER);
  const [all, setAll] = useState(false);
  const { tasks, hasNextPage, fetchNextPage, isPending } = useTasks(all);
  const deferred = useDeferredValue(filter);
  const groups = useMemo(() => grouped(tasks, deferred), [tasks, deferred]);
  const search = useRef<HTMLInputElement>(null);
  const { current, approving, stopApproving } = useInboxKeys(groups.flatMap(([, tasks]) => tasks), search);
  useTitle(tasks);
  const filtered = filter.text || filter.project || filter.agent || filter.group;
  return (
    <section className="inbox" aria-label={say("nav.inbox")}>
      <div className="inbox-head">
        <input
          ref={search}
          type="search"
          className="search"
          value={filter.text}
          placeholder={say("inbox.search")}
          aria-label={say("inbox.search")}
          onChange={(event) => setFilter({ ...filter, text: event.target.value })}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              setFilter({ ...filter, text: "" });
              search.current?.blur();
            }
          }}
        />
        <Filters tasks={tasks} filter={filter} setFilter={setFilter} all={all} setAll={setAll} />
      </div>
      {/* Tasks in groups; each row is one link. */}
      {groups.map(([group, tasks]) => (
        <section key={group} className={`group ${group}`} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>
            {say(`group.${group}`)} <span className="count">{tasks.length}</span>
          </h2>
          <ul>
            {tasks.map((task) => (
              <TaskRow key={task.id} task={task} current={task.key === current} />
            ))}
          </ul>
        </section>
      ))}
      {!isPending && groups.length === 0 && (
        <p className="empty quiet">{say(filtered ? "inbox.empty.filtered" : "inbox.empty")}</p>
      )}
      {hasNextPage && !filtered && (
        <button type="button" className="plain more" onClick={() => void fetchNextPage()}>
          {say("inbox.more")}
        </button>
      )}
      {deferred.text.trim() && <Found text={deferred.text.trim()} />}
      {approving && <ApprovalDialog approval={approving} onClose={stopApproving} />}
    </section>
  );
}

/** j and k walk, Enter opens, a looks at the approval, / searches. The row that is walked to has the focus. */
function useInboxKeys(tasks: TaskSummary[], search: React.RefObject<HTMLInputElement | null>) {
  const navigate = useNavigate();
  const { key: open } = useParams({ strict: false });
  const [walked, setWalked] = useState<string>();
  const [asked, setAsked] = useState<string>();
  const approvals = useQuery(approvalsQuery).data?.approvals ?? [];
  const current = walked ?? open;
  const step = (by: number) => {
    if (tasks.length === 0) return;
    const at = tasks.findIndex((task) => task.key === current);
    const next = tasks[at < 0 ? (by > 0 ? 0 : tasks.length - 1) : Math.min(Math.max(at + by, 0), tasks.length - 1)];
    if (!next) return;
    setWalked(next.key);
    document.getElementById(`row-${next.key}`)?.focus();
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Enter: () => current && void navigate({ to: "/tasks/$key", params: { key: current } }),
    "/": () => search.current?.focus(),
    a: () => {
      const waiting = approvals.find((approval) => approval.task.key === current) ?? approvals[0];
      setAsked(waiting?.id);
    },
  });
  const approving = approvals.find((approval) => approval.id === asked);
  return { current, approving, stopApproving: () => setAsked(undefined) };
}

/** The tab says how many wait. */
function useTitle(tasks: TaskSummary[]) {
  const count = tasks.filter((task) => task.lifecycle === "open" && /^(waiting|blocked|failed)/.test(task.activity.word)).length;
  useEffect(() => {
    const base = document.title.replace(/^\(\d+\) /, "");
    document.title = count ? `(${count}) ${base}` : base;
  }, [count]);
}

const TaskRow = memo(function TaskRow({ task, current }: { task: TaskSummary; current: boolean }) {
  const closed = task.lifecycle !== "open";
  const state = closed ? sayNow(`lifecycle.${task.lifecycle}` as Key) : sayNow(`activity.${task.activity.word}`);
  return (
    <li>
      <Link
        to="/tasks/$key"
        params={{ key: task.key }}
        id={`row-${task.key}`}
        className={current ? "row current" : "row"}
        aria-current={current ? "true" : undefined}
      >
        <Mark word={task.activity.word} closed={closed} />
        <span className="visually-hidden">{state}: </span>
        <span className="row-title" dir="auto">
          {prose(task.title)}
        </span>
        <span className="row-age">
          <Age at={task.updated_at} />
        </span>
        <span className="row-glance" dir="auto">
          {prose(task.glance)}
        </span>
        <span className="row-who">
          {task.workers.map(({ agent, role }, index) => (
            <span key={index}>
              {agent} {sayNow(`role.${role}`)} ·{" "}
            </span>
          ))}
          {task.project.name} · <span className="key">{task.key}</span>
        </span>
      </Link>
    </li>
  );
});

type FiltersProps = {
  tasks: TaskSummary[];
  filter: Filter;
  setFilter: (filter: Filter) => void;
  all: boolean;
  setAll: (all: boolean) => void;
};

function Filters({ tasks, filter, setFilter, all, setAll }: FiltersProps) {
  const say = useSay();
  const projects = useQuery(projectsQuery).data?.projects ?? [];
  const agents = [...new Set(tasks.flatMap((task) => task.workers.map(({ agent }) => agent)))].sort();
  const choice = (name: "project" | "agent" | "group", label: Key, options: [string, string][]) => (
    <label className={filter[name] ? "filter set" : "filter"}>
      <span className="visually-hidden">{say(label)}</span>
      <select value={filter[name]} onChange={(event) => setFilter({ ...filter, [name]: event.target.value })}>
        <option value="">{say(label)}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div className="filters">
      {choice("project", "inbox.filter.project", projects.map(({ name }) => [name, name]))}
      {choice("agent", "inbox.filter.agent", agents.map((name) => [name, name]))}
      {choice("group", "inbox.filter.state", GROUPS.map((group) => [group, say(`group.${group}`)]))}
      <label className={all ? "filter set check" : "filter check"}>
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
        {say("inbox.filter.closed")}
      </label>
    </div>
  );
}
