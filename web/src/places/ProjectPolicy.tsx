// What a project allows without asking: what each role may do, and rules about commands. All else is asked about.
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, ask } from "../api/client";
import { client, policyQuery } from "../api/queries";
import type { Policy, Role, Rule } from "../api/types";
import { useSay } from "../i18n";
import { exact } from "../text/safe";
import { tellProblem } from "../ui/notice";
import { Clock } from "../ui/time";

const ROLES: Role[] = ["editor", "reviewer", "tester", "researcher"];
const ALLOWED = ["reads", "edits"] as const;
type Allowed = (typeof ALLOWED)[number];

export function ProjectPolicy({ project }: { project: string }) {
  const say = useSay();
  const { data: policy } = useQuery(policyQuery(project));
  if (!policy) return <p className="quiet">{say("entry.more.loading")}</p>;
  return (
    <div className="policy">
      <p className="quiet">{say("policy.hint")}</p>
      <Allowances project={project} policy={policy} />
      <h3>{say("policy.rules")}</h3>
      {policy.rules.length === 0 && <p className="quiet">{say("policy.rules.none")}</p>}
      <ul className="things">
        {policy.rules.map((rule) => (
          <RuleLine key={rule.number} project={project} rule={rule} />
        ))}
      </ul>
    </div>
  );
}

const again = (project: string) => () => void client.invalidateQueries({ queryKey: ["policy", project] });

function Allowances({ project, policy }: { project: string; policy: Policy }) {
  const say = useSay();
  const has = (role: Role, what: Allowed) => policy.allowances.some((each) => each.role === role && each.what === what);
  const change = useMutation({
    mutationFn: ({ role, what }: { role: Role; what: Allowed }) => {
      const allow = ALLOWED.filter((each) => (each === what ? !has(role, each) : has(role, each)));
      return ask(api.PUT("/api/v1/projects/{project}/policy", { params: { path: { project } }, body: { role, allow } }));
    },
    onError: tellProblem,
    onSettled: again(project),
  });
  return (
    <table className="allowances">
      <thead>
        <tr>
          <th scope="col">{say("policy.role")}</th>
          {ALLOWED.map((what) => (
            <th key={what} scope="col">
              {say(`policy.${what}`)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {ROLES.map((role) => (
          <tr key={role}>
            <th scope="row">{say(`role.${role}`)}</th>
            {ALLOWED.map((what) => (
              <td key={what}>
                <input
                  type="checkbox"
                  aria-label={`${say(`role.${role}`)}: ${say(`policy.${what}`)}`}
                  checked={has(role, what)}
                  disabled={change.isPending}
                  onChange={() => change.mutate({ role, what })}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RuleLine({ project, rule }: { project: string; rule: Rule }) {
  const say = useSay();
  const revoke = useMutation({
    mutationFn: () => ask(api.DELETE("/api/v1/projects/{project}/rules/{number}", { params: { path: { project, number: rule.number } } })),
    onError: tellProblem,
    onSettled: again(project),
  });
  return (
    <li>
      <span className="quiet">{rule.number}</span>
      <span className={rule.verdict === "allow" ? "good" : "problem"}>{say(`policy.verdict.${rule.verdict}`)}</span>
      <code>{exact(rule.words)}</code>
      {rule.role && <span className="quiet">{say(`role.${rule.role}`)}</span>}
      <span className="quiet">{rule.uses === 1 ? say("policy.uses.one") : say("policy.uses", { count: rule.uses })}</span>
      {rule.expires_at && (
        <span className="quiet">
          {say("policy.until")} <Clock at={rule.expires_at} />
        </span>
      )}
      <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
        {say("policy.revoke")}
      </button>
    </li>
  );
}
