// Sends requests that change something one after another, so that each starts from the state after
// the previous one.
import type { EditReport, Request } from "../protocol/messages";
import { NO_SIZE, type Viewport } from "../render/camera/camera";
import type { Arrival } from "../render/camera/destination";
import { KernelGone, type Progress } from "../rpc/client";
import type { AddressedRequest, Answer, Channel } from "../rpc/model-channel";
import { ReplyHandler, type SceneTarget } from "./reply-handler";
import type { Store } from "./store";

/** What to do with a reply, or with an error. */
interface Handlers {
  accept(answer: Answer): void;
  fail(error: unknown): void;
}

/** An edit, as an action requests it; the queue adds what is inspected when it is sent. */
export type EditBody = Request extends infer R
  ? R extends { inspected: string }
    ? Omit<R, "inspected">
    : never
  : never;

/**
 * Milliseconds until the progress is shown; and until it is shown that the kernel has not begun.
 */
const SLOW = 300;
const BUSY = 1000;

export class RequestQueue {
  readonly #store: Store;
  readonly #channel: Channel;
  readonly #replies: ReplyHandler;
  readonly #closed = new AbortController();
  /** The canvas whose shape the drawing has; each request names it. */
  pane: Viewport = NO_SIZE;
  #last: Promise<unknown> = Promise.resolve();
  #inspecting = new AbortController();

  /** `reopen` requests the whole drawing. */
  constructor(store: Store, channel: Channel, stage: SceneTarget, reopen: () => void) {
    this.#store = store;
    this.#channel = channel;
    this.#replies = new ReplyHandler(store, stage, reopen);
  }

  /** Milliseconds that a message takes to the kernel and back, as far as is known. */
  get latency(): number {
    return this.#channel.latency ?? 0;
  }

  /** Abort all pending requests. */
  close(): void {
    this.#closed.abort();
    this.#inspecting.abort();
  }

  /**
   * Send the message that `request` returns, after the replies to all earlier ones; nothing if it
   * returns null.
   */
  async enqueue(request: () => AddressedRequest | null, arrival: Arrival = {}): Promise<void> {
    await this.reply(request, arrival);
  }

  /** Like `enqueue`; resolves to the reply, or to null if there is none. */
  reply(request: () => AddressedRequest | null, arrival: Arrival = {}): Promise<Answer | null> {
    const reply = this.#last.then(async () => {
      const message = this.#closed.signal.aborted ? null : request();
      if (!message) return null;
      const { scene } = this.#store.value;
      const answer = await this.send(message, this.#closed.signal, arrival);
      // "reveal" inspects its own op next; after a run the inspected op has new values, which the
      // caller shows.
      const drawn = this.#store.value.scene !== scene && message.type !== "reveal";
      if (message.type === "probe") await this.#refreshInspector();
      else if (
        (drawn && !this.#isInspected(answer)) ||
        message.type === "measure" ||
        message.type === "trust" ||
        message.type === "restore"
      )
        void this.#refreshInspector();
      return answer;
    });
    this.#last = reply;
    return reply;
  }

