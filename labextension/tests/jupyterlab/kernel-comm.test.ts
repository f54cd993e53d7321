// The page's end of the comm, on a kernel made up of signals: replies by id, refusals, kernels that
// go away.
import type { Kernel } from "@jupyterlab/services";
import { Signal } from "@lumino/signaling";
import { expect, test, vi } from "vitest";
import { type KernelComm, openKernelComm, RefusedError } from "../../src/jupyterlab/kernel-comm";
import { KernelGone } from "../../src/rpc/client";

class MadeUp {
  status = "idle";
  isDisposed = false;
  handleComms = true;
  info: Promise<object> = Promise.resolve({ language_info: { name: "python" } });
  readonly statusChanged = new Signal<this, string>(this);
  readonly disposed = new Signal<this, void>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly iopubMessage = new Signal<this, { header: { session: string } }>(this);
  readonly clientId = "this page";
  readonly code: string[] = [];
  readonly sent: Record<string, unknown>[] = [];
  readonly comm = {
    commId: "c",
    open: () => {},
    close: () => this.sent.push({ type: "closed" }),
    send: (data: Record<string, unknown>) => this.sent.push(data),
    onMsg: (_: unknown) => {},
    onClose: () => {},
  };
  readonly #answers: object[];

  constructor(...answers: object[]) {
    this.#answers = answers;
  }

  /** What becomes of each question for comms; a question too many is never answered. */
  readonly comms: Promise<object>[] = [];
  questions = 0;
  requestCommInfo() {
    this.questions++;
    return this.comms.shift() ?? new Promise(() => {});
  }
  requestExecute({ code }: { code: string }) {
    this.code.push(code);
    return { done: Promise.resolve({ content: this.#answers.shift() ?? { status: "ok" } }) };
  }
  createComm() {
    return this.comm;
  }
  become(status: string): void {
    this.status = status;
    this.statusChanged.emit(status);
  }
  say(data: unknown): void {
    this.comm.onMsg({ content: { data } });
  }
  talk(): Promise<KernelComm> {
    return openKernelComm(this as unknown as Kernel.IKernelConnection);
  }
}

test("one constant line is all that is run, and data goes through the comm", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  void talk.request({ type: "open", name: "'); import os" });
  expect(kernel.code).toEqual(['__import__("tfgraphwidget.lab", fromlist=["listen"]).listen()']);
  expect(kernel.sent).toEqual([{ id: 1, type: "open", name: "'); import os" }]);
});

test("a document's own kernel imports nothing from the folder it is in", async () => {
  const kernel = new MadeUp();
  await openKernelComm(kernel as unknown as Kernel.IKernelConnection, true);
  const [first, second, ...more] = (kernel.code[0] ?? "").split("\n");
  expect(first).toBe('__import__("sys").path[:] = filter(None, __import__("sys").path)');
  expect(second).toBe('__import__("tfgraphwidget.lab", fromlist=["listen"]).listen()');
  expect(more).toEqual([]);
});

test("replies find their requests by id, in any order, and what has no id is pushed", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  const pushed: unknown[] = [];
  talk.onPush((push) => pushed.push(push));
  const [first, second] = [talk.request({ type: "choices" }), talk.request({ type: "kinds" })];
  kernel.say({ id: 2, type: "kinds" });
  kernel.say({ type: "changed", line: "x" });
  kernel.say({ id: 1, type: "choices", choices: [] });
  for (const nonsense of [null, 3, "text", {}, { id: 9, type: "choices" }]) kernel.say(nonsense);
  expect(await first).toEqual({ id: 1, type: "choices", choices: [] });
  expect(await second).toEqual({ id: 2, type: "kinds" });
  expect(pushed).toEqual([{ type: "changed", line: "x" }]);
});

test("long work reports its progress to a request that asks for it", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  const told: number[] = [];
  const asked = talk.request({ type: "save", kind: "page" }, ({ done }) => told.push(done));
  expect(kernel.sent).toEqual([{ id: 1, type: "save", kind: "page", wants_progress: true }]);
  for (const done of [10, 20])
    kernel.say({ id: 1, type: "working", what: "Drawing", done, total: 30 });
  kernel.say({ id: 1, type: "saved" });
  kernel.say({ id: 1, type: "working", what: "Drawing", done: 30, total: 30 });
  expect(await asked).toEqual({ id: 1, type: "saved" });
  expect(told).toEqual([10, 20]);
});

test("what has no reply is sent again, with the same id, when the connection is back", async () => {
  vi.useFakeTimers();
  try {
    const kernel = new MadeUp();
    const talk = await kernel.talk();
    const [first, second] = [talk.request({ type: "choices" }), talk.request({ type: "kinds" })];
    kernel.connectionStatusChanged.emit("connecting");
    kernel.connectionStatusChanged.emit("connected");
    kernel.say({ id: 1, type: "choices" });
    await vi.advanceTimersByTimeAsync(1001);
    expect(kernel.sent.map(({ id, type }) => [id, type])).toEqual([
      [1, "choices"],
      [2, "kinds"],
      [2, "kinds"],
    ]);
    kernel.say({ id: 2, type: "kinds" });
    expect(await Promise.all([first, second])).toHaveLength(2);
  } finally {
    vi.useRealTimers();
  }
});

