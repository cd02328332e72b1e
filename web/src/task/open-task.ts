// One open task: its newest page, its earlier pages as they are asked for, and its own feed from there on.
import { api, ask } from "../api/client";
import { Feed, type Link } from "../api/feed";
import { client } from "../api/queries";
import { Cell } from "../ui/cell";
import { Timeline } from "./timeline";

const FIRST_PAGE = 60;
const PAGE = 200;
const REFRESH_MS = 150;

export class OpenTask {
  readonly key: string;
  readonly timeline = new Timeline();
  readonly link = new Cell<Link>("connecting");
  /** `more`: there is something earlier. */
  readonly past = new Cell<"opening" | "more" | "loading" | "complete">("opening");
  readonly problem = new Cell<unknown>(undefined);
  #before: string | undefined;
  #feed: Feed | undefined;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(key: string) {
    this.key = key;
    void this.#open();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#feed?.close();
  }

  async earlier(): Promise<void> {
    if (this.past.get() !== "more") return;
    this.past.set("loading");
    try {
      const page = await this.#page(PAGE, this.#before);
      this.#before = page.before ?? undefined;
      this.timeline.prepend(page.entries);
      this.past.set(this.#before ? "more" : "complete");
    } catch {
      this.past.set("more");
    }
  }

  #page(limit: number, before: string | undefined) {
    const query = before ? { limit, before } : { limit };
    return ask(api.GET("/api/v1/tasks/{key}/timeline", { params: { path: { key: this.key }, query } }));
  }

  async #open(): Promise<void> {
    try {
      const page = await client.fetchQuery({ queryKey: ["newest", this.key], queryFn: () => this.#page(FIRST_PAGE, undefined), gcTime: 0, staleTime: 0 });
      if (this.#closed) return;
      this.#before = page.before ?? undefined;
      this.timeline.append(page.entries);
      this.past.set(this.#before ? "more" : "complete");
      this.#follow(page.after ?? undefined);
    } catch (error) {
      this.problem.set(error);
    }
  }

  #follow(after: string | undefined): void {
    const feed = new Feed({
      task: this.key,
      ...(after ? { after } : {}),
      onFrames: (frames) => {
        const entries = [];
        for (const frame of frames) {
          if (frame.event === "entry") entries.push(frame.entry);
          if (frame.event === "live") {
            // In order: what was recorded before this piece comes first.
            if (entries.length) this.timeline.append(entries.splice(0));
            this.timeline.write(frame.live);
          }
        }
        if (entries.length) this.timeline.append(entries);
        if (frames.some((frame) => frame.event !== "live")) this.#refresh();
      },
      // Whoever shows this task makes a new one of these.
      onExpired: () => void client.invalidateQueries(),
    });
    this.#feed = feed;
    feed.link.watch(() => this.link.set(feed.link.get()));
  }

  #refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void client.invalidateQueries({ queryKey: ["task", this.key] });
    }, REFRESH_MS);
  }
}
