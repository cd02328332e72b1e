// A folder becomes a project.
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask, problemOf } from "../api/client";
import { agentsQuery, client } from "../api/queries";
import { useSay } from "../i18n";

export function AddProject() {
  const say = useSay();
  const [root, setRoot] = useState("");
  const [agent, setAgent] = useState("");
  const agents = useQuery(agentsQuery).data?.agents.filter(({ found }) => found) ?? [];
  const add = useMutation({
    mutationFn: () => ask(api.POST("/api/v1/projects", { body: { root: root.trim(), ...(agent ? { agent } : {}) } })),
    onSuccess: () => {
      setRoot("");
      void client.invalidateQueries({ queryKey: ["projects"] });
    },
  });
  const problem = add.error && problemOf(add.error);
  return (
    <form
      className="form inline"
      onSubmit={(event) => {
        event.preventDefault();
        add.mutate();
      }}
    >
      <label>
        {say("first.path")}
        <input type="text" required value={root} placeholder="/home/me/shop" spellCheck={false} autoCapitalize="none" onChange={(event) => setRoot(event.target.value)} />
      </label>
      <label>
        {say("projects.agent")}
        <select value={agent} onChange={(event) => setAgent(event.target.value)}>
          <option value="">{say("projects.auto")}</option>
          {agents.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <button type="submit" className="primary" disabled={add.isPending}>
        {say("first.add")}
      </button>
      {problem && (
        <p role="alert" className="problem">
          {problem.detail} <span className="hint">{problem.hint}</span>
        </p>
      )}
    </form>
  );
}
