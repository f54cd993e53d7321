// request(message): Promise<Reply>. One channel per model, so that several views share one set of handlers.
import type { Reply, Request } from "./protocol";

/** The part of anywidget's model that carries messages. */
export interface Wire {
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: "msg:custom", callback: (message: unknown, buffers: DataView[]) => void): void;
  off(event: "msg:custom", callback: (message: unknown, buffers: DataView[]) => void): void;
}

/** A reply and the numbers that travel beside it; empty when it has none. */
export type Answer = Reply & { buffer: DataView };

export interface Patience {
  signal?: AbortSignal;
  /** Milliseconds until the request is given up. */
  timeout?: number;
}

export interface Channel {
  request(message: Request, patience?: Patience): Promise<Answer>;
  close(): void;
}

interface Pending {
  resolve(answer: Answer): void;
  reject(reason: Error): void;
}

// A kernel that runs a long cell answers only afterwards, so patience is measured in minutes.
const TIMEOUT = 120_000;

/** The compiler refuses a switch that forgets a case; this is what happens to a case from a newer kernel. */
export function assertNever(value: never): never {
  throw new Error(`This page does not understand ${JSON.stringify(value)?.slice(0, 80)}; reload it.`);
}

export function openChannel(wire: Wire): Channel {
  const pending = new Map<number, Pending>();
  // Every view in every browser hears every reply: ids from a random start keep them apart.
  let next = Math.floor(Math.random() * 2 ** 40);

  function receive(message: unknown, buffers: DataView[]): void {
    if (!isReply(message)) return;
    const waiting = pending.get(message.id);
    const buffer = buffers[0] ?? new DataView(new ArrayBuffer(0));
    waiting?.resolve({ ...message, buffer });
  }

  function request(message: Request, { signal, timeout = TIMEOUT }: Patience = {}): Promise<Answer> {
    const id = next++;
    return new Promise<Answer>((resolve, reject) => {
      const timer = setTimeout(() => fail(new Error(unanswered(message.type, timeout))), timeout);
      const abort = () => fail(new DOMException(`The request "${message.type}" was given up.`, "AbortError"));
      const settle = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        pending.delete(id);
      };
      const fail = (reason: Error) => {
        settle();
        reject(reason);
      };
      pending.set(id, {
        resolve: (answer) => {
          settle();
          resolve(answer);
        },
        reject: fail,
      });
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort);
      wire.send({ id, ...message }, undefined, []);
    });
  }

  function close(): void {
    wire.off("msg:custom", receive);
    for (const waiting of pending.values()) waiting.reject(new Error("This view was closed."));
  }

  wire.on("msg:custom", receive);
  return { request, close };
}

function isReply(message: unknown): message is Reply & { id: number } {
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
