// The page's places. The inbox and the task come with the first load; the rest when somebody goes there.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { App } from "./App";
import { HomePage } from "./places/HomePage";
import { EnterPage } from "./places/LoginPage";
import { TaskPage } from "./task/TaskPage";

const root = createRootRoute({ component: App, notFoundComponent: HomePage });
const home = createRoute({ getParentRoute: () => root, path: "/", component: HomePage });
const login = createRoute({ getParentRoute: () => root, path: "/login", component: EnterPage });
const task = createRoute({
  getParentRoute: () => root,
  path: "/tasks/$key",
  component: TaskPage,
  validateSearch: (search: Record<string, unknown>): { item?: string } => (typeof search.item === "string" ? { item: search.item } : {}),
});
const projects = createRoute({
  getParentRoute: () => root,
  path: "/projects",
  component: lazyRouteComponent(() => import("./places/ProjectsPage"), "ProjectsPage"),
});
const agents = createRoute({
  getParentRoute: () => root,
  path: "/agents",
  component: lazyRouteComponent(() => import("./places/AgentsPage"), "AgentsPage"),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("./places/SettingsPage"), "SettingsPage"),
});

export const router = createRouter({ routeTree: root.addChildren([home, login, task, projects, agents, settings]) });

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
