// Nothing is open: what waits, and a place to say what is next. Without a project, the way to the first one.
import { useQuery } from "@tanstack/react-query";
import { projectsQuery } from "../api/queries";
import { Composer } from "../composer/Composer";
import { useTasks } from "../inbox/Inbox";
import { groupOf } from "../inbox/groups";
import { useSay } from "../i18n";
import { AddProject } from "./AddProject";

export function HomePage() {
  const say = useSay();
  const projects = useQuery(projectsQuery).data?.projects;
  const { tasks, isPending } = useTasks();
  const needs = tasks.filter((task) => groupOf(task) === "needs").length;
  if (projects?.length === 0) {
    return (
      <main className="home-page" id="content">
        <div className="welcome">
          <h1>{say("first.title")}</h1>
          <p className="quiet">{say("first.hint")}</p>
          <AddProject />
          <p className="quiet">{say("first.try")}</p>
        </div>
      </main>
    );
  }
  return (
    <main className="home-page" id="content">
      <div className="welcome">
        <h1>{isPending ? " " : needs === 0 ? say("inbox.calm") : needs === 1 ? say("inbox.needs.one") : say("inbox.needs", { count: needs })}</h1>
        <p className="quiet">{say("inbox.pick")}</p>
      </div>
      <Composer />
    </main>
  );
}