  /**
   * Send an edit in the same order; resolves to what it has done, or to null if it was not made.
   */
  async edit(request: () => EditBody | null): Promise<EditReport | null> {
    const answer = await this.reply(() => {
      const body = request();
      return (
        body && { ...body, inspected: this.#store.value.picking ? "" : this.#store.value.picked }
      );
    });
    return answer?.type === "scene_reply" ? answer.edited : null;
  }

  /** Send a request at once; resolves to the reply, or to null if there is none, which is shown. */
  async send(
    message: AddressedRequest,
    signal: AbortSignal,
    arrival: Arrival = {},
  ): Promise<Answer | null> {
    let reply: Answer | null = null;
    await this.#request(message, signal, {
      accept: (answer) => {
        reply = answer;
        // "open" may be sent without a user action, to catch up.
        this.#replies.handle(answer, arrival, message.type !== "open");
      },
      fail: (error) => this.#store.set({ status: { kind: "error", text: textOf(error) } }),
    });
    return reply;
  }

  /** Whether a reply describes what is inspected; if not, it is requested. */
  #isInspected(answer: Answer | null): boolean {
    const edited = answer?.type === "scene_reply" ? answer.edited : null;
    return edited?.inspected != null && edited.inspected.name === this.#store.value.picked;
  }

  /**
   * Request outside the queue, and return the reply; null if the view is closed, also while it is
   * waited for.
   */
  async query(message: Request, signal = this.#closed.signal): Promise<Answer | null> {
    if (this.#closed.signal.aborted) return null;
    return this.#channel.request(this.#addressed(message), { signal }).catch((error) => {
      if (error instanceof KernelGone || this.#closed.signal.aborted) return null;
      throw error;
    });
  }

  /** Like `query`, with the progress and a failure shown; the caller handles the reply. */
  async run(message: Request): Promise<Answer | null> {
    let reply: Answer | null = null;
    await this.#request(message, this.#closed.signal, {
      accept: (answer) => {
        reply = answer;
      },
      fail: (error) => this.#store.set({ status: { kind: "error", text: textOf(error) } }),
    });
    return reply;
  }

  /** The reply of a type to a `query` or `run`; null if refused, which is shown. */
  async ask<T extends Answer["type"]>(
    type: T,
    request: Request,
    way: "query" | "run" = "query",
  ): Promise<Extract<Answer, { type: T }> | null> {
    const answer = await this[way](request);
    if (answer?.type === type) return answer as Extract<Answer, { type: T }>;
    if (answer) this.accept(answer);
    return null;
  }

  /** Like `query`, but null also if the request fails or is aborted: optional details. */
  async queryOrNull(message: Request, signal: AbortSignal): Promise<Answer | null> {
    try {
      const answer = await this.#channel.request(this.#addressed(message), { signal });
      return signal.aborted ? null : answer;
    } catch {
      return null;
    }
  }

  accept(answer: Answer): void {
    this.#replies.handle(answer, {});
  }

  /** Abort the last inspection; returns the signal for the next. */
  abortInspection(): AbortSignal {
    this.#inspecting.abort();
    this.#inspecting = new AbortController();
    return this.#inspecting.signal;
  }

  /**
   * Inspect the current item again: it may have changed, or been removed, which is not an error.
   */
  async #refreshInspector(): Promise<void> {
    const signal = this.abortInspection();
    const { picked, picking } = this.#store.value;
    if (picked === "" || picking) return;
    const gone = () => this.#store.set({ picked: "", details: null });
    await this.#request({ type: "inspect", name: picked }, signal, {
      accept: (answer) =>
        answer.type === "inspect_reply" ? this.#replies.handle(answer, {}) : gone(),
      fail: gone,
    });
  }

  async #request(
    message: AddressedRequest,
    signal: AbortSignal,
    { accept, fail }: Handlers,
  ): Promise<void> {
    this.#store.set({ pending: this.#store.value.pending + 1 });
    const progress = this.#trackProgress();
    try {
      accept(
        await this.#channel.request(this.#addressed(message), {
          signal,
          onProgress: progress.report,
        }),
      );
    } catch (error) {
      // Aborted for a newer request: ignore it. That the kernel is gone is shown in one place.
      if (!signal.aborted && !(error instanceof KernelGone)) fail(error);
    } finally {
      progress.end();
      const pending = this.#store.value.pending - 1;
      this.#store.set(pending > 0 ? { pending } : { pending, working: null });
    }
  }

  #addressed(message: AddressedRequest): AddressedRequest {
    const { width, height } = this.pane;
    return width >= 1 && height >= 1 ? { ...message, pane: [width, height] } : message;
  }

  /** Show the progress of a request that takes long. */
  #trackProgress(): { report(progress: Progress): void; end(): void } {
    let latest: Progress | null = null;
    let late = false;
    const show = () => late && latest && this.#store.set({ working: latest });
    const onProgress = (progress: Progress) => {
      latest = progress;
      show();
    };
    const timers = [
      setTimeout(() => {
        late = true;
        show();
      }, SLOW),
      setTimeout(() => latest ?? onProgress({ what: "", done: 0, total: 0 }), BUSY),
    ];
    return { report: onProgress, end: () => timers.forEach(clearTimeout) };
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
