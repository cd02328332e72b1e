// The timeline on screen: only the rows in sight are there. It stays at the newest row while somebody reads there, and holds
// still while somebody reads further up, whatever is added above or below.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { Task } from "../api/types";
import { useSay } from "../i18n";
import { useCell } from "../ui/cell";
import type { OpenTask } from "./open-task";
import { RowView } from "./RowView";
import type { Row } from "./timeline";
import { markSeen, seenUntil } from "./seen";

/** This close to the end counts as reading the newest row: less than a finger moves, so that nobody is held there. */
const AT_END_PX = 10;
/** This close to the beginning of what is loaded, more is asked for. */
const NEAR_START_PX = 1_500;

type Props = { open: OpenTask; task: Task; execution: string | undefined; item: string | undefined };

export function TimelineView({ open, task, execution, item }: Props) {
  const say = useSay();
  const { timeline } = open;
  const version = useSyncExternalStore(timeline.watch, timeline.version);
  const rows = useMemo(
    () => (execution ? timeline.rows.filter((row) => !row.execution || row.execution === execution) : timeline.rows),
    [timeline, execution, version],
  );
  const past = useCell(open.past);
  const scroller = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const unread = useUnread(task.id, rows, past !== "opening");

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    getItemKey: useCallback((index: number) => rows[index]?.id ?? index, [rows]),
    estimateSize: useCallback((index: number) => estimate(rows[index]), [rows]),
    overscan: 6,
    paddingStart: 48,
    paddingEnd: 24,
    // What is read stays where it is, whatever comes above it; the end stays the end.
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: AT_END_PX,
  });

  const toEnd = useCallback(() => virtual.scrollToEnd(), [virtual]);
  useStartAtEnd(rows.length > 0, execution, toEnd);
  useEndKept(scroller, atEnd, toEnd);
  const toItem = useCallback(
    (id: string) => {
      const index = rows.findIndex((row) => row.id === id);
      if (index < 0) return false;
      virtual.scrollToIndex(index, { align: "start" });
      return true;
    },
    [rows, virtual],
  );
  useDeepLink(item, toItem, open, version);

  const onScroll = () => {
    const element = scroller.current;
    if (!element) return;
    setAtEnd(element.scrollHeight - element.scrollTop - element.clientHeight <= AT_END_PX);
    if (element.scrollTop < NEAR_START_PX) void open.earlier();
  };
  // A first page that does not fill the screen cannot be scrolled for more.
  useEffect(() => {
    const element = scroller.current;
    if (element && past === "more" && element.scrollHeight < element.clientHeight + NEAR_START_PX) void open.earlier();
  }, [past, version, open]);
  useEffect(() => {
    if (atEnd && rows.length) markSeen(task.id, rows.at(-1)?.at ?? "");
  }, [atEnd, rows, task.id]);

  return (
    <div className="timeline-box">
      <div className="timeline" ref={scroller} onScroll={onScroll} role="log" aria-label={task.title} aria-live="off" tabIndex={0}>
        <div className="rows" style={{ height: virtual.getTotalSize() }}>
          <p className="edge quiet">{past === "complete" ? say("task.beginning") : past === "more" ? "" : say("task.earlier")}</p>
          {virtual.getVirtualItems().map(({ index, key, start }) => {
            const row = rows[index];
            return (
              row && (
                <div key={key} ref={virtual.measureElement} data-index={index} className="slot" style={{ transform: `translateY(${start}px)` }}>
                  {row.id === unread.first && <p className="unread">{say("task.new")}</p>}
                  <RowView row={row} task={task} timeline={timeline} linked={row.id === item} />
                </div>
              )
            );
          })}
        </div>
      </div>
      <div className="jumps">
        {unread.first && unread.above(rows, virtual.range?.startIndex ?? 0) && (
          <button type="button" onClick={() => toItem(unread.first ?? "")}>
            ↑ {say("task.jump.new")}
          </button>
        )}
        {!atEnd && (
          <button type="button" onClick={toEnd}>
            ↓ {say("task.jump.end")}
          </button>
        )}
      </div>
    </div>
  );
}

/** A task, and each lane of it, is opened at its newest row. */
function useStartAtEnd(filled: boolean, lane: string | undefined, toEnd: () => void) {
  useLayoutEffect(() => {
    if (filled) toEnd();
  }, [filled, lane, toEnd]);
}

/** Whoever reads the newest row still does after the box changed its height, as when the composer grows. */
function useEndKept(scroller: React.RefObject<HTMLDivElement | null>, atEnd: boolean, toEnd: () => void) {
  useEffect(() => {
    const element = scroller.current;
    if (!element || !atEnd) return;
    const observer = new ResizeObserver(toEnd);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, atEnd, toEnd]);
}

/** Goes to the item that the address names, asking for earlier pages until it is there. */
function useDeepLink(item: string | undefined, toItem: (id: string) => boolean, open: OpenTask, version: number) {
  const reached = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (!item || reached.current === item) return;
    if (toItem(item)) reached.current = item;
    else void open.earlier();
  }, [item, toItem, open, version]);
}

/** Where somebody left off the last time they were at the end of this task. */
function useUnread(task: string, rows: Row[], opened: boolean) {
  const [seen] = useState(() => seenUntil(task));
  const first = useMemo(() => {
    if (!opened || !seen) return undefined;
    const at = rows.findIndex((row) => row.at > seen);
    // All of it is new, or none: there is nothing to mark.
    return at > 0 ? rows[at]?.id : undefined;
  }, [rows, opened, seen]);
  const above = (rows: Row[], start: number) => {
    const index = rows.findIndex((row) => row.id === first);
    return index >= 0 && index < start;
  };
  return { first, above };
}

function estimate(row: Row | undefined): number {
  switch (row?.entry?.type) {
    case "message":
      return 44 + Math.ceil(Math.min(row.entry.text.length, 4_000) / 90) * 23;
    case "user_message":
      return 90;
    case "tool_call":
      return 44;
    case "approval":
      return 180;
    case "plan":
      return 40 + row.entry.entries.length * 26;
    default:
      return 36;
  }
}
