// What the inspector shows follows the graph.
import { expect, test, vi } from "vitest";
import type { Answer } from "../src/channel";
import type { Inspected } from "../src/protocol";
import { CLOSED_SCOPE, INPUT, NOTHING, OP_IN_SCOPE, opened, refused } from "./kernel";
import { drawn, painted } from "./made_up";

function inspected(name: string, change: Partial<Inspected> = {}): Answer {
  return {
    type: "inspected",
    name,
    op_type: "Placeholder",
    device: "",
    ops: 1,
    variables: 0,
    inputs: [],
    outputs: [],
    control_inputs: [],
    attributes: [],
    doors: [],
    around: [],
    ...change,
    buffer: NOTHING,
  };
}

/** Looking at the input, with these answers to come. */
async function looking(...answers: (Answer | Error)[]) {
  const all = await opened(inspected("input"), ...answers);
  await all.actions.pick(INPUT);
  all.sent.length = 0;
  return all;
}

test("after a new drawing it is asked again, once", async () => {
  const peers = [{ name: "input:0", dtype: "float32", shape: "[]", peers: ["late"], seen: null }];
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
  const { actions, store } = await looking(drawn({ undo: "", notice: "Undone: copy" }), answer);
  await actions.refresh();
  await vi.waitFor(() => expect(store.value.details).toBeNull());
  expect(store.value).toMatchObject({
    picked: "",
    status: { kind: "notice", text: "Undone: copy" },
    warned: [],
  });
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
