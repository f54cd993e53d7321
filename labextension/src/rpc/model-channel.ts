// The channel of a widget: requests over its anywidget model. There is one per model, so that several views share it.
//
// Where the front end forwards it, the kernel reports when it begins a message ("busy") and when it has finished
// ("idle"). A request that has finished without a reply means that the kernel was restarted. Colab's manager reports
// "idle" when it has sent the message and never "busy", so "idle" counts only after "busy" of the same request.
import type { Reply, Request } from "../protocol/messages";
import { isMessage, KernelGone, type Message, type RequestOptions, RpcClient } from "./client";

/** Jupyter's callbacks for the status messages of a request. */
interface Callbacks {
  iopub: { status(message: { content: { execution_state: string } }): void };
}

/** The part of anywidget's model that carries messages. */
export interface WidgetModel {
  send(content: unknown, callbacks?: Callbacks, buffers?: ArrayBuffer[]): void;
  on(event: "msg:custom", callback: (message: unknown, buffers: Bytes[]) => void): void;
  off(event: "msg:custom", callback: (message: unknown, buffers: Bytes[]) => void): void;
}

/** What front ends hand a message's buffers over as: Jupyter as DataViews, others as typed arrays or as they are. */
export type Bytes = ArrayBuffer | ArrayBufferView;

/** A reply and its binary buffer, which may be empty. */
export type Answer = Reply & { buffer: DataView };

export interface Channel {
  request(message: Request, options?: RequestOptions): Promise<Answer>;
  /** Call `listener` when the editor in the kernel is lost and when it is back; returns a function that stops it. */
  watch?(listener: (gone: boolean) => void): () => unknown;
  close(): void;
}

// A kernel that runs a long cell replies only afterwards, so this is minutes.
const TIMEOUT = 120_000;
/** Milliseconds that a reply may arrive after the status "idle" of its request. */
const GRACE = 1000;
/** Milliseconds until it is checked whether a request has reached the kernel. */
const UNHEARD = 10_000;
const LOST = "The request may not have reached the kernel: check the history, then try again.";

/** For exhaustive switches: the compiler reports a missing case; a newer kernel's message throws. */
export function assertNever(value: never): never {
  throw new Error(`This page does not understand ${JSON.stringify(value)?.slice(0, 80)}; reload it.`);
}

function viewOf(bytes: Bytes): DataView {
  if (bytes instanceof DataView) return bytes;
  return ArrayBuffer.isView(bytes)
    ? new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new DataView(bytes);
}

export class ModelChannel implements Channel {
  readonly #model: WidgetModel;
  readonly #client: RpcClient<Answer>;
  readonly #listeners = new Set<(gone: boolean) => void>();
  #gone = false;
  /** Whether a check is under way: a busy kernel is asked only once. */
  #asks = false;

  constructor(wire: WidgetModel) {
    this.#model = wire;
    // Every view in every browser receives every reply: ids from a random start tell them apart.
    this.#client = new RpcClient((message) => this.#send(message), Math.floor(Math.random() * 2 ** 40));
    wire.on("msg:custom", this.#receive);
  }

  request(message: Request, options: RequestOptions = {}): Promise<Answer> {
    const pending = this.#client.request(message, { timeout: TIMEOUT, ...options });
    if (pending.settled.aborted) return pending.reply;
    const look = setInterval(() => pending.begun || this.#asks || this.check(), UNHEARD);
    pending.settled.addEventListener("abort", () => clearInterval(look));
    return pending.reply;
  }

  /** Check whether the editor exists; if it does, earlier requests that it has not begun were lost. */
  async check(): Promise<void> {
    const earlier = this.#client.pending;
    this.#asks = true;
    // A ping that was lost is sent again.
    const reply = await this.request({ type: "ping" }, { timeout: 3 * UNHEARD }).catch(() => {});
    this.#asks = false;
    if (!reply) return;
    setTimeout(() => {
      for (const pending of earlier) if (!pending.begun) pending.reject(new Error(LOST));
    }, GRACE);
  }

  watch(listener: (gone: boolean) => void): () => unknown {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#model.off("msg:custom", this.#receive);
    this.#client.rejectAll(new Error("This view was closed."));
  }

  readonly #receive = (message: unknown, buffers: Bytes[]): void => {
    if (!isMessage(message)) return;
    const pending = this.#client.receive(message);
    if (!pending) return;
    this.#setGone(false);
    pending.resolve({ ...(message as Reply), buffer: viewOf(buffers?.[0] ?? new ArrayBuffer(0)) });
  };

  #send(message: Message & { id: number }): void {
    const pending = () => this.#client.find(message.id);
    let isBegun = false;
    const status: Callbacks["iopub"]["status"] = ({ content: { execution_state: state } }) => {
      if (state === "busy") {
        isBegun = true;
        pending()?.report({ what: "Working", done: 0, total: 0 });
      }
      if (state === "idle" && isBegun) setTimeout(() => pending() && this.#setGone(true), GRACE);
    };
    try {
      // Jupyter reads these properties; marimo calls the function once the message is sent.
      const callbacks = Object.assign(() => {}, { iopub: { status } });
      this.#model.send(message, callbacks, []);
    } catch {
      this.#setGone(true); // the comm was closed together with the kernel
    }
  }

  /** The editor was found to be lost, or to exist. */
  #setGone(gone: boolean): void {
    if (gone) this.#client.rejectAll(new KernelGone("The kernel was restarted."));
    if (gone === this.#gone) return;
    this.#gone = gone;
    for (const listener of this.#listeners) listener(gone);
  }
}

export function openChannel(wire: WidgetModel): ModelChannel {
  return new ModelChannel(wire);
}
