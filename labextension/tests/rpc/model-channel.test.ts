import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { KernelGone } from "../../src/rpc/client";
import { type Bytes, openChannel, type WidgetModel } from "../../src/rpc/model-channel";

type Receive = (message: unknown, buffers: Bytes[]) => void;

/** A model that keeps what was sent and lets the test answer. */
class FakeModel implements WidgetModel {
  readonly sent: { id: number; type: string }[] = [];
  readonly #listeners = new Set<Receive>();
  readonly #told: NonNullable<Parameters<WidgetModel["send"]>[1]>[] = [];
  closed = false;

  send(content: unknown, callbacks?: Parameters<WidgetModel["send"]>[1]): void {
    if (this.closed) throw new Error("Cannot send");
    this.sent.push(content as { id: number; type: string });
    if (callbacks) this.#told.push(callbacks);
  }

  /** What the kernel says of the message that was sent as the n-th. */
  says(execution_state: "busy" | "idle", nth = 0): void {
    this.#told[nth]?.iopub.status({ content: { execution_state } });
  }

  on(_: "msg:custom", callback: Receive): void {
    this.#listeners.add(callback);
  }

  off(_: "msg:custom", callback: Receive): void {
    this.#listeners.delete(callback);
  }

  answer(message: unknown, buffers: Bytes[] = []): void {
    for (const listener of this.#listeners) listener(message, buffers);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

const refused = { type: "refusal", why: "no", ops: [] };

describe("channel", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("each answer goes to the request with its id, whatever the order", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const first = channel.request({ type: "undo", inspected: "" });
    const second = channel.request({ type: "redo", inspected: "" });
    const [a, b] = model.sent;
    model.answer({ ...refused, id: b?.id, why: "second" });
    model.answer({ ...refused, id: a?.id, why: "first" });
    expect(await first).toMatchObject({ why: "first" });
    expect(await second).toMatchObject({ why: "second" });
  });

  test("the binary buffer comes with the answer", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "open", alone: false });
    const buffer = new DataView(new ArrayBuffer(12));
    model.answer({ ...refused, id: model.sent[0]?.id }, [buffer]);
    expect((await answer).buffer).toBe(buffer);
  });

  test("a buffer may be a DataView, an ArrayBuffer, or a typed array on a part of one", async () => {
    const bytes = new Uint8Array([9, 1, 2, 3]);
    for (const given of [new DataView(bytes.buffer, 1), bytes.subarray(1), bytes.slice(1).buffer]) {
      const model = new FakeModel();
      const answer = openChannel(model).request({ type: "open", alone: false });
      model.answer({ ...refused, id: model.sent[0]?.id }, [given]);
      const { buffer } = await answer;
      expect([buffer.byteLength, buffer.getUint8(0), buffer.getUint8(2)]).toEqual([3, 1, 3]);
    }
  });

  test("messages for others, and what is not a message, are ignored", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "open", alone: false });
    for (const stray of [null, "text", {}, { id: "7", type: "refusal" }, { ...refused, id: -1 }])
      model.answer(stray);
    model.answer({ ...refused, id: model.sent[0]?.id, why: "mine" });
    expect(await answer).toMatchObject({ why: "mine" });
  });

  test("two channels do not use the same ids", () => {
    const ids = [new FakeModel(), new FakeModel()].map((model) => {
      void openChannel(model).request({ type: "open", alone: false });
      return model.sent[0]?.id;
    });
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("silence ends in a sentence", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "open", alone: false }, { timeout: 5000 });
    const failed = expect(answer).rejects.toThrow('not answered "open" for 5 s');
    await vi.advanceTimersByTimeAsync(5001);
    await failed;
  });

  test("a request can be given up, before or after it was sent", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const control = new AbortController();
    const answer = channel.request({ type: "open", alone: false }, { signal: control.signal });
    control.abort();
    await expect(answer).rejects.toThrow("given up");
    await expect(
      channel.request({ type: "open", alone: false }, { signal: control.signal }),
    ).rejects.toThrow("given up");
    expect(model.sent).toHaveLength(1);
  });

  test("closing leaves no listener and nobody waiting", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const answer = channel.request({ type: "open", alone: false });
    channel.close();
    await expect(answer).rejects.toThrow("closed");
    expect(model.listeners).toBe(0);
  });

  test("the kernel reports its start and progress; only its reply is an answer", async () => {
    const model = new FakeModel();
    const told = vi.fn();
    const answer = openChannel(model).request(
      { type: "open", alone: false },
      { onProgress: told, timeout: 5000 },
    );
    model.says("busy");
    const id = model.sent[0]?.id;
    model.answer({ type: "working", id, what: "Drawing", done: 1, total: 3 });
    expect(told.mock.calls.map(([progress]) => progress.what)).toEqual(["Working", "Drawing"]);
    await vi.advanceTimersByTimeAsync(20_000); // a kernel that works is waited for
    model.answer({ ...refused, id, why: "mine" });
    model.says("idle");
    expect(await answer).toMatchObject({ why: "mine" });
  });

  test("a kernel that is done without a reply has no editor until it answers again", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const heard: boolean[] = [];
    channel.watch((gone) => heard.push(gone));
    const answer = channel.request({ type: "open", alone: false });
    const failed = expect(answer).rejects.toThrow(KernelGone);
    for (const nth of [0, 1]) {
      model.says("busy", nth);
      model.says("idle", nth);
      expect(heard).toEqual([]);
      await vi.advanceTimersByTimeAsync(1001);
    }
    await failed;
    // the first reply might have been lost with the connection
    expect(model.sent[1]).toEqual(model.sent[0]);
    expect(heard).toEqual([true]);
    const check = channel.check();
    model.answer({ type: "pong", revision: 3, id: model.sent[2]?.id });
    await check;
    expect(heard).toEqual([true, false]);
  });

  test("a manager that reports idle and never busy, as Colab's, has lost no kernel", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const heard: boolean[] = [];
    channel.watch((gone) => heard.push(gone));
    const answer = channel.request({ type: "open", alone: false });
    model.says("idle");
    // longer than a reply may take after a kernel's own "idle"
    await vi.advanceTimersByTimeAsync(5000);
    model.answer({ ...refused, id: model.sent[0]?.id, why: "mine" });
    expect(await answer).toMatchObject({ why: "mine" });
    expect(heard).toEqual([]);
  });

  test("a comm that takes no messages was closed with its kernel", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const first = channel.request({ type: "open", alone: false });
    model.closed = true;
    const both = [first, channel.request({ type: "undo", inspected: "" })].map((each) =>
      expect(each).rejects.toThrow(KernelGone),
    );
    await Promise.all(both);
  });

  test("a request that never reached the kernel is sent again with the same id", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "undo", inspected: "" });
    await vi.advanceTimersByTimeAsync(5001);
    expect(model.sent.map(({ type }) => type)).toEqual(["undo", "ping"]);
    await vi.advanceTimersByTimeAsync(8_000); // the kernel runs a cell
    model.answer({ type: "pong", revision: 3, id: model.sent[1]?.id });
    await vi.advanceTimersByTimeAsync(1001);
    expect(model.sent[2]).toEqual(model.sent[0]);
    model.answer({ ...refused, id: model.sent[2]?.id, why: "mine" });
    expect(await answer).toMatchObject({ why: "mine" });
  });

  test("a request is sent again if its reply was lost, even if the kernel had begun", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "undo", inspected: "" });
    model.says("busy");
    await vi.advanceTimersByTimeAsync(5001);
    model.answer({ type: "pong", revision: 3, id: model.sent[1]?.id });
    await vi.advanceTimersByTimeAsync(1001);
    model.answer({ ...refused, id: model.sent[0]?.id, why: "mine" });
    expect(await answer).toMatchObject({ why: "mine" });
    expect(model.sent.map(({ type }) => type)).toEqual(["undo", "ping", "undo"]);
  });

  test("a kernel that reports progress is not asked whether it is there", async () => {
    const model = new FakeModel();
    const answer = openChannel(model).request({ type: "open", alone: false });
    const id = model.sent[0]?.id;
    for (let done = 0; done < 10; done++) {
      model.answer({ type: "working", id, what: "Drawing", done, total: 10 });
      await vi.advanceTimersByTimeAsync(4000);
    }
    model.answer({ ...refused, id });
    await answer;
    expect(model.sent).toHaveLength(1);
  });

  test("a kernel that stays busy is asked whether it is there by one ping at a time", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const answers = [
      channel.request({ type: "undo", inspected: "" }),
      channel.request({ type: "redo", inspected: "" }),
    ];
    await vi.advanceTimersByTimeAsync(18_000);
    expect(model.sent.map(({ type }) => type)).toEqual(["undo", "redo", "ping"]);
    await vi.advanceTimersByTimeAsync(10_000); // that one may have been lost itself
    expect(model.sent.map(({ type }) => type)).toEqual(["undo", "redo", "ping", "ping"]);
    for (const { id, type } of model.sent) model.answer({ ...refused, id, why: type });
    expect(await Promise.all(answers)).toMatchObject([{ why: "undo" }, { why: "redo" }]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(model.sent).toHaveLength(4);
  });

  test("a reply in pieces is put together, whatever their order and repetition", async () => {
    const model = new FakeModel();
    const progress = vi.fn();
    const answer = openChannel(model).request(
      { type: "open", alone: false },
      { onProgress: progress },
    );
    const id = model.sent[0]?.id;
    const text = new TextEncoder().encode(JSON.stringify({ ...refused, id, why: "größer" }));
    const data = new Uint8Array([...text, 1, 2, 3]);
    const piece = (nth: number, from: number, to: number) => () =>
      model.answer({ type: "piece", id, nth, of: 3, text: text.length }, [
        data.slice(from, to).buffer,
      ]);
    const [a, b, c] = [
      piece(0, 0, 9),
      piece(1, 9, text.length + 1),
      piece(2, text.length + 1, data.length),
    ];
    for (const send of [c, a, a, b]) send?.();
    const { buffer, ...reply } = await answer;
    expect(reply).toEqual({ ...refused, id, why: "größer" });
    expect([0, 1, 2].map((at) => buffer.getUint8(at))).toEqual([1, 2, 3]);
    expect(buffer.byteLength).toBe(3);
    expect(progress.mock.calls[0]?.[0]).toEqual({ what: "Receiving", done: 3, total: 3 });
  });

  test("the latency is the least time in which one of the last requests was heard of", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    for (const [nth, delay] of [300, 150, 2000].entries()) {
      const answer = channel.request({ type: "open", alone: false });
      await vi.advanceTimersByTimeAsync(delay);
      model.says("busy", nth);
      await vi.advanceTimersByTimeAsync(700); // the work itself
      model.answer({ ...refused, id: model.sent[nth]?.id });
      await answer;
    }
    expect(channel.latency).toBe(150);
  });

  test("who has stopped watching hears no more", async () => {
    const model = new FakeModel();
    const channel = openChannel(model);
    const heard: string[] = [];
    const unwatch = channel.watch((gone) => heard.push(`closed view: ${gone}`));
    channel.watch((gone) => heard.push(`other view: ${gone}`));
    unwatch();
    model.closed = true;
    await expect(channel.request({ type: "undo", inspected: "" })).rejects.toThrow(KernelGone);
    expect(heard).toEqual(["other view: true"]);
  });
});
