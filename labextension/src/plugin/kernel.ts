// A talk with tfgraphwidget.lab in a kernel: requests with exactly one reply each, and what the kernel says by itself.
// The kernel runs constant lines; names, paths and edits travel as data in a comm and are never put into code.
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { JSONObject, JSONValue } from "@lumino/coreutils";
import { listener, renew } from "./renewing";

const TARGET = "tfgraphwidget.lab";
const LISTEN = `__import__("${TARGET}", fromlist=["listen"]).listen()`;
/** From then on nothing is imported from the folder that the kernel is in, wherever it goes. */
const NOT_FROM_HERE = `__import__("sys").path[:] = filter(None, __import__("sys").path)`;

const ELSEWHERE = "This page uses the kernel through another tab; reload the page, or choose another kernel.";
const NO_PYTHON = "This kernel does not run Python; graphs of TensorFlow need a Python kernel.";

/** Milliseconds until the line is run again that was passed over. */
const AGAIN = 100;
/** Milliseconds until a kernel that does nothing, and has not answered, is asked again. */
const UNHEARD = 500;

/** A request of tfgraphwidget/jupyterlab/comm_handler.py, without its id. */
export interface Ask extends JSONObject {
  type: string;
}
export interface Reply extends JSONObject {
  type: string;
}
/** How far the kernel is with a request; `total` is 0 where nobody can say. */
export interface Working extends JSONObject {
  what: string;
  done: number;
  total: number;
}
/** What the kernel says after each edit. */
export interface Push extends JSONObject {
  type: string;
}

/** The kernel was asked and said no, in a sentence that says the way out. */
export class Refusal extends Error {
  /** What the kernel calls it: "Exists", "UnknownName", … */
  kind = "";
}
/** The kernel went away, or the comm with it, before it answered. */
export class Gone extends Error {}

export interface Talk {
  /**
   * The reply; rejects with Refusal when the kernel refuses, with Gone when there is nobody left to answer. Meanwhile
   * `told` hears how far long work is.
   */
  request(message: Ask, told?: (working: Working) => void): Promise<Reply>;
  onPush(callback: (push: Push) => void): void;
  /**
   * Called once, when the kernel has closed the talk or restarts; not after `close`. `isRenewed` when another program
   * has restarted it, which is known when the new one says something, whatever it is.
   */
  onGone(callback: (isRenewed: boolean) => void): void;
  close(): void;
  /** Whether the kernel knows of it; one that does not was restarted by another program, and `onGone` is called. */
  isKnown(): Promise<boolean>;
  readonly isOpen: boolean;
}

/**
 * Rejects with Refusal when tfgraphwidget cannot be loaded there, with one of the kind "Elsewhere" when the kernel's
 * widgets go through another tab of this page; with Gone when the kernel dies meanwhile. A kernel that is a
 * document's own, `isOwn`, imports nothing from the folder that it is in; a notebook's does.
 */
export async function openTalk(kernel: Kernel.IKernelConnection, isOwn = false): Promise<Talk> {
  // JupyterLab gives comms to one connection with each kernel, and never to another one after that.
  if (!kernel.handleComms) throw Object.assign(new Refusal(ELSEWHERE), { kind: "Elsewhere" });
  await listen(kernel, isOwn ? `${NOT_FROM_HERE}\n${LISTEN}` : LISTEN);
  const comm = kernel.createComm(TARGET);
  const talk = new CommTalk(comm, kernel);
  comm.open();
  return talk;
}

/** Whatever runs there waits its turn: a busy kernel answers when it has finished. */
async function listen(kernel: Kernel.IKernelConnection, code: string): Promise<void> {
  const silent = { silent: true, store_history: false, allow_stdin: false, stop_on_error: false };
  const gone = watchFor(kernel);
  try {
    const { language_info: language } = await Promise.race([kernel.info, gone.happened]);
    if (!/python/i.test(language.name)) throw new Refusal(NO_PYTHON);
    for (;;) {
      const asked = kernel.requestExecute({ code, ...silent }, true);
      const { content } = await Promise.race([asked.done, gone.happened]);
      if (content.status === "ok") return;
      if (content.status === "error") throw new Refusal(whyNot(content));
      // A cell before it has failed or was interrupted: Jupyter then passes over what waits behind it.
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
    }
  } finally {
    gone.stop();
  }
}

function whyNot({ ename, evalue }: KernelMessage.IReplyErrorContent): string {
  if (ename === "ModuleNotFoundError" && evalue.includes("tfgraphwidget")) {
    return "The package tfgraphwidget is not installed where this kernel runs; run %pip install tfgraphwidget in a cell.";
  }
  if (ename === "ModuleNotFoundError" || ename === "ImportError") return `${ename} in the kernel: ${evalue}.`;
  return `${ename} in the kernel: ${evalue}`;
}

