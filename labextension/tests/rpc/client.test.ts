import { expect, test, vi } from "vitest";
import { isMessage, KernelGone, RpcClient } from "../../src/rpc/client";

interface Sent {
  id: number;
  type: string;
}

function connected() {
  const sent: Sent[] = [];
  const client = new RpcClient<object>((message) => void sent.push(message as Sent), 7);
  return { client, sent };
}

test("each request has its own id, and gets the reply with that id in any order", async () => {
  const { client, sent } = connected();
  const [first, second] = [client.request({ type: "open" }), client.request({ type: "undo" })];
  expect(sent).toEqual([
    { id: 7, type: "open" },
    { id: 8, type: "undo" },
  ]);
  for (const { id, type } of sent.reverse())
    client.receive({ id, type: "done" })?.resolve({ to: type });
  expect(await Promise.all([first.reply, second.reply])).toEqual([{ to: "open" }, { to: "undo" }]);
  expect(client.pending).toEqual([]);
});

test("progress is passed on, and is not the reply", () => {
  const { client } = connected();
  const onProgress = vi.fn();
  const pending = client.request({ type: "save" }, { onProgress });
  const working = { id: 7, type: "working", what: "Writing", done: 1, total: 2 };
  expect(client.receive(working)).toBeUndefined();
  expect(onProgress).toHaveBeenCalledWith(working);
  expect(pending.begun).toBe(true);
  expect(client.receive({ id: 7, type: "saved" })).toBe(pending);
});

test("a reply with another client's id, or with none, settles no request", () => {
  const { client } = connected();
  client.request({ type: "open" });
  expect(client.receive({ id: 8, type: "scene_reply" })).toBeUndefined();
  expect(client.receive({ type: "scene_reply" })).toBeUndefined();
  expect(client.pending).toHaveLength(1);
});

test("a transport that fails rejects the request, and the next one goes on", async () => {
  let works = false;
  const client = new RpcClient<string>(() => {
    if (!works) throw new Error("The comm is closed.");
  });
  await expect(client.request({ type: "open" }).reply).rejects.toThrow("The comm is closed.");
  works = true;
  const next = client.request({ type: "open" });
  client.receive({ id: 2, type: "done" })?.resolve("here");
  expect(await next.reply).toBe("here");
});

test("when the kernel ends, pending requests are rejected and results kept", async () => {
  const { client } = connected();
  const answered = client.request({ type: "open" });
  answered.resolve({});
  const waiting = client.request({ type: "undo" });
  client.rejectAll(new KernelGone("gone"));
  expect(await answered.reply).toEqual({});
  await expect(waiting.reply).rejects.toBeInstanceOf(KernelGone);
});

test("a request given up before it is sent is not sent, and afterwards has no reply", async () => {
  const { client, sent } = connected();
  const abort = new AbortController();
  const waiting = client.request({ type: "search" }, { signal: abort.signal });
  abort.abort();
  await expect(waiting.reply).rejects.toThrow('"search" was given up');
  await expect(client.request({ type: "search" }, { signal: abort.signal }).reply).rejects.toThrow(
    "given up",
  );
  expect(sent).toHaveLength(1);
});

test("only an object with a type is a message", () => {
  expect([{ type: "a" }, null, "a", { type: 1 }, {}].map(isMessage)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});
