// What the page asks the daemon, by name. Lists are kept fresh by the event stream (live.tsx), not by polling.
import { QueryClient, infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, ask, problemOf } from "./client";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity,
      refetchOnWindowFocus: false,
      networkMode: "always",
      retry: (count, error) => problemOf(error).status === 0 && count < 20,
      retryDelay: (count) => Math.min(250 * 2 ** count, 5_000),
    },
    mutations: { networkMode: "always" },
  },
});

export type Scope = { all: boolean };

export const tasksQuery = ({ all }: Scope) =>
  infiniteQueryOptions({
    queryKey: ["tasks", { all }],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      ask(api.GET("/api/v1/tasks", { params: { query: { all, limit: 100, ...(pageParam ? { after: pageParam } : {}) } }, signal })),
    getNextPageParam: (page) => page.next ?? undefined,
  });

export const taskQuery = (key: string) =>
  queryOptions({
    queryKey: ["task", key],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/tasks/{key}", { params: { path: { key } }, signal })),
  });

export const approvalsQuery = queryOptions({
  queryKey: ["approvals"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/approvals", { params: { query: {} }, signal })),
});

export const projectsQuery = queryOptions({
  queryKey: ["projects"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/projects", { signal })),
});

export const policyQuery = (project: string) =>
  queryOptions({
    queryKey: ["policy", project],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/projects/{project}/policy", { params: { path: { project } }, signal })),
    staleTime: 0,
  });

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/agents", { signal })),
});

export const loginsQuery = queryOptions({
  queryKey: ["logins"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/logins", { signal })),
});

export const identitiesQuery = queryOptions({
  queryKey: ["identities"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/identities", { signal })),
  staleTime: 0,
});

export const noticesQuery = queryOptions({
  queryKey: ["notices"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/notices", { signal })),
  staleTime: 0,
});

/** What was to be said of a task in a chat, and did not arrive for all that is known. */
export const undeliveredQuery = (task: string) =>
  queryOptions({
    queryKey: ["deliveries", task],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/deliveries", { params: { query: { task, undelivered: true, limit: 20 } }, signal })),
    staleTime: 0,
  });

export const versionQuery = queryOptions({
  queryKey: ["version"],
  queryFn: ({ signal }) => ask(api.GET("/api/v1/version", { signal })),
});

export const diffQuery = (key: string, turn: string) =>
  queryOptions({
    queryKey: ["diff", key, turn],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/tasks/{key}/diff", { params: { path: { key }, query: { turn } }, signal })),
  });

/** Of the whole task, or of one execution. */
export const changesQuery = (key: string, execution: string) =>
  queryOptions({
    queryKey: ["changes", key, execution],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/tasks/{key}/changes", { params: { path: { key }, query: execution ? { execution } : {} }, signal })),
    staleTime: 0,
    gcTime: 0,
  });

export const searchQuery = (q: string) =>
  queryOptions({
    queryKey: ["search", q],
    queryFn: ({ signal }) => ask(api.GET("/api/v1/search", { params: { query: { q } }, signal })),
    staleTime: 5_000,
  });

export const explainQuery = (text: string, replyTo: string | undefined, project: string | undefined) =>
  queryOptions({
    queryKey: ["explain", text, replyTo, project],
    queryFn: ({ signal }) =>
      ask(api.POST("/api/v1/route/explain", { body: { text, ...(replyTo ? { reply_to: replyTo } : {}), ...(project ? { project } : {}) }, signal })),
    staleTime: 2_000,
    gcTime: 10_000,
    retry: false,
  });
