// What the inspector shows follows the graph.
import { describe, expect, test, vi } from "vitest";
import { examinedKey, isAbout } from "../../src/panels/inspector/op-details";
import { rgba, scaleOf } from "../../src/panels/inspector/preview";
import type { ExamineReply } from "../../src/protocol/messages";
import type { Answer } from "../../src/rpc/model-channel";
import { newName } from "../../src/state/reply-handler";
import { drawn, painted, plainForm } from "../example-graph";
import { CLOSED_SCOPE, INPUT, inspected, NOTHING, OP_IN_SCOPE, opened, refused } from "../kernel";

/** Looking at the input, with these answers to come. */
async function looking(...answers: (Answer | Error)[]) {
  const all = await opened(inspected("input"), ...answers);
  await all.actions.inspectItem(INPUT);
  all.sent.length = 0;
  return all;
}

test("after a new drawing it is asked again, once", async () => {
  const peers = [
    { name: "input:0", dtype: "float32", shape: "[]", peers: ["late"], peer_count: 1, value: null },
  ];
  const { actions, sent, store } = await looking(
    drawn({ revision: 2 }),
    inspected("input", { outputs: peers }),
  );
  await actions.refresh();
  await vi.waitFor(() => expect(store.value.details?.outputs).toEqual(peers));
  expect(store.value.pending).toBe(0);
  expect(sent).toEqual([{ type: "refresh" }, { type: "inspect", name: "input" }]);
});

test("what says the same again is left in peace", async () => {
  const { actions, sent, store } = await looking(drawn({ revision: 2 }), inspected("input"));
  const before = store.value.details;
  await actions.toggle(CLOSED_SCOPE);
  await vi.waitFor(() => expect(store.value.pending).toBe(0));
  expect(sent).toHaveLength(2);
  expect(store.value.details).toBe(before);
});

test.each([
  ["refuses", refused("There is no op 'input'.", ["input"])],
  ["fails", new Error("The kernel has not answered.")],
])("an op that is gone clears it, and the kernel's news stay: it %s", async (_, answer) => {
  const { actions, store } = await looking(drawn({}, "", { text: "Undone: copy" }), answer);
  await actions.edits.jump(1);
  await vi.waitFor(() => expect(store.value.details).toBeNull());
  expect(store.value).toMatchObject({
    picked: "",
    status: { kind: "notice", text: "Undone: copy" },
    warned: [],
  });
});

test("what is like it is selected together with it", async () => {
  const alike = { alike: ["tower_1/net/", "tower_2/net/"], alike_count: 2 };
  const { actions, sent, store } = await opened(
    inspected("tower_0/net/", alike),
    painted({}, [0, 0, 0, 0, 0]),
  );
  await actions.inspectItem(INPUT);
  sent.length = 0;
  const { name, alike: others } = store.value.details ?? inspected("");
  await actions.selectAll([name, ...others]);
  const scopes = ["tower_0/net", "tower_1/net", "tower_2/net"];
  expect(sent).toEqual([{ type: "select", command: "set", ops: [], scopes }]);
});

test("a change of selection asks nothing", async () => {
  const { actions, sent } = await looking(painted({ selected_ops: 1 }, [0, 2, 0, 0, 0]));
  await actions.toggleSelected(INPUT);
  expect(sent.map(({ type }) => type)).toEqual(["select"]);
});

test("with nothing in it nothing is asked", async () => {
  const { actions, sent } = await opened(drawn());
  await actions.refresh();
  expect(sent).toEqual([{ type: "refresh" }]);
});

test("in another room it is empty, and an answer on its way does not fill it", async () => {
  const { actions, sent, store } = await looking(drawn({ path: ["graph", "body"] }));
  await actions.activate(OP_IN_SCOPE);
  expect(sent.map(({ type }) => type)).toEqual(["enter"]);
  expect(store.value).toMatchObject({ picked: "", details: null });
});

test("who reveals an op looks at that one, not first again at the last", async () => {
  const { actions, sent, store } = await looking(drawn({}, "net"), inspected("net"));
  await actions.reveal("net");
  expect(sent.map((request) => ("name" in request ? request.name : ""))).toEqual(["net", "net"]);
  expect(store.value.details?.name).toBe("net");
});

function examined(name: string, change: Partial<ExamineReply> = {}): Answer {
  return {
    type: "examine_reply",
    name,
    value: null,
    why: "",
    images: [],
    summary: "",
    about: "",
    arguments: [],
    created: [],
    signature: [],
    ...change,
    buffer: NOTHING,
  };
}

describe("what there is to say beyond the wiring", () => {
  test("is asked beside all turns, and no refusal of it is shown", async () => {
    const { actions, sent, store } = await looking(
      examined("input", { summary: "A placeholder." }),
      refused("No."),
    );
    await actions.examine("input");
    expect(store.value.examined?.summary).toBe("A placeholder.");
    await actions.examine("input");
    expect(store.value).toMatchObject({
      status: null,
      pending: 0,
      examined: { summary: "A placeholder." },
    });
    expect(sent).toEqual([
      { type: "examine", name: "input" },
      { type: "examine", name: "input" },
    ]);
  });

  test("is not waited for once another op is looked at", async () => {
    const { actions, store } = await looking(examined("input"), examined("net"));
    const first = actions.examine("input");
    const second = actions.examine("net");
    await Promise.all([first, second]);
    expect(store.value.examined?.name).toBe("net");
  });

  test("a kernel that fails says nothing", async () => {
    const { actions, store } = await looking(new Error("The kernel has not answered."));
    await actions.examine("input");
    expect(store.value).toMatchObject({ status: null, examined: null });
  });

  test("is shown with the op that it is about only", () => {
    const about = (name: string) => ({ ...examined(name), type: "examine_reply" }) as ExamineReply;
    const details = inspected("input");
    expect(isAbout(about("input"), details)).toBe(true);
    expect(isAbout(about("net"), details)).toBe(false);
    expect(isAbout(about("net"), null)).toBe(false);
    expect(isAbout(null, details)).toBe(false);
  });
});

