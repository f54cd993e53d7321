// request(message): Promise<Reply>. One channel per model, so that several views share one set of handlers.
//
// A kernel says on its own when it begins with a message ("busy") and when it is done with it ("idle"), where the front
// end passes that on. Done, and no reply: nobody is there who could, since the kernel was restarted.
import type { Reply, Request, Working } from "./protocol";

/** What the kernel says of a message beside the reply to it, as Jupyter's messages have it. */
interface Callbacks {
  iopub: { status(message: { content: { execution_state: string } }): void };
}

/** The part of anywidget's model that carries messages. */
export interface Wire {
  send(content: unknown, callbacks?: Callbacks, buffers?: ArrayBuffer[]): void;
  on(event: "msg:custom", callback: (message: unknown, buffers: DataView[]) => void): void;
  off(event: "msg:custom", callback: (message: unknown, buffers: DataView[]) => void): void;
}

/** A reply and the numbers that travel beside it; empty when it has none. */
export type Answer = Reply & { buffer: DataView };

/** How far the kernel is; "" is what it does while the request waits for its turn. */
export type Progress = Omit<Working, "type">;

export interface Patience {
  signal?: AbortSignal;
  /** Milliseconds until the request is given up. */
  timeout?: number;
  /** Called when the kernel begins with it, and with how far it is. */
  told?(progress: Progress): void;
}

export interface Channel {
  request(message: Request, patience?: Patience): Promise<Answer>;
  /** Call `listener` when the editor in the kernel is gone, and when it is there again, until what it gives is called. */
  watch?(listener: (gone: boolean) => void): () => unknown;
  close(): void;
}

/** Nobody in the kernel answers any more. */
export class Gone extends Error {}

// A kernel that runs a long cell answers only afterwards, so patience is measured in minutes.
const TIMEOUT = 120_000;
/** Milliseconds that a reply may come behind the word that its request is done with. */
const GRACE = 1000;
/** Milliseconds until somebody looks whether a request has reached the kernel at all. */
const UNHEARD = 10_000;
/** How many times as long is waited for a kernel that has begun. */
const WORKING = 5;
const LOST = "It is not known whether this has reached the kernel: look at the history, and try again.";

/** The compiler refuses a switch that forgets a case; this is what happens to a case from a newer kernel. */
export function assertNever(value: never): never {
  throw new Error(`This page does not understand ${JSON.stringify(value)?.slice(0, 80)}; reload it.`);
}

/** A request that has no reply yet. */
class Pending {
  /** Whether the kernel has begun with it. */
  begun = false;
  readonly answer: Promise<Answer>;
  readonly #patience: Patience;
  readonly #timeout: number;
  readonly #type: string;
  readonly #over = new AbortController();
  #settle: { resolve(answer: Answer): void; reject(reason: Error): void } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(type: string, patience: Patience, over: () => void) {
    this.#type = type;
    this.#patience = patience;
    this.#timeout = patience.timeout ?? TIMEOUT;
    this.answer = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#over.signal.addEventListener("abort", over);
    this.#wait(this.#timeout);
    const abort = () => this.reject(new DOMException(`The request "${type}" was given up.`, "AbortError"));
    patience.signal?.addEventListener("abort", abort, { signal: this.#over.signal });
    if (patience.signal?.aborted) abort();
  }

  /** The kernel has begun with it, or is so far. */
  tell(progress: Progress): void {
    this.begun = true;
    this.#wait(WORKING * this.#timeout);
    this.#patience.told?.(progress);
  }

  resolve(answer: Answer): void {
    this.#end();
    this.#settle?.resolve(answer);
  }

  reject(reason: Error): void {
    this.#end();
    this.#settle?.reject(reason);
  }

  #wait(milliseconds: number): void {
    clearTimeout(this.#timer);
    const late = () => this.reject(new Error(unanswered(this.#type, this.#timeout)));
    this.#timer = setTimeout(late, milliseconds);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#over.abort();
  }
}

export class ModelChannel implements Channel {
  readonly #wire: Wire;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(gone: boolean) => void>();
  #gone = false;
  /** Whether it is being asked if the editor is there: a kernel that is busy is asked once. */
  #asks = false;
  // Every view in every browser hears every reply: ids from a random start keep them apart.
  #next = Math.floor(Math.random() * 2 ** 40);

  constructor(wire: Wire) {
    this.#wire = wire;
    wire.on("msg:custom", this.#receive);
  }

  request(message: Request, patience: Patience = {}): Promise<Answer> {
    const id = this.#next++;
    const look = setInterval(() => waiting.begun || this.#asks || this.check(), UNHEARD);
    const waiting = new Pending(message.type, patience, () => {
      clearInterval(look);
      this.#pending.delete(id);
    });
    if (patience.signal?.aborted) return waiting.answer;
    this.#pending.set(id, waiting);
    this.#send(id, message);
    return waiting.answer;
  }

  /** Whether the editor is there; what was sent before that and has not come to it was lost on the way. */
  async check(): Promise<void> {
    const earlier = [...this.#pending.values()];
    this.#asks = true;
    // One that was lost is asked anew.
    const reply = await this.request({ type: "ping" }, { timeout: 3 * UNHEARD }).catch(() => {});
    this.#asks = false;
    if (!reply) return;
    setTimeout(() => {
      for (const waiting of earlier) if (!waiting.begun) waiting.reject(new Error(LOST));
    }, GRACE);
  }

  watch(listener: (gone: boolean) => void): () => unknown {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#wire.off("msg:custom", this.#receive);
    for (const waiting of this.#pending.values()) waiting.reject(new Error("This view was closed."));
  }

  readonly #receive = (message: unknown, buffers: DataView[]): void => {
    if (!isMessage(message)) return;
    const waiting = this.#pending.get(message.id);
    if (message.type === "working") waiting?.tell(message);
    else if (waiting) {
      this.#find(false);
      waiting.resolve({ ...message, buffer: buffers[0] ?? new DataView(new ArrayBuffer(0)) });
    }
  };

  #send(id: number, message: Request): void {
    const status: Callbacks["iopub"]["status"] = ({ content: { execution_state: state } }) => {
      if (state === "busy") this.#pending.get(id)?.tell({ what: "Working", done: 0, total: 0 });
      if (state === "idle") setTimeout(() => this.#pending.has(id) && this.#find(true), GRACE);
    };
    try {
      // Jupyter reads these; marimo calls them when the message is on its way.
      const callbacks = Object.assign(() => {}, { iopub: { status } });
      this.#wire.send({ id, ...message }, callbacks, []);
    } catch {
      this.#find(true); // the comm was closed together with the kernel
    }
  }

  /** The editor was found to be gone, or there. */
  #find(gone: boolean): void {
    if (gone)
      for (const waiting of this.#pending.values()) waiting.reject(new Gone("The kernel was restarted."));
    if (gone === this.#gone) return;
    this.#gone = gone;
    for (const listener of this.#listeners) listener(gone);
  }
}

export function openChannel(wire: Wire): ModelChannel {
  return new ModelChannel(wire);
}

function isMessage(message: unknown): message is (Reply | Working) & { id: number } {
  return (
    typeof message === "object" &&
    message !== null &&
    "type" in message &&
    typeof Object(message).id === "number"
  );
}

function unanswered(type: string, timeout: number): string {
  return (
    `The kernel has not answered "${type}" for ${Math.round(timeout / 1000)} s: ` +
    "if it was restarted, run the cell again; if it is busy, wait for it."
  );
}
