// One task: its head, its timeline, and what to say next.
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { problemOf } from "../api/client";
import { taskQuery } from "../api/queries";
import { Composer } from "../composer/Composer";
import { useSay } from "../i18n";
import { useCell } from "../ui/cell";
import { OpenTask } from "./open-task";
import { TaskHead } from "./TaskHead";
import { TimelineView } from "./TimelineView";

export function TaskPage() {
  const { key } = useParams({ from: "/tasks/$key" });
  // Another task is another page: nothing of the last one is kept.
  return <OpenTaskPage key={key} name={key} />;
}

function OpenTaskPage({ name }: { name: string }) {
  const say = useSay();
  const { item } = useSearch({ from: "/tasks/$key" });
  const open = useOpenTask(name);
  const { data: task, error } = useQuery(taskQuery(name));
  const [execution, setExecution] = useState<string>();
  useEffect(() => {
    if (task) document.title = `${task.title} · Throughline`;
  }, [task?.title]);
  if (error && problemOf(error).code === "not_found") {
    return (
      <main className="task missing" id="content">
        <p>{say("task.missing")}</p>
        <Link to="/">{say("nav.back")}</Link>
      </main>
    );
  }
  return (
    <main className="task" id="content">
      {task && <TaskHead task={task} execution={execution} setExecution={setExecution} />}
      {task && open ? <Opened open={open} task={task} execution={execution} item={item} /> : <div className="timeline-box" />}
      <Composer name={name} task={task} execution={execution} />
    </main>
  );
}

function Opened(props: React.ComponentProps<typeof TimelineView>) {
  useCell(props.open.past);
  return <TimelineView {...props} />;
}

function useOpenTask(key: string): OpenTask | undefined {
  const [open, setOpen] = useState<OpenTask>();
  useEffect(() => {
    const opened = new OpenTask(key);
    setOpen(opened);
    return () => opened.close();
  }, [key]);
  return open;
}
