// The page's own feed: it hears of everything that happens, without live text, and asks again for what it shows.
import { Feed, type Link } from "./feed";
import { client } from "./queries";
import { Cell } from "../ui/cell";

/** Lists are asked for again at most so often. */
const REFRESH_MS = 200;

export const link = new Cell<Link>("connecting");

let timer: ReturnType<typeof setTimeout> | undefined;
let stale = new Set<string>();

function refresh(...names: string[]): void {
  for (const name of names) stale.add(name);
  timer ??= setTimeout(() => {
    timer = undefined;
    const names = stale;
    stale = new Set();
    for (const name of names) void client.invalidateQueries({ queryKey: [name] });
  }, REFRESH_MS);
}

export function startLive(): () => void {
  const feed = new Feed({
    onFrames: (frames) => {
      for (const frame of frames) {
        // What was asked for before the stream stood may have missed something.
        if (frame.event === "ready") refresh("tasks", "approvals");
        if (frame.event !== "entry") continue;
        refresh("tasks");
        const { entry } = frame;
        if (entry.type === "approval" || entry.type === "approval_settled") refresh("approvals");
        if (entry.type === "changed" && entry.what === "project") refresh("projects");
        if (entry.type === "changed" && entry.event === "delivery_settled") refresh("deliveries");
        if (entry.type === "changed" && entry.what === "person") refresh("notices");
      }
    },
    onExpired: () => void client.invalidateQueries(),
  });
  const follow = () => link.set(feed.link.get());
  follow();
  const unwatch = feed.link.watch(follow);
  return () => {
    unwatch();
    feed.close();
  };
}