test("a refusal rejects with its sentence and its kind", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  const asked = talk.request({ type: "open", name: "g" });
  kernel.say({ id: 1, type: "refusal", why: "There is no g.", error: "UnknownName" });
  const error = await asked.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({ message: "There is no g.", kind: "UnknownName" });
});

test.each(["restarting", "autorestarting", "dead", "terminating"])(
  "a kernel that is %s leaves no request waiting",
  async (status) => {
    const kernel = new MadeUp();
    const talk = await kernel.talk();
    let gone = 0;
    talk.onGone(() => gone++);
    const asked = talk.request({ type: "choices" });
    kernel.become(status);
    await expect(asked).rejects.toBeInstanceOf(KernelGone);
    await expect(talk.request({ type: "choices" })).rejects.toBeInstanceOf(KernelGone);
    expect([gone, talk.isOpen]).toEqual([1, false]);
  },
);

test("closing says so to the kernel, and to nobody here", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  let gone = 0;
  talk.onGone(() => gone++);
  talk.close();
  talk.close();
  expect(kernel.sent).toEqual([{ type: "closed" }]);
  expect(gone).toBe(0);
});

test.each([
  ["ModuleNotFoundError", "No module named 'tfgraphwidget'", /pip install tfgraphwidget/],
  ["ModuleNotFoundError", "No module named 'anywidget'", /anywidget/],
  ["ValueError", "odd", /ValueError in the kernel: odd/],
])("a kernel that cannot load it (%s: %s) gives the way out", async (ename, evalue, way) => {
  const kernel = new MadeUp({ status: "error", ename, evalue });
  await expect(kernel.talk()).rejects.toThrow(way);
});

test("a line that was passed over, behind a cell that failed, is run again", async () => {
  const kernel = new MadeUp({ status: "aborted" }, { status: "aborted" });
  const talk = await kernel.talk();
  expect([talk.isOpen, kernel.code.length]).toEqual([true, 3]);
});

test("nothing is run in a kernel that does not run Python", async () => {
  const kernel = new MadeUp();
  kernel.info = Promise.resolve({ language_info: { name: "R" } });
  await expect(kernel.talk()).rejects.toThrow("This kernel does not run Python");
  expect(kernel.code).toEqual([]);
});

test("a kernel that ends before it has said what it runs is gone", async () => {
  const kernel = new MadeUp();
  kernel.info = new Promise(() => {});
  const talk = kernel.talk();
  kernel.become("dead");
  await expect(talk).rejects.toThrow(KernelGone);
});

test("a connection without comms is refused with the way out", async () => {
  const kernel = new MadeUp();
  kernel.handleComms = false;
  const refused = await kernel.talk().catch((reason: unknown) => reason);
  expect(refused).toMatchObject({
    kind: "Elsewhere",
    message: expect.stringContaining("reload the page"),
  });
  expect(kernel.code).toEqual([]);
});

test("a kernel that another program has restarted is known by what it says", async () => {
  const kernel = new MadeUp();
  const talk = await kernel.talk();
  const gone: boolean[] = [];
  talk.onGone((isRenewed) => gone.push(isRenewed));
  const asked = expect(talk.request({ type: "choices" })).rejects.toThrow(KernelGone);
  for (const session of ["first", "this page", "first"])
    kernel.iopubMessage.emit({ header: { session } });
  expect(talk.isOpen).toBe(true);
  for (const session of ["second", "second"]) kernel.iopubMessage.emit({ header: { session } });
  await asked;
  expect(gone).toEqual([true]);
  expect(talk.isOpen).toBe(false);
});

test("a kernel whose answer was lost is asked again, but not while it works", async () => {
  vi.useFakeTimers();
  try {
    const kernel = new MadeUp();
    const talk = await kernel.talk();
    kernel.comms.push(
      new Promise(() => {}),
      Promise.resolve({ content: { status: "ok", comms: { c: {} } } }),
    );
    const known = talk.isKnown();
    kernel.become("busy");
    await vi.advanceTimersByTimeAsync(5000);
    expect(kernel.questions).toBe(1);
    kernel.become("idle");
    await vi.advanceTimersByTimeAsync(1000);
    expect(await known).toBe(true);
    expect(kernel.questions).toBe(2);
    await vi.advanceTimersByTimeAsync(5000);
    expect(kernel.questions).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

test("who asks whether it is known hears that the kernel has ended", async () => {
  vi.useFakeTimers();
  try {
    const kernel = new MadeUp();
    const talk = await kernel.talk();
    const known = expect(talk.isKnown()).rejects.toThrow(KernelGone);
    kernel.become("dead");
    await vi.advanceTimersByTimeAsync(1000);
    await known;
  } finally {
    vi.useRealTimers();
  }
});