/** Rejects with Gone as soon as the kernel restarts or ends. */
function watchFor(kernel: Kernel.IKernelConnection): { happened: Promise<never>; stop: () => void } {
  let stop = () => {};
  const happened = new Promise<never>((_, reject) => {
    const look = () => {
      if (isGone(kernel)) reject(new Gone("The kernel restarted or ended before it answered."));
    };
    kernel.statusChanged.connect(look);
    kernel.disposed.connect(look);
    stop = () => {
      kernel.statusChanged.disconnect(look);
      kernel.disposed.disconnect(look);
    };
  });
  happened.catch(() => {}); // whoever races against it hears of it
  return { happened, stop };
}

export function isGone(kernel: Kernel.IKernelConnection): boolean {
  return kernel.isDisposed || isEnding(kernel.status);
}

/** Whether what a kernel had is lost with it. */
export function isEnding(status: Kernel.Status): boolean {
  return ["restarting", "autorestarting", "terminating", "dead"].includes(status);
}

interface Waiting {
  readonly told: ((working: Working) => void) | undefined;
  resolve(reply: Reply): void;
  reject(reason: Error): void;
}

class CommTalk implements Talk {
  readonly #waiting = new Map<number, Waiting>();
  readonly #pushed: ((push: Push) => void)[] = [];
  readonly #gone: ((isRenewed: boolean) => void)[] = [];
  readonly #isAnother = listener();
  #next = 1;
  #open = true;
  readonly #comm: Kernel.IComm;
  readonly #kernel: Kernel.IKernelConnection;

  constructor(comm: Kernel.IComm, kernel: Kernel.IKernelConnection) {
    this.#comm = comm;
    this.#kernel = kernel;
    comm.onMsg = ({ content }) => this.#receive(content.data);
    comm.onClose = () => this.#end();
    kernel.statusChanged.connect(this.#look);
    kernel.disposed.connect(this.#look);
    kernel.iopubMessage.connect(this.#hear);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  request(message: Ask, told?: (working: Working) => void): Promise<Reply> {
    if (!this.#open) return Promise.reject(new Gone("The kernel that was asked is gone."));
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, told });
      this.#comm.send({ id, ...message, ...(told ? { tells: true } : {}) });
    });
  }

  async isKnown(): Promise<boolean> {
    const { content } = await this.#comms();
    const isKnown = content.status === "ok" && this.#comm.commId in content.comms;
    if (!isKnown) await this.#renewed();
    return isKnown;
  }

  /**
   * What a new process says before the server listens to it is lost, and so may be the end of its answer, without
   * which JupyterLab waits for ever.
   */
  async #comms(): Promise<KernelMessage.ICommInfoReplyMsg> {
    let timer: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise((resolve, reject) => {
        const ask = () => void this.#kernel.requestCommInfo({ target_name: TARGET }).then(resolve, reject);
        ask();
        timer = setInterval(() => {
          if (!this.#open) reject(new Gone("The kernel ended before it answered."));
          else if (this.#kernel.status !== "busy") ask();
        }, UNHEARD);
      });
    } finally {
      clearInterval(timer);
    }
  }

  onPush(callback: (push: Push) => void): void {
    this.#pushed.push(callback);
  }

  onGone(callback: (isRenewed: boolean) => void): void {
    this.#gone.push(callback);
  }

  close(): void {
    this.#gone.length = 0;
    if (this.#open && !isGone(this.#kernel)) this.#comm.close();
    this.#end();
  }

  readonly #look = (): void => {
    if (isGone(this.#kernel)) this.#end();
  };

  readonly #hear = (_: unknown, said: KernelMessage.IIOPubMessage): void => {
    if (this.#isAnother(this.#kernel, said)) void this.#renewed();
  };

  async #renewed(): Promise<void> {
    await renew(this.#kernel);
    this.#end(true);
  }

  #end(isRenewed = false): void {
    if (!this.#open) return;
    this.#open = false;
    this.#kernel.statusChanged.disconnect(this.#look);
    this.#kernel.disposed.disconnect(this.#look);
    this.#kernel.iopubMessage.disconnect(this.#hear);
    for (const { reject } of this.#waiting.values()) reject(new Gone("The kernel ended before it answered."));
    this.#waiting.clear();
    for (const callback of this.#gone) callback(isRenewed);
  }

  #receive(data: JSONValue): void {
    if (!isMessage(data)) return;
    const id = data["id"];
    if (typeof id !== "number") {
      for (const callback of this.#pushed) callback(data);
      return;
    }
    const waiting = this.#waiting.get(id);
    if (data.type === "working") {
      waiting?.told?.(data as unknown as Working);
      return;
    }
    this.#waiting.delete(id);
    if (data.type === "refused") {
      const kind = String(data["error"]);
      waiting?.reject(Object.assign(new Refusal(String(data["why"])), { kind }));
    } else waiting?.resolve(data);
  }
}

function isMessage(data: JSONValue): data is Reply {
  return typeof data === "object" && data !== null && "type" in data && typeof data["type"] === "string";
}
