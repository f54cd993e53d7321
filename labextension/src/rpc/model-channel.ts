// The channel of a widget: requests over its anywidget model. There is one per model, so that
// several views share it.
//
// Where the front end forwards it, the kernel reports when it begins a message ("busy") and when it
// has finished ("idle"). A request that has finished without a reply is sent again; if that has
// none either, the kernel was restarted. Colab's manager reports "idle" when it has sent the
// message and never "busy", so "idle" counts only after "busy" of the same request. A connection
// that drops loses messages both ways: what has no reply is sent again when the kernel answers.
import type { Piece, Reply, Request } from "../protocol/messages";
import {
  isMessage,
  KernelGone,
  type Message,
  type PendingRequest,
  type RequestOptions,
  RpcClient,
} from "./client";
import { Pieces } from "./pieces";

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

/**
 * What front ends hand a message's buffers over as: Jupyter as DataViews, others as typed arrays or
 * as they are.
 */
export type Bytes = ArrayBuffer | ArrayBufferView;

/**
 * A request, and the width and height of the canvas that the drawing of the view wraps to; `echo`
 * of what was done in a linked view before.
 */
export type AddressedRequest = Request & {
  readonly pane?: readonly [number, number];
  readonly echo?: boolean;
};

/** A reply and its binary buffer, which may be empty. */
export type Answer = Reply & { buffer: DataView };

export interface Channel {
  request(message: AddressedRequest, options?: RequestOptions): Promise<Answer>;
  /**
   * Call `listener` when the editor in the kernel is lost and when it is back; returns a function
   * that stops it.
   */
  watch?(listener: (gone: boolean) => void): () => unknown;
  /** Milliseconds that a message takes to the kernel and back, as far as is known. */
  readonly latency?: number;
  close(): void;
}

// A kernel that runs a long cell replies only afterwards, so this is minutes.
const TIMEOUT = 120_000;
/** Milliseconds that a reply may arrive after the status "idle" of its request. */
const GRACE = 1000;
/** Milliseconds without a sign of the kernel, until it is checked whether messages were lost. */
const UNHEARD = 5_000;
/** Milliseconds until a check is given up: a busy kernel is not asked more often. */
const CHECK = 15_000;

/**
 * For exhaustive switches: the compiler reports a missing case; a newer kernel's message throws.
 */
export function assertNever(value: never): never {
  throw new Error(
    `This page does not understand ${JSON.stringify(value)?.slice(0, 80)}; reload it.`,
  );
}

function isPiece(message: Message): message is Message & Piece {
  return message.type === "piece";
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
  readonly #pieces = new Pieces();
  readonly #sent = new WeakSet<Message>();
  #gone = false;
  /** Whether a check is under way: a busy kernel is asked only once. */
  #asks = false;

  constructor(wire: WidgetModel) {
    this.#model = wire;
    // Every view in every browser receives every reply: ids from a random start tell them apart.
    this.#client = new RpcClient(
      (message) => this.#send(message),
      Math.floor(Math.random() * 2 ** 40),
    );
    wire.on("msg:custom", this.#receive);
  }

  request(message: AddressedRequest, options: RequestOptions = {}): Promise<Answer> {
    const pending = this.#client.request(message, { timeout: TIMEOUT, ...options });
    if (pending.settled.aborted) return pending.reply;
    const look = setInterval(
      () => pending.silence < UNHEARD || this.#asks || this.check(),
      UNHEARD,
    );
    pending.settled.addEventListener("abort", () => {
      clearInterval(look);
      this.#pieces.drop(pending);
    });
    return pending.reply;
  }

  get latency(): number {
    return this.#client.latency;
  }

  /**
   * Check whether the editor exists; earlier requests that it does not answer before were lost, or
   * their replies.
   */
  async check(): Promise<void> {
    const earlier = this.#client.pending;
    this.#asks = true;
    const reply = await this.request({ type: "ping" }, { timeout: CHECK }).catch(() => {});
    this.#asks = false;
    if (!reply) return;
    setTimeout(() => {
      for (const pending of earlier) this.#client.repeat(pending);
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
    const buffer = viewOf(buffers?.[0] ?? new ArrayBuffer(0));
    const reply = isPiece(message)
      ? this.#join(pending, message, buffer)
      : { ...(message as Reply), buffer };
    if (reply) pending.resolve(reply);
  };

  /** The whole reply with the last of its pieces; before, the progress is reported. */
  #join(pending: PendingRequest<Answer>, piece: Piece, bytes: DataView): Answer | undefined {
    const joined = this.#pieces.add(pending, piece, bytes);
    if (joined) return { ...(JSON.parse(joined.text) as Reply), buffer: joined.buffer };
    pending.report({ what: "Receiving", done: piece.nth + 1, total: piece.of });
    return undefined;
  }

  #send(message: Message & { id: number }): void {
    const pending = () => this.#client.find(message.id);
    const isRepeated = this.#sent.has(message);
    this.#sent.add(message);
    let isBegun = false;
    const status: Callbacks["iopub"]["status"] = ({ content: { execution_state: state } }) => {
      if (state === "busy") {
        isBegun = true;
        pending()?.report({ what: "Working", done: 0, total: 0 });
      }
      if (state === "idle" && isBegun) setTimeout(unanswered, GRACE);
    };
    const unanswered = () => {
      const waiting = pending();
      if (waiting && isRepeated) this.#setGone(true);
      else if (waiting) this.#client.repeat(waiting);
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
