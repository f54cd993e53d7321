// Requests to tfgraphwidget.jupyterlab in a kernel, over a comm, and the messages that the kernel
// sends by itself. The kernel executes only constant code; names, paths and edits are data in the
// comm and never become code.
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { JSONObject, JSONValue } from "@lumino/coreutils";
import { isMessage, KernelGone, type Progress, RpcClient } from "../rpc/client";
import { createRestartDetector, resetSubshells } from "./kernel-restarts";

const TARGET = "tfgraphwidget.lab";
const LISTEN = `__import__("${TARGET}", fromlist=["listen"]).listen()`;
/** From then on nothing is imported from the folder that the kernel is in, wherever it goes. */
const NOT_FROM_HERE = `__import__("sys").path[:] = filter(None, __import__("sys").path)`;

const ELSEWHERE =
  "This page uses the kernel through another tab; reload the page, or choose another kernel.";
const NO_PYTHON = "This kernel does not run Python; TensorFlow graphs need a Python kernel.";

/** Milliseconds until the line is run again that was passed over. */
const AGAIN = 100;
/** Milliseconds until an idle kernel that has not replied is asked again. */
const UNHEARD = 500;
/**
 * Milliseconds that replies may arrive after the connection is back, until requests are sent again.
 */
const GRACE = 1000;

/** A request of tfgraphwidget/jupyterlab/comm_handler.py, without its id. */
interface KernelRequest extends JSONObject {
  type: string;
}
export interface KernelReply extends JSONObject {
  type: string;
}
/** What the kernel says after each edit. */
export interface KernelPush extends JSONObject {
  type: string;
}

/** The kernel refused the request; the message says why and suggests an action. */
export class RefusedError extends Error {
  /** What the kernel calls it: "FileExists", "UnknownName", … */
  kind = "";
}

export interface KernelComm {
  /**
   * Resolves to the reply; rejects with RefusedError if the kernel refuses, with KernelGone if it
   * cannot reply any more. `onProgress` is called with the progress of long operations.
   */
  request(message: KernelRequest, onProgress?: (progress: Progress) => void): Promise<KernelReply>;
  onPush(callback: (push: KernelPush) => void): void;
  /**
   * Called once, when the kernel has closed the talk or restarts; not after `close`. `isRenewed`
   * when another program has restarted it, which is known when the new one says something, whatever
   * it is.
   */
  onGone(callback: (isRenewed: boolean) => void): void;
  close(): void;
  /**
   * Whether the kernel knows of it; one that does not was restarted by another program, and
   * `onGone` is called.
   */
  isKnown(): Promise<boolean>;
  readonly isOpen: boolean;
}

/**
 * Rejects with Refusal when tfgraphwidget cannot be loaded there, with one of the kind "Elsewhere"
 * when the kernel's widgets go through another tab of this page; with KernelGone when the kernel
 * dies meanwhile. A kernel that is a document's own, `isOwn`, imports nothing from the folder that
 * it is in; a notebook's does.
 */
export async function openKernelComm(
  kernel: Kernel.IKernelConnection,
  isOwn = false,
): Promise<KernelComm> {
  // JupyterLab gives comms to one connection with each kernel, and never to another one after that.
  if (!kernel.handleComms) throw Object.assign(new RefusedError(ELSEWHERE), { kind: "Elsewhere" });
  await startListener(kernel, isOwn ? `${NOT_FROM_HERE}\n${LISTEN}` : LISTEN);
  const comm = kernel.createComm(TARGET);
  const talk = new CommClient(comm, kernel);
  comm.open();
  return talk;
}

