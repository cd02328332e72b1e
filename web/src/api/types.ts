// The wire's types under the names that the page uses. They come from the OpenAPI document; see scripts/types.mjs.
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Problem = Schemas["Problem"];
export type TaskSummary = Schemas["TaskSummary"];
export type Task = Schemas["Task"];
export type Execution = Schemas["Execution"];
export type QueuedInput = Schemas["QueuedInput"];
export type RuntimeSession = Schemas["RuntimeSession"];
export type ActivityWord = Schemas["ActivityWord"];
export type Role = Schemas["Role"];
export type Approval = Schemas["Approval"];
/** What would be made of a message. */
export type Explained = Schemas["Explained"];
export type Reply = Schemas["Reply"];
export type Restored = Schemas["Restored"];
export type Policy = Schemas["Policy"];
export type Rule = Schemas["Rule"];
export type Freed = Schemas["Freed"];
export type Pairing = Schemas["Pairing"];
export type Delivery = Schemas["Delivery"];
export type Notices = Schemas["Notices"];
export type NoticeReason = Schemas["NoticeReason"];
export type QuietHours = Schemas["QuietHours"];
export type ApprovalState = Schemas["ApprovalState"];
export type Entry = Schemas["TimelineEntry"];
export type EntryOf<T extends Entry["type"]> = Extract<Entry, { type: T }>;
export type ContentBlock = Schemas["ContentBlock"];
export type Text = Schemas["Text"];
export type Decision = Schemas["Decision"];
export type ToolCall = EntryOf<"tool_call">;
export type FileChange = Schemas["FileChange"];
export type FileDiff = Schemas["FileDiff"];
export type TurnDiff = Schemas["TurnDiff"];
export type ChangedFile = Schemas["ChangedFile"];
export type PlanEntry = Schemas["PlanEntry"];
export type LiveText = Schemas["LiveText"];
export type Project = Schemas["Project"];
export type Agent = Schemas["Agent"];
export type Login = Schemas["Login"];
export type Override = Schemas["Override"];
