// Requests to the kernel with exactly one reply each. The transport is a widget's model or a comm.
import type { Working } from "../protocol/messages";

/** The progress of a request; `what` is "" while the kernel has not begun. */
export type Progress = Omit<Working, "type">;

export interface RequestOptions {
  signal?: AbortSignal;
  /** Milliseconds until the request is given up, five times as many once the kernel has begun; without it, never. */
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
  readonly reply: Promise<Reply>;
  readonly #type: string;
  readonly #options: RequestOptions;
  readonly #settled = new AbortController();
  #settle: { resolve(reply: Reply): void; reject(reason: Error): void } | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(type: string, options: RequestOptions) {
    this.#type = type;
    this.#options = options;
    this.reply = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#wait(1);
    const abort = () => this.reject(new DOMException(`The request "${type}" was given up.`, "AbortError"));
    options.signal?.addEventListener("abort", abort, { signal: this.settled });
    if (options.signal?.aborted) abort();
  }

  /** Aborted once the request has a reply or has failed. */
  get settled(): AbortSignal {
    return this.#settled.signal;
  }

  /** The kernel has begun, or reports progress. */
  report(progress: Progress): void {
    this.begun = true;
    this.#wait(BEGUN);
    this.#options.onProgress?.(progress);
  }

  resolve(reply: Reply): void {
    this.#end();
    this.#settle?.resolve(reply);
  }

  reject(reason: Error): void {
    this.#end();
    this.#settle?.reject(reason);
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

/** Gives each request an id, and matches replies to requests. */
export class RpcClient<Reply> {
  readonly #send: (message: Message & { id: number }) => void;
  readonly #pending = new Map<number, PendingRequest<Reply>>();
  #next: number;

  constructor(send: (message: Message & { id: number }) => void, firstId = 1) {
    this.#send = send;
    this.#next = firstId;
  }

  /** The requests that have no reply yet. */
  get pending(): readonly PendingRequest<Reply>[] {
    return [...this.#pending.values()];
  }

  find(id: unknown): PendingRequest<Reply> | undefined {
    return typeof id === "number" ? this.#pending.get(id) : undefined;
  }

  request(message: Message, options: RequestOptions = {}): PendingRequest<Reply> {
    const id = this.#next++;
    const pending = new PendingRequest<Reply>(message.type, options);
    if (pending.settled.aborted) return pending;
    this.#pending.set(id, pending);
    pending.settled.addEventListener("abort", () => this.#pending.delete(id));
    try {
      this.#send({ ...message, id });
    } catch (error) {
      pending.reject(error instanceof Error ? error : new Error(String(error)));
    }
    return pending;
  }

  /** The request to which a message is the reply; none for progress, which is passed on, and for replies to others. */
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
  return typeof data === "object" && data !== null && "type" in data && typeof data.type === "string";
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
