// Which agents are here, and which work.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask, problemOf } from "../api/client";
import { agentsQuery } from "../api/queries";
import type { Agent } from "../api/types";
import { useSay } from "../i18n";
import { exact, prose } from "../text/safe";
import { Place } from "./Place";

export function AgentsPage() {
  const say = useSay();
  const agents = useQuery(agentsQuery).data?.agents ?? [];
  const sorted = [...agents].sort((a, b) => Number(Boolean(b.found)) - Number(Boolean(a.found)));
  return (
    <Place title={say("agents.title")}>
      <p className="quiet">{say("agents.hint")}</p>
      <ul className="things">
        {sorted.map((agent) => (
          <AgentLine key={agent.name} agent={agent} />
        ))}
      </ul>
    </Place>
  );
}

function AgentLine({ agent }: { agent: Agent }) {
  const say = useSay();
  const probe = useMutation({ mutationFn: () => ask(api.POST("/api/v1/agents/{name}/probe", { params: { path: { name: agent.name } } })) });
  const problem = probe.error && problemOf(probe.error);
  return (
    <li>
      <strong>{agent.name}</strong>
      <span className={agent.found ? "good" : "quiet"}>{say(agent.found ? "agents.found" : "agents.missing")}</span>
      {agent.found ? (
        <>
          {agent.wants_login && (
            <span className="problem">
              {say("agents.login")} <code>tl agents login {prose(agent.name)}</code>
            </span>
          )}
          {agent.runs_unasked && <span className="tag">{say("task.unasked.what", { what: prose(agent.runs_unasked) })}</span>}
          <span className="path quiet">{exact(agent.found)}</span>
          <button type="button" disabled={probe.isPending} onClick={() => probe.mutate()}>
            {say(probe.isPending ? "agents.checking" : "agents.check")}
          </button>
        </>
      ) : (
        <span className="quiet">
          {say("agents.install")} <code>{prose(agent.install)}</code>
        </span>
      )}
      {probe.data && (
        <span role="status" className="good">
          {say("agents.works", { name: probe.data.name, version: probe.data.version })}
        </span>
      )}
      {problem && (
        <span role="alert" className="problem">
          {prose(problem.detail)} <span className="hint">{prose(problem.hint)}</span>
        </span>
      )}
    </li>
  );
}
