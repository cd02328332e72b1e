// All projects, and a new one.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { projectsQuery } from "../api/queries";
import { useSay } from "../i18n";
import { exact } from "../text/safe";
import { AddProject } from "./AddProject";
import { Place } from "./Place";
import { ProjectPolicy } from "./ProjectPolicy";

export function ProjectsPage() {
  const say = useSay();
  const projects = useQuery(projectsQuery).data?.projects;
  return (
    <Place title={say("projects.title")}>
      {projects?.length === 0 && <p className="quiet">{say("projects.none")}</p>}
      <ul className="things">
        {projects?.map((project) => (
          <li key={project.id}>
            <strong>{project.name}</strong>
            <span className="path quiet">{exact(project.root)}</span>
            <span className="quiet">{project.agent}</span>
            <Rules project={project.name} />
          </li>
        ))}
      </ul>
      <AddProject />
    </Place>
  );
}

function Rules({ project }: { project: string }) {
  const say = useSay();
  const [open, setOpen] = useState(false);
  return (
    <details className="fold rules" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say("policy.title")}</summary>
      {open && <ProjectPolicy project={project} />}
    </details>
  );
}
