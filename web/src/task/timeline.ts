// A task's timeline as the page holds it: rows in order, each thing once, whatever order pages, events and live text come in.
//
// Invariants: an item has one row, where it was first recorded, with its newest content; what is only being written stands
// after everything that is recorded, because its place is not known before (live text may be quicker than what was said
// earlier); text that is being written never makes another row change; adding older pages never moves a newer row's identity.
import type { Approval, ChangedFile, Entry, EntryOf, LiveText } from "../api/types";

export type Row = {
  /** Stable: an item's id, an approval's, else the entry's place. */
  id: string;
  at: string;
  entry: Entry | undefined;
  /** Whose it is, as far as that is known. */
  execution: string | undefined;
  /** Text that is being written, until the entry has it. */
  live: Live | undefined;
  /** How the approval ended. */
  settled: EntryOf<"approval_settled"> | undefined;
  withdrawn: boolean;
};

export type Live = { kind: LiveText["kind"]; text: string; bytes: number; turn: string | undefined };

/** Bookkeeping that a person has no use for; what matters of it is told elsewhere. */
const HIDDEN = new Set<Entry["type"]>([
  "task_keyed",
  "conversation_joined",
  "turn_requested",
  "turn_cleared",
  "turn_started",
  "runtime_session_opened",
  "runtime_session_changed",
  "checkpoint_taken",
  "approval_settled",
  "input_withdrawn",
  "execution_added",
  "handoff_prepared",
  "changed",
  "unknown",
]);

const encoder = new TextEncoder();

export class Timeline {
  /** In the order of the record. */
  #recorded: Row[] = [];
  /** What is being written and not recorded yet, in the order in which it began. */
  #written: Row[] = [];
  /** What each turn changed, by name. */
  readonly changed = new Map<string, ChangedFile[]>();
  readonly executionOfTurn = new Map<string, string>();
  #byId = new Map<string, Row>();
  #settled = new Map<string, EntryOf<"approval_settled">>();
  #withdrawn = new Set<string>();
  #version = 0;
  #versions = new Map<string, number>();
  #watchers = new Set<() => void>();
  #rowWatchers = new Map<string, Set<() => void>>();

  get rows(): Row[] {
    return this.#recorded.concat(this.#written);
  }

  /** Changes whenever a row came, went or moved; not when one changed. */
  version = (): number => this.#version;

  watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  rowVersion(id: string): number {
    return this.#versions.get(id) ?? 0;
  }