describe("previews", () => {
  test("each gray value is a pixel, opaque", () => {
    expect([...rgba(btoa("\x00\x80\xff"), 3)]).toEqual([
      0, 0, 0, 255, 128, 128, 128, 255, 255, 255, 255, 255,
    ]);
  });

  test("small ones are drawn larger, by whole pixels", () => {
    expect(scaleOf({ width: 3, height: 3 })).toBe(32);
    expect(scaleOf({ width: 7, height: 5 })).toBe(13);
    expect(scaleOf({ width: 3, height: 3 }, 16)).toBe(18);
    expect(scaleOf({ width: 64, height: 1 })).toBe(2);
    expect(scaleOf({ width: 0, height: 0 })).toBe(96);
  });
});

describe("after an edit", () => {
  const peers = (...names: string[]) => [
    {
      name: "input:0",
      dtype: "float32",
      shape: "[]",
      peers: names,
      peer_count: names.length,
      value: null,
    },
  ];

  test("a click on Clone costs one request: the reply has what the inspector shows", async () => {
    const after = inspected("input", { outputs: peers("net", "copy/net") });
    const { actions, sent, store } = await looking(
      drawn({ revision: 2 }, "copy", { text: "Cloned 5 ops.", inspected: after }),
    );
    expect(await actions.clone(plainForm)).toBe(true);
    await vi.waitFor(() => expect(store.value.pending).toBe(0));
    expect(sent).toEqual([
      { type: "clone", inputs: [], outputs: [], ...plainForm, inspected: "input" },
    ]);
    expect(store.value).toMatchObject({ picked: "input", details: { outputs: after.outputs } });
  });

  test("a refused click costs one request, and changes nothing but the message", async () => {
    const { actions, sent, store } = await looking(refused("'copy' is taken."));
    const before = store.value.details;
    expect(await actions.clone(plainForm)).toBe(false);
    expect(sent).toHaveLength(1);
    expect(store.value.details).toBe(before);
  });

  test("a failed click was not made, and says why", async () => {
    const { actions, store } = await looking(new Error("The kernel has not answered."));
    expect(await actions.clone(plainForm)).toBe(false);
    expect(store.value.status).toEqual({ kind: "error", text: "The kernel has not answered." });
  });

  test("a new consumer changes nothing of an op's value and documentation", () => {
    const op = inspected("input", { outputs: peers("net") });
    expect(examinedKey({ ...op, outputs: peers("net", "copy/net") })).toBe(examinedKey(op));
    expect(
      examinedKey({ ...op, attributes: [{ name: "shape", text: "[2]", settable: true }] }),
    ).not.toBe(examinedKey(op));
    expect(examinedKey({ ...op, outputs: [] })).not.toBe(examinedKey(op));
    const scope = { ...op, name: "net/", op_type: "" };
    expect(examinedKey({ ...scope, outputs: [] })).toBe(examinedKey(scope));
  });

  test("an op that was clicked meanwhile is inspected by a request of its own", async () => {
    const { actions, sent, store } = await looking(
      drawn({ revision: 2 }, "", { inspected: inspected("input") }),
      inspected("net"),
    );
    const cloning = actions.clone(plainForm);
    await Promise.resolve();
    store.set({ picked: "net" });
    await cloning;
    await vi.waitFor(() => expect(store.value.details?.name).toBe("net"));
    expect(sent.at(-1)).toEqual({ type: "inspect", name: "net" });
  });

  test("the inspector stays with an op that was renamed", async () => {
    const { actions, sent, store } = await looking(
      drawn({}, "", {
        text: "1 op changed.",
        renamed: [["input", "x"]],
        inspected: inspected("x"),
      }),
    );
    await actions.edits.change("rename", ["input"], { new: '"x"' });
    expect(store.value).toMatchObject({ picked: "x", details: { name: "x" } });
    expect(sent).toHaveLength(1);
  });

  test("a refused rename leaves it where it was", async () => {
    const { actions, store } = await looking(refused("'x' is taken."));
    await actions.edits.change("rename", ["input"], { new: '"x"' });
    expect(store.value).toMatchObject({ picked: "input", details: { name: "input" } });
  });

  test.each([
    ["net/", "web/"],
    ["net/w", "web/w"],
    ["network", "network"],
    ["a/w", "a/v"],
    ["a/w/read", "a/v/read"],
    ["a/", "a/"],
    ["", ""],
  ])("by the names that the reply lists, %s is %s", (key, expected) => {
    const renamed: [string, string][] = [
      ["net", "web"],
      ["a/w", "a/v"],
    ];
    expect(newName(key, renamed)).toBe(expected);
  });
});
