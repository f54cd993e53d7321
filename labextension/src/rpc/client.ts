// Requests to the kernel with exactly one reply each. The transport is a widget's model or a comm.
import type { Working } from "../protocol/messages";

/** The progress of a request; `what` is "" while the kernel has not begun. */
export type Progress = Omit<Working, "type">;

export interface RequestOptions {
  signal?: AbortSignal;
  /**
   * Milliseconds until the request is given up, five times as many once the kernel has begun;
   * without it, never.
   */
  timeout?: number;
  /** Called when the kernel begins the request, and with its progress. */
  onProgress?(progress: Progress): void;
}

/** A request, reply or progress message. */
export interface Message {
  readonly type: string;
  readonly id?: unknown;
}

/** The kernel cannot reply any more. */
export class KernelGone extends Error {}

/** Factor of the timeout once the kernel has begun. */
const BEGUN = 5;

/** A request that has no reply yet. */
export class PendingRequest<Reply> {
  /** Whether the kernel has begun with it. */
  begun = false;
  /** Milliseconds until something of the kernel's arrived on it first; undefined before. */
  delay: number | undefined;
  readonly reply: Promise<Reply>;
  readonly #type: string;
  readonly #options: RequestOptions;
  readonly #settled = new AbortController();
  readonly #start = performance.now();
  #lastReply = this.#start;
  #settle: { resolve(reply: Reply): void; reject(reason: Error): void } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(type: string, options: RequestOptions) {
    this.#type = type;
    this.#options = options;
    this.reply = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#wait(1);
    const abort = () =>
      this.reject(new DOMException(`The request "${type}" was given up.`, "AbortError"));
    options.signal?.addEventListener("abort", abort, { signal: this.settled });
    if (options.signal?.aborted) abort();
  }

  /** Aborted once the request has a reply or has failed. */
  get settled(): AbortSignal {
    return this.#settled.signal;
  }

  /** Milliseconds since something of the kernel's arrived on it, or since it was sent. */
  get silence(): number {
    return performance.now() - this.#lastReply;
  }

  /** The kernel has begun, or reports progress. */
  report(progress: Progress): void {
    this.#hear();
    this.begun = true;
    this.#wait(BEGUN);
    this.#options.onProgress?.(progress);
  }

  resolve(reply: Reply): void {
    this.#hear();
    this.#end();
    this.#settle?.resolve(reply);
  }

  reject(reason: Error): void {
    this.#end();
    this.#settle?.reject(reason);
  }

  #hear(): void {
    this.#lastReply = performance.now();
    this.delay ??= this.#lastReply - this.#start;
  }

  #wait(times: number): void {
    clearTimeout(this.#timer);
    const { timeout } = this.#options;
    if (timeout === undefined) return;
    const late = () => this.reject(new Error(unansweredText(this.#type, timeout)));
    this.#timer = setTimeout(late, times * timeout);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#settled.abort();
  }
}

/** How many requests are looked back on for the latency. */
const RECENT = 8;

/**
 * Gives each request an id, and matches replies to requests. A request may be sent again with the
 * same id, when it or its reply may be lost: the kernel handles it once.
 */
export class RpcClient<Reply> {
  readonly #send: (message: Message & { id: number }) => void;
  readonly #pending = new Map<number, PendingRequest<Reply>>();
  readonly #sent = new WeakMap<PendingRequest<Reply>, Message & { id: number }>();
  readonly #delays: number[] = [];
  #next: number;

  constructor(send: (message: Message & { id: number }) => void, firstId = 1) {
    this.#send = send;
    this.#next = firstId;
  }

  /** The requests that have no reply yet. */
  get pending(): readonly PendingRequest<Reply>[] {
    return [...this.#pending.values()];
  }

  /**
   * Milliseconds that a message takes to the kernel and back, as far as is known: the least of the
   * last requests.
   */
  get latency(): number {
    return this.#delays.length > 0 ? Math.min(...this.#delays) : 0;
  }

  find(id: unknown): PendingRequest<Reply> | undefined {
    return typeof id === "number" ? this.#pending.get(id) : undefined;
  }

  request(message: Message, options: RequestOptions = {}): PendingRequest<Reply> {
    const id = this.#next++;
    const pending = new PendingRequest<Reply>(message.type, options);
    if (pending.settled.aborted) return pending;
    this.#pending.set(id, pending);
    this.#sent.set(pending, { ...message, id });
    pending.settled.addEventListener("abort", () => {
      this.#pending.delete(id);
      if (pending.delay !== undefined) this.#delays.push(pending.delay);
      if (this.#delays.length > RECENT) this.#delays.shift();
    });
    this.repeat(pending);
    return pending;
  }

  /** Send a request, again if it was sent before; nothing if it has its reply. */
  repeat(pending: PendingRequest<Reply>): void {
    const message = this.#sent.get(pending);
    if (!message || pending.settled.aborted) return;
    try {
      this.#send(message);
    } catch (error) {
      pending.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * The request to which a message is the reply; none for progress, which is passed on, and for
   * replies to others.
   */
  receive(message: Message): PendingRequest<Reply> | undefined {
    const pending = this.find(message.id);
    if (!isProgress(message)) return pending;
    pending?.report(message);
    return undefined;
  }

  rejectAll(reason: Error): void {
    for (const pending of this.pending) pending.reject(reason);
  }
}

/** Whether received data is a message: an object with a type. */
export function isMessage(data: unknown): data is Message {
  return (
    typeof data === "object" && data !== null && "type" in data && typeof data.type === "string"
  );
}

function isProgress(message: Message): message is Message & Progress {
  return message.type === "working";
}

function unansweredText(type: string, timeout: number): string {
  return (
    `The kernel has not answered "${type}" for ${Math.round(timeout / 1000)} s: ` +
    "if it was restarted, run the cell again; if it is busy, wait for it."
  );
}
