// Calls to the daemon. Every failure is a ProblemError with the daemon's own code and hint; who is logged out is told once,
// here, and the page shows the way in.
import createClient from "openapi-fetch";
import type { paths } from "./schema";
import type { Problem } from "./types";
import { language } from "../i18n";
import { Cell } from "../ui/cell";

export class ProblemError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

export const api = createClient<paths>({ baseUrl: "", credentials: "same-origin" });

// The daemon renders glances and replies: in the language that the page speaks.
api.use({
  onRequest({ request }) {
    request.headers.set("accept-language", language.get());
    return request;
  },
});

/** Whether the daemon knows this browser. */
export const known = new Cell<"unsure" | "in" | "out">("unsure");

const unreachable: Problem = {
  type: "urn:throughline:error:unreachable",
  title: "Unreachable",
  status: 0,
  code: "unreachable",
  detail: "the daemon does not answer",
  hint: "it may be restarting; the page tries again by itself",
};

type Answered<T> = { data?: T; error?: unknown; response: Response };

/** The answer, or a ProblemError. */
export async function ask<T>(call: Promise<Answered<T>>): Promise<T> {
  let answered: Answered<T>;
  try {
    answered = await call;
  } catch {
    throw new ProblemError(unreachable);
  }
  if (answered.response.status === 401) known.set("out");
  if (answered.response.ok) {
    known.set("in");
    return answered.data as T;
  }
  const problem = answered.error as Partial<Problem> | undefined;
  const { status, statusText } = answered.response;
  throw new ProblemError({ ...unreachable, status, detail: statusText, ...problem });
}

export function problemOf(error: unknown): Problem {
  return error instanceof ProblemError ? error.problem : { ...unreachable, detail: String(error) };
}