/** Whatever runs there waits its turn: a busy kernel answers when it has finished. */
async function startListener(kernel: Kernel.IKernelConnection, code: string): Promise<void> {
  const silent = { silent: true, store_history: false, allow_stdin: false, stop_on_error: false };
  const gone = watchKernel(kernel);
  try {
    const { language_info: language } = await Promise.race([kernel.info, gone.happened]);
    if (!/python/i.test(language.name)) throw new RefusedError(NO_PYTHON);
    for (;;) {
      const execution = kernel.requestExecute({ code, ...silent }, true);
      const { content } = await Promise.race([execution.done, gone.happened]);
      if (content.status === "ok") return;
      if (content.status === "error") throw new RefusedError(importErrorText(content));
      // A cell before it has failed or was interrupted: Jupyter then passes over what waits after
      // it.
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  } finally {
    gone.stop();
  }
}

function importErrorText({ ename, evalue }: KernelMessage.IReplyErrorContent): string {
  if (ename === "ModuleNotFoundError" && evalue.includes("tfgraphwidget")) {
    return (
      "The package tfgraphwidget is not installed where this kernel runs; " +
      "run %pip install tfgraphwidget in a cell."
    );
  }
  if (ename === "ModuleNotFoundError" || ename === "ImportError")
    return `${ename} in the kernel: ${evalue}.`;
  return `${ename} in the kernel: ${evalue}`;
}

/** Rejects with KernelGone as soon as the kernel restarts or ends. */
function watchKernel(kernel: Kernel.IKernelConnection): {
  happened: Promise<never>;
  stop: () => void;
} {
  let stop = () => {};
  const happened = new Promise<never>((_, reject) => {
    const look = () => {
      if (isKernelGone(kernel))
        reject(new KernelGone("The kernel restarted or ended before it answered."));
    };
    kernel.statusChanged.connect(look);
    kernel.disposed.connect(look);
    stop = () => {
      kernel.statusChanged.disconnect(look);
      kernel.disposed.disconnect(look);
    };
  });
  happened.catch(() => {}); // the caller that races against it gets the error
  return { happened, stop };
}

export function isKernelGone(kernel: Kernel.IKernelConnection): boolean {
  return kernel.isDisposed || isEnding(kernel.status);
}

/** Whether a kernel with this status loses its state. */
export function isEnding(status: Kernel.Status): boolean {
  return ["restarting", "autorestarting", "terminating", "dead"].includes(status);
}

class CommClient implements KernelComm {
  readonly #client = new RpcClient<KernelReply>((message) =>
    this.#comm.send(message as unknown as JSONObject),
  );
  readonly #pushed: ((push: KernelPush) => void)[] = [];
  readonly #gone: ((isRenewed: boolean) => void)[] = [];
  readonly #isAnother = createRestartDetector();
  #open = true;
  readonly #comm: Kernel.IComm;
  readonly #kernel: Kernel.IKernelConnection;

  constructor(comm: Kernel.IComm, kernel: Kernel.IKernelConnection) {
    this.#comm = comm;
    this.#kernel = kernel;
    comm.onMsg = ({ content }) => this.#receive(content.data);
    comm.onClose = () => this.#end();
    kernel.statusChanged.connect(this.#onKernelStatus);
    kernel.disposed.connect(this.#onKernelStatus);
    kernel.connectionStatusChanged.connect(this.#onConnectionStatus);
    kernel.iopubMessage.connect(this.#onIopubMessage);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  request(message: KernelRequest, onProgress?: (progress: Progress) => void): Promise<KernelReply> {
    if (!this.#open) return Promise.reject(new KernelGone("The kernel that was asked is gone."));
    if (!onProgress) return this.#client.request(message).reply;
    return this.#client.request({ ...message, wants_progress: true } as KernelRequest, {
      onProgress,
    }).reply;
  }

  async isKnown(): Promise<boolean> {
    const { content } = await this.#commInfo();
    const isKnown = content.status === "ok" && this.#comm.commId in content.comms;
    if (!isKnown) await this.#onRestart();
    return isKnown;
  }

  /**
   * Messages of a new process before the server listens to it are lost, perhaps also the end of its
   * reply, without which JupyterLab waits for ever.
   */
  async #commInfo(): Promise<KernelMessage.ICommInfoReplyMsg> {
    let timer: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const ask = () =>
          void this.#kernel.requestCommInfo({ target_name: TARGET }).then(resolve, reject);
        ask();
        timer = setInterval(() => {
          if (!this.#open) reject(new KernelGone("The kernel ended before it answered."));
          else if (this.#kernel.status !== "busy") ask();
        }, UNHEARD);
      });
    } finally {
      clearInterval(timer);
    }
  }

  onPush(callback: (push: KernelPush) => void): void {
    this.#pushed.push(callback);
  }

  onGone(callback: (isRenewed: boolean) => void): void {
    this.#gone.push(callback);
  }

  close(): void {
    this.#gone.length = 0;
    if (this.#open && !isKernelGone(this.#kernel)) this.#comm.close();
    this.#end();
  }

  readonly #onKernelStatus = (): void => {
    if (isKernelGone(this.#kernel)) this.#end();
  };

  /**
   * Requests, or their replies, may have been lost with the connection; the kernel handles each
   * once.
   */
  readonly #onConnectionStatus = (_: unknown, status: Kernel.ConnectionStatus): void => {
    if (status !== "connected") return;
    const earlier = this.#client.pending;
    setTimeout(() => {
      for (const pending of this.#open ? earlier : []) this.#client.repeat(pending);
    }, GRACE);
  };

  readonly #onIopubMessage = (_: unknown, message: KernelMessage.IIOPubMessage): void => {
    if (this.#isAnother(this.#kernel, message)) void this.#onRestart();
  };

  async #onRestart(): Promise<void> {
    await resetSubshells(this.#kernel);
    this.#end(true);
  }

  #end(isRenewed = false): void {
    if (!this.#open) return;
    this.#open = false;
    this.#kernel.statusChanged.disconnect(this.#onKernelStatus);
    this.#kernel.disposed.disconnect(this.#onKernelStatus);
    this.#kernel.connectionStatusChanged.disconnect(this.#onConnectionStatus);
    this.#kernel.iopubMessage.disconnect(this.#onIopubMessage);
    this.#client.rejectAll(new KernelGone("The kernel ended before it answered."));
    for (const callback of this.#gone) callback(isRenewed);
  }

  #receive(data: JSONValue): void {
    if (!isMessage(data)) return;
    const message = data as unknown as KernelReply;
    if (typeof message["id"] !== "number") {
      for (const callback of this.#pushed) callback(message);
      return;
    }
    const pending = this.#client.receive(message);
    if (message.type === "refusal") {
      const kind = String(message["error"]);
      pending?.reject(Object.assign(new RefusedError(String(message["why"])), { kind }));
    } else pending?.resolve(message);
  }
}
