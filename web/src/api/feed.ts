// One connection to the event stream that mends itself: on any loss it comes back with its cursor, so that every durable
// event arrives once, in order. Frames are handed on once per drawn frame, however many came.
import { known } from "./client";
import { parseFrame, type Frame } from "./frames";
import { Cell } from "../ui/cell";

/** Longer than two beats of the daemon without a word: the connection is dead. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** Hidden pages draw nothing; they still take in what comes. */
const HIDDEN_FLUSH_MS = 500;

export type Link = "connecting" | "live" | "lost";

export type FeedOptions = {
  /** Only this task, with the text that is being written. */
  task?: string;
  /** Everything after it; from now on if left out. */
  after?: string;
  onFrames: (frames: Frame[]) => void;
  /** The cursor is of no use any more: take a new snapshot. */
  onExpired: () => void;
};

export class Feed {
  readonly link = new Cell<Link>("connecting");
  #options: FeedOptions;
  #cursor: string | undefined;
  #socket: WebSocket | undefined;
  #pause = FIRST_PAUSE_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watchdog: ReturnType<typeof setTimeout> | undefined;
  #waiting: Frame[] = [];
  #flushing = false;
  #closed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#cursor = options.after;
    addEventListener("online", this.#now);
    document.addEventListener("visibilitychange", this.#now);
    this.#connect();
  }

  close(): void {
    this.#closed = true;
    removeEventListener("online", this.#now);
    document.removeEventListener("visibilitychange", this.#now);
    clearTimeout(this.#timer);
    clearTimeout(this.#watchdog);
    this.#socket?.close();
  }

  /** Whoever looks at the page again does not wait for the end of a pause. */
  #now = (): void => {
    if (this.#closed || document.hidden || this.link.get() !== "lost") return;
    clearTimeout(this.#timer);
    this.#pause = FIRST_PAUSE_MS;
    this.#connect();
  };

  #connect(): void {
    if (this.#closed) return;
    const query = new URLSearchParams();
    if (this.#options.task) query.set("task", this.#options.task);
    else query.set("live", "false");
    if (this.#cursor) query.set("after", this.#cursor);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const old = this.#socket;
    const socket = new WebSocket(`${scheme}://${location.host}/api/v1/events/ws?${query}`);
    this.#socket = socket;
    old?.close();
    socket.onmessage = (message) => {
      if (socket === this.#socket) this.#hear(String(message.data));
    };
    socket.onclose = () => {
      if (socket === this.#socket) void this.#lose();
    };
    this.#listen();
  }

  #listen(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#socket?.close(), SILENCE_MS);
  }

  #hear(message: string): void {
    this.#listen();
    const frame = parseFrame(message);
    if (!frame) return;
    if (frame.event === "problem") {
      if (frame.problem.code === "cursor_expired") {
        this.#cursor = undefined;
        this.#options.onExpired();
      }
      return;
    }
    if (frame.event !== "live") this.#cursor = frame.cursor;
    this.#pause = FIRST_PAUSE_MS;
    this.link.set("live");
    this.#waiting.push(frame);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    const flush = () => {
      this.#flushing = false;
      const frames = this.#waiting;
      this.#waiting = [];
      if (!this.#closed) this.#options.onFrames(frames);
    };
    if (document.hidden) setTimeout(flush, HIDDEN_FLUSH_MS);
    else requestAnimationFrame(flush);
  }

  async #lose(): Promise<void> {
    if (this.#closed) return;
    clearTimeout(this.#watchdog);
    this.link.set("lost");
    // A page does not see why a handshake failed; an ordinary request tells a logged-out browser from a gone daemon.
    const answer = await fetch("/api/v1/version").catch(() => undefined);
    if (answer?.status === 401) {
      known.set("out");
      return;
    }
    if (this.#closed || this.link.get() !== "lost") return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
  }
}
