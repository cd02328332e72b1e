// Doing what a choice says.
import { api, ask } from "../api/client";
import { client } from "../api/queries";
import type { Reply } from "../api/types";

type Action = NonNullable<Reply["choices"]>[number]["action"];

/** Does it; the key or id of the task to go to, if there is one. */
export async function act(action: Action): Promise<string | undefined> {
  const path = { params: { path: { key: "task" in action ? (action.task ?? "") : "" } } };
  switch (action.do) {
    case "correct":
      return correct(action.decision, action.task ? { task: action.task } : { new: true });
    case "decide": {
      const { approval, option, digest } = action;
      await ask(api.POST("/api/v1/approvals/{id}/decision", { params: { path: { id: approval } }, body: { option, digest } }));
      break;
    }
    case "make_rule":
      await ask(api.POST("/api/v1/approvals/{id}/rule", { params: { path: { id: action.approval } }, body: {} }));
      break;
    case "answer":
    case "open":
      return action.task;
    case "stop":
      await ask(api.POST("/api/v1/tasks/{key}/cancel", path));
      break;
    case "retry":
      await ask(api.POST("/api/v1/tasks/{key}/retry", path));
      break;
    case "close":
      await ask(api.POST("/api/v1/tasks/{key}/close", path));
      break;
    case "reopen":
      await ask(api.POST("/api/v1/tasks/{key}/reopen", path));
      break;
  }
  void client.invalidateQueries();
  return undefined;
}

/** Moves a message to where it was meant. */
export async function correct(decision: string, to: { task: string } | { new: true }): Promise<string | undefined> {
  const sent = await ask(api.POST("/api/v1/decisions/{id}/correct", { params: { path: { id: decision } }, body: to }));
  void client.invalidateQueries();
  return sent.task?.key;
}
