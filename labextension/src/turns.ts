// Turns: requests that change something go one after another, so that each starts from the state the last one left.
import { type Answer, type Channel, Gone, type Progress } from "./channel";
import type { Request, State } from "./protocol";
import type { Arrival } from "./render/arrival";
import { Replies, type Show } from "./replies";
import type { Store } from "./store";

/** What becomes of an answer, or of there being none. */
interface Handlers {
  accept(answer: Answer): void;
  fail(error: unknown): void;
}

/** Milliseconds until it is said what the kernel does; and until it is said that it has not even begun. */
const SLOW = 300;
const BUSY = 1000;

export class Turns {
  readonly #store: Store;
  readonly #channel: Channel;
  readonly #replies: Replies;
  readonly #closed = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #inspecting = new AbortController();

  /** `reopen` asks for the whole drawing. */
  constructor(store: Store, channel: Channel, stage: Show, reopen: () => void) {
    this.#store = store;
    this.#channel = channel;
    this.#replies = new Replies(store, stage, reopen);
  }

  /** No answer is waited for any more. */
  close(): void {
    this.#closed.abort();
    this.#inspecting.abort();
  }

  /** Send what `request` says once all earlier ones are answered; nothing when it says null. */
  take(request: () => Request | null, arrival: Arrival = {}): Promise<void> {
    this.#last = this.#last.then(async () => {
      const message = this.#closed.signal.aborted ? null : request();
      if (!message) return;
      const { scene, state } = this.#store.value;
      await this.ask(message, this.#closed.signal, arrival);
      // Whoever reveals an op looks at that one next; a run has values to show of what is looked at.
      const drawn = this.#store.value.scene !== scene && message.type !== "reveal";
      if (drawn) this.#store.set({ picked: renamed(this.#store.value.picked, message, state) });
      if (drawn || message.type === "probe") void this.#lookAgain();
    });
    return this.#last;
  }

  ask(message: Request, signal: AbortSignal, arrival: Arrival = {}): Promise<void> {
    return this.#send(message, signal, {
      // A view opens again by itself, to catch up.
      accept: (answer) => this.#replies.accept(answer, arrival, message.type !== "open"),
      fail: (error) => this.#store.set({ status: { kind: "error", text: textOf(error) } }),
    });
  }

  /** An answer for whoever asks, beside all turns; null once the view is closed. */
  async question(message: Request, signal = this.#closed.signal): Promise<Answer | null> {
    if (this.#closed.signal.aborted) return null;
    return this.#channel.request(message, { signal }).catch((error) => {
      if (error instanceof Gone) return null;
      throw error;
    });
  }

  /** More of what is looked at; null when there is none, which is nothing to complain of, or nobody waits any more. */
  async further(message: Request, signal: AbortSignal): Promise<Answer | null> {
    try {
      const answer = await this.#channel.request(message, { signal });
      return signal.aborted ? null : answer;
    } catch {
      return null;
    }
  }

  accept(answer: Answer): void {
    this.#replies.accept(answer, {});
  }

  /** Nobody waits for what was inspected last; the signal for the next. */
  lookElsewhere(): AbortSignal {
    this.#inspecting.abort();
    this.#inspecting = new AbortController();
    return this.#inspecting.signal;
  }

  /** What the inspector shows may have changed, or be gone, which is nothing to complain of. */
  async #lookAgain(): Promise<void> {
    const signal = this.lookElsewhere();
    const { picked, picking } = this.#store.value;
    if (picked === "" || picking) return;
    const gone = () => this.#store.set({ picked: "", details: null });
    await this.#send({ type: "inspect", name: picked }, signal, {
      accept: (answer) => (answer.type === "inspected" ? this.#replies.accept(answer, {}) : gone()),
      fail: gone,
    });
  }

  async #send(message: Request, signal: AbortSignal, { accept, fail }: Handlers): Promise<void> {
    this.#store.set({ pending: this.#store.value.pending + 1 });
    const heard = this.#listen();
    try {
      accept(await this.#channel.request(message, { signal, told: heard.told }));
    } catch (error) {
      // Given up for a newer question: nobody waits for this answer. That the kernel is gone is said in one place.
      if (!signal.aborted && !(error instanceof Gone)) fail(error);
    } finally {
      heard.end();
      const pending = this.#store.value.pending - 1;
      this.#store.set(pending > 0 ? { pending } : { pending, working: null });
    }
  }

  /** Show how far a request is, once that takes long enough to be worth a word. */
  #listen(): { told(progress: Progress): void; end(): void } {
    let latest: Progress | null = null;
    let late = false;
    const show = () => late && latest && this.#store.set({ working: latest });
    const told = (progress: Progress) => {
      latest = progress;
      show();
    };
    const timers = [
      setTimeout(() => {
        late = true;
        show();
      }, SLOW),
      setTimeout(() => latest ?? told({ what: "", done: 0, total: 0 }), BUSY),
    ];
    return { told, end: () => timers.forEach(clearTimeout) };
  }
}

/** What the op or scope of a key is called after an edit, or after one that was taken back or done again. */
export function renamed(
  key: string,
  message: Request,
  state: Pick<State, "undo" | "redo"> | null = null,
): string {
  const [old, now] = namesIn(message, state).map((name) => name.replace(/\/$/, ""));
  if (!old || !now || (key !== old && !key.startsWith(`${old}/`))) return key;
  return `${now}${key.slice(old.length)}`;
}

/** The old name and the new one, of a rename; none of other requests. */
function namesIn(message: Request, state: Pick<State, "undo" | "redo"> | null): string[] {
  if (message.type === "undo") return namesOf(state?.undo).reverse();
  if (message.type === "redo") return namesOf(state?.redo);
  if (message.type !== "change" || message.verb !== "rename") return [];
  const text = message.values[message.keys.indexOf("new")] ?? "";
  return [message.what[0] ?? "", text.replace(/^"|"$/g, "")];
}

function namesOf(line = ""): string[] {
  return /^editor\.rename\(\w+="([^"]+)", \w+="([^"]+)"/.exec(line)?.slice(1) ?? [];
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