  watchRow(id: string, watcher: () => void): () => void {
    const watchers = this.#rowWatchers.get(id) ?? new Set();
    this.#rowWatchers.set(id, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0) this.#rowWatchers.delete(id);
    };
  }

  /** Takes in what came after everything that is here. */
  append(entries: Entry[]): void {
    this.#take(entries, (rows) => this.#recorded.push(...rows));
  }

  /** Takes in an older page. */
  prepend(entries: Entry[]): void {
    this.#take(entries, (rows) => {
      this.#recorded = rows.concat(this.#recorded);
    });
  }

  /** Takes in a piece of text that is being written. */
  write(piece: LiveText): void {
    let row = this.#byId.get(piece.item);
    const bytes = encoder.encode(piece.text).length;
    if (!row) {
      // Its beginning was missed; the finished item will have all of it.
      if (piece.at !== 0) return;
      const turn = piece.turn ?? undefined;
      row = fresh(piece.item, new Date().toISOString(), undefined, turn && this.executionOfTurn.get(turn));
      row.live = { kind: piece.kind, text: piece.text, bytes, turn };
      this.#byId.set(row.id, row);
      this.#written.push(row);
      this.#tell();
      return;
    }
    if (row.entry && isWhole(row.entry)) return;
    const live = row.live;
    if (piece.at === 0) row.live = { kind: piece.kind, text: piece.text, bytes, turn: piece.turn ?? undefined };
    else if (live && piece.at === live.bytes) row.live = { ...live, text: live.text + piece.text, bytes: live.bytes + bytes };
    else return;
    this.#tellRow(row.id);
  }

  #take(entries: Entry[], place: (rows: Row[]) => void): void {
    const rows: Row[] = [];
    const written = this.#written.length;
    for (const entry of entries) {
      this.#note(entry);
      if (HIDDEN.has(entry.type)) continue;
      const row = this.#row(entry, rows);
      if (row) rows.push(row);
    }
    if (rows.length === 0 && written === this.#written.length) return;
    place(rows);
    this.#tell();
  }

  /** What an entry says about other rows. */
  #note(entry: Entry): void {
    if (entry.type === "turn_requested") this.executionOfTurn.set(entry.turn, entry.execution);
    if (entry.type === "checkpoint_taken" && entry.side === "after" && entry.changed?.length) {
      this.changed.set(entry.turn, entry.changed);
      this.#tellRow(`turn:${entry.turn}`);
    }
    if (entry.type === "approval_settled") {
      this.#settled.set(entry.approval, entry);
      this.#change(`approval:${entry.approval}`, (row) => (row.settled = entry));
    }
    if (entry.type === "input_withdrawn") {
      this.#withdrawn.add(entry.input);
      this.#change(`input:${entry.input}`, (row) => (row.withdrawn = true));
    }
    // What a turn wrote and did not record died with it.
    if (entry.type === "turn_ended") for (const row of this.#written) if (row.live?.turn === entry.turn) this.#lift(row);
  }

  /** Takes a row away from what is being written. */
  #lift(row: Row): void {
    this.#written = this.#written.filter((other) => other !== row);
    this.#byId.delete(row.id);
  }

  /** The row that has its place with this entry; none if it went into one that has a place. */
  #row(entry: Entry, page: Row[]): Row | undefined {
    const id = idOf(entry);
    const there = this.#byId.get(id);
    if (there) {
      const first = there.entry === undefined;
      if (first) this.#lift(there);
      this.#byId.set(id, there);
      this.#change(id, (row) => {
        row.entry = entry;
        row.execution ??= this.#executionOf(entry);
        if (isWhole(entry)) row.live = undefined;
      });
      return first ? there : undefined;
    }
    if (entry.type === "plan") {
      // A plan that is worked through changes often: one row for all of that, until somebody speaks.
      const last = (page.length ? page : this.#recorded).findLast((row) => row.entry?.type === "plan" || row.entry?.type === "user_message");
      if (last?.entry?.type === "plan") {
        this.#byId.set(id, last);
        last.entry = entry;
        this.#tellRow(last.id);
        return undefined;
      }
    }
    const row = fresh(id, entry.at, entry, this.#executionOf(entry));
    if (entry.type === "approval") row.settled = this.#settled.get((entry.approval as Approval).id);
    if (entry.type === "user_message") row.withdrawn = this.#withdrawn.has(entry.input);
    this.#byId.set(id, row);
    return row;
  }

  #executionOf(entry: Entry): string | undefined {
    if ("execution" in entry) return entry.execution;
    if (entry.type === "approval") return (entry.approval as Approval).execution;
    if ("turn" in entry && entry.turn) return this.executionOfTurn.get(entry.turn);
    return undefined;
  }

  #change(id: string, change: (row: Row) => void): void {
    const row = this.#byId.get(id);
    if (!row) return;
    change(row);
    this.#tellRow(id);
  }

  #tell(): void {
    this.#version++;
    for (const watcher of this.#watchers) watcher();
  }

  #tellRow(id: string): void {
    this.#versions.set(id, (this.#versions.get(id) ?? 0) + 1);
    for (const watcher of this.#rowWatchers.get(id) ?? []) watcher();
  }
}

function fresh(id: string, at: string, entry: Entry | undefined, execution: string | undefined): Row {
  return { id, at, entry, execution, live: undefined, settled: undefined, withdrawn: false };
}

/** Whether nothing more is written of it; a tool's output may still grow after its entry. */
function isWhole(entry: Entry): boolean {
  return !(entry.type === "tool_call" && entry.status === "in_progress");
}

function idOf(entry: Entry): string {
  if ("item" in entry) return entry.item;
  if (entry.type === "approval") return `approval:${(entry.approval as Approval).id}`;
  if (entry.type === "user_message") return `input:${entry.input}`;
  if (entry.type === "turn_ended") return `turn:${entry.turn}`;
  return entry.cursor;
}
