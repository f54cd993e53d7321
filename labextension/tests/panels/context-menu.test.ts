// What a context menu is of, and what it lists for that.
import { describe, expect, test } from "vitest";
import type { Actions } from "../../src/interaction/actions";
import type { LineTensor } from "../../src/interaction/line-tensor";
import {
  entriesFor,
  type MenuContext,
  scopesLike,
  titleOf,
} from "../../src/panels/context-menu/entries";
import { isByKey } from "../../src/panels/context-menu/right-click";
import { type Target, targetAt, targetOf } from "../../src/panels/context-menu/target";
import type { EditCommand } from "../../src/panels/controls/edit-form";
import type { InspectReply, State } from "../../src/protocol/messages";
import { decodePaint, decodeScene, INPUT_MARK } from "../../src/protocol/scene";
import type { Stage } from "../../src/render/stage";
import { Store } from "../../src/state/store";
import { packed, paintArrays, sceneArrays, state } from "../example-graph";
import { CLOSED_SCOPE, INPUT, inspected, OP_IN_SCOPE, OPEN_SCOPE } from "../kernel";

const NONE = { item: 0, edge: -1, inside: false };

function world(
  change: Partial<State> = {},
  coverage: number[] = [0, 0, 0, 0, 0],
  readOnly = false,
  pair?: (name: string) => void,
) {
  const drawn = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(drawn.fields, drawn.buffer);
  const painted = packed(paintArrays(coverage));
  const paint = decodePaint(painted.fields, painted.buffer, scene.length);
  const store = new Store();
  store.set({ scene, paint, state: state(change) });
  const asked: unknown[][] = [];
  const recorder: object = new Proxy(
    {},
    {
      get: (_, name) =>
        name === "edits" ? recorder : async (...all: unknown[]) => void asked.push([name, ...all]),
    },
  );
  const context: MenuContext = {
    store,
    actions: recorder as Actions,
    stage: recorder as Stage,
    readOnly,
    pair,
    form: (command: EditCommand) =>
      void asked.push(["form", command.command, command.what, command.options]),
    otherGraph: ({ name }) => void asked.push(["otherGraph", name]),
    values: (name: string) => void asked.push(["values", name]),
    cloneForm: () => void asked.push(["cloneForm"]),
    anchor: () => undefined,
  };
  const hit = (change: Partial<typeof NONE>) =>
    targetAt({ ...NONE, ...change }, scene, store.value.paint, store.value.state);
  const entries = (target: Target, details: InspectReply | null = null) =>
    entriesFor(target, details, context).flat();
  const texts = (target: Target, details: InspectReply | null = null) =>
    entriesFor(target, details, context).map((group) => group.map(({ text }) => text));
  const choose = async (
    target: Target,
    id: string,
    details: InspectReply | null = null,
    line: LineTensor | null = null,
  ) => {
    await entriesFor(target, details, context, line)
      .flat()
      .find((entry) => entry.id === id)
      ?.act();
    return asked.splice(0);
  };
  return { store, scene, hit, entries, texts, choose };
}

const relu = (change: Partial<InspectReply> = {}) =>
  inspected("input", {
    op_type: "Relu",
    inputs: [
      { name: "x:0", dtype: "float32", shape: "(2)", peers: ["x"], peer_count: 1, value: null },
    ],
    outputs: [
      {
        name: "input:0",
        dtype: "float32",
        shape: "(2)",
        peers: ["net/dense/a"],
        peer_count: 1,
        value: null,
      },
    ],
    shape: "(2)",
    ...change,
  });

describe("what a menu is of", () => {
  test("the item, an edge on the background of a scope, or the canvas", () => {
    const { hit } = world();
    expect(hit({ item: INPUT })).toEqual({ kind: "op", item: INPUT, key: "input" });
    expect(hit({ item: CLOSED_SCOPE })).toEqual({
      kind: "scope",
      item: CLOSED_SCOPE,
      key: "net/dense/",
    });
    expect(hit({ item: OPEN_SCOPE, inside: true, edge: 1 })).toEqual({ kind: "edge", edge: 1 });
    expect(hit({ item: OPEN_SCOPE, inside: true })).toMatchObject({ kind: "scope" });
    expect(hit({ item: INPUT, edge: 1 })).toMatchObject({ kind: "op" });
    expect(hit({ edge: 0 })).toEqual({ kind: "edge", edge: 0 });
    expect(hit({})).toEqual({ kind: "canvas" });
  });

  test("the selection, on one of several selected items; not between boundary marks", () => {
    const selected = { selected_ops: 5, expression: "some" };
    const coverage = [0, 2, 1, 2, 0];
    expect(world(selected, coverage).hit({ item: INPUT })).toEqual({ kind: "selection" });
    expect(world(selected, coverage).hit({ item: OP_IN_SCOPE })).toMatchObject({ kind: "op" });
    expect(world({ selected_ops: 1 }, coverage).hit({ item: INPUT })).toMatchObject({ kind: "op" });
    expect(world({ ...selected, inputs: ["input"] }, coverage).hit({ item: INPUT })).toMatchObject({
      kind: "op",
    });
  });
});

test("a list names an op, a scope or a tensor, drawn or not", () => {
  const { scene } = world();
  expect(targetOf("input:0", scene)).toEqual({ kind: "op", item: INPUT, key: "input" });
  expect(targetOf("^input", scene)).toMatchObject({ kind: "op", item: INPUT });
  expect(targetOf("net/dense", scene)).toEqual({
    kind: "scope",
    item: CLOSED_SCOPE,
    key: "net/dense/",
  });
  expect(targetOf("net/dense/w:0", scene)).toEqual({ kind: "name", key: "net/dense/w" });
});

describe("what a menu lists", () => {
  test("of a name that is not drawn: what needs no place, and the way there", async () => {
    const { texts, choose } = world();
    const target = { kind: "name", key: "net/dense/w" } as const;
    expect(texts(target, relu({ name: "net/dense/w" }))).toEqual([
      ["Show in the drawing"],
      ["Clone …"],
      ["Bypass", "Replace …", "Insert after …", "Rename …", "Move to scope …", "Remove"],
      ["Upstream", "Downstream", "Hide"],
      ["Copy name", "Copy tensor name", "Values"],
      ["Find more like this"],
    ]);
    expect(await choose(target, "reveal", relu())).toEqual([["reveal", "net/dense/w"]]);
    // An edit has removed it, or the kernel is busy.
    expect(texts(target)).toEqual([["Copy name"]]);
  });

  test("of an op: the edits that make sense for it, its tensor, its marks as they are", () => {
    const { hit, texts, store } = world();
    const target = hit({ item: INPUT });
    expect(texts(target, relu())).toEqual([
      ["Clone …", "Mark as input", "Mark as output"],
      ["Bypass", "Replace …", "Insert after …", "Rename …", "Move to scope …", "Remove"],
      ["Upstream", "Downstream", "Hide"],
      ["Copy name", "Copy tensor name", "Values"],
      ["Find more like this"],
    ]);
    expect(texts(target, relu({ op_type: "NoOp", inputs: [], outputs: [] }))[1]).toEqual([
      "Rename …",
      "Move to scope …",
      "Remove",
    ]);
    store.value.paint?.mark.fill(INPUT_MARK);
    expect(texts(target)[0]).toContain("Unmark as input");
  });

  test("what needs no kernel while an op is unknown; without a kernel nothing else", () => {
    const { hit, texts } = world();
    expect(texts(hit({ item: INPUT }))).toEqual([
      ["Clone …", "Mark as input", "Mark as output"],
      ["Upstream", "Downstream", "Hide"],
      ["Copy name"],
    ]);
    const saved = world({}, undefined, true);
    expect(saved.texts(saved.hit({ item: INPUT }), relu()).flat()).toEqual([
      "Mark as input",
      "Mark as output",
      "Upstream",
      "Downstream",
      "Hide",
      "Copy name",
      "Copy tensor name",
      "Find more like this",
    ]);
  });

  test("in one of two panes, an op is paired with one of the other pane", async () => {
    const pairs: string[] = [];
    const { hit, choose, entries } = world({}, undefined, true, (name) => void pairs.push(name));
    const op = hit({ item: INPUT });
    await choose(op, "pair");
    expect(pairs).toEqual(["input"]);
    expect(entries(hit({ item: OPEN_SCOPE })).some(({ id }) => id === "pair")).toBe(false);
    const alone = world();
    expect(alone.entries(alone.hit({ item: INPUT })).some(({ id }) => id === "pair")).toBe(false);
  });

  test("more scopes are found by a name with other numbers", () => {
    expect(scopesLike("net/block_1/unit.12")).toBe("/(^|/)unit\\.\\d+(/|$)/");
  });

  test("no Clone where the graph cannot be cloned", () => {
    const { hit, texts } = world({ editable: "Its ops are not there." });
    expect(texts(hit({ item: INPUT }), relu()).flat()).not.toContain("Clone …");
  });

  test("no edits of a model that cannot be edited", () => {
    const why = "Edit the model that it was converted from.";
    const { hit, texts } = world({ editable: why, fixed: why, undo: "" });
    expect(texts(hit({ item: INPUT }), relu())).toEqual([
      ["Mark as input", "Mark as output"],
      ["Upstream", "Downstream", "Hide"],
      ["Copy name", "Copy tensor name", "Values"],
      ["Find more like this"],
    ]);
    expect(texts({ kind: "selection" }).flat()).not.toContain("Remove");
    expect(texts({ kind: "canvas" })).toContainEqual(["Compare with …"]);
  });

  test("of the canvas: undo and redo, if there are any, and the view", () => {
    expect(world().texts({ kind: "canvas" })).toEqual([
      ["Show the whole graph", "Expand all scopes", "Collapse all scopes", "Toggle minimap"],
      ["Add a model …", "Compare with …"],
    ]);
    const later = world({ undo: "editor.bypass('a')", selected_ops: 2, hidden: 3 });
    expect(later.texts({ kind: "canvas" }).flat()).toEqual(
      expect.arrayContaining([
        "Clone the selection …",
        "Undo",
        "Show hidden ops",
        "Clear the selection",
      ]),
    );
  });

  test("the heading names it", () => {
    const { scene, hit } = world();
    expect(titleOf(hit({ item: INPUT }), scene, state())).toBe("input · Placeholder");
    const twice = { ...scene, types: scene.names.map((name, k) => (k === INPUT ? name : "")) };
    expect(titleOf(hit({ item: INPUT }), twice, state())).toBe("input");
    expect(titleOf({ kind: "edge", edge: 0 }, scene, state())).toBe("input → net");
    expect(titleOf({ kind: "selection" }, scene, state({ selected_ops: 1200 }))).toBe(
      "1,200 selected ops",
    );
    expect(titleOf({ kind: "canvas" }, scene, state())).toBe("graph");
  });
});

test("no two entries of a menu have the same id, and those of commands say their keys", () => {
  const { hit, entries } = world({
    undo: "editor.bypass('a')",
    redo: "editor.bypass('b')",
    selected_ops: 2,
    hidden: 3,
  });
  const targets: Target[] = [
    hit({ item: INPUT }),
    hit({ item: CLOSED_SCOPE }),
    { kind: "selection" },
    { kind: "canvas" },
  ];
  for (const target of targets) {
    const ids = entries(target, relu()).map(({ id }) => id);
    expect(new Set(ids).size, String(ids)).toBe(ids.length);
  }
  const keys = Object.fromEntries(entries({ kind: "canvas" }).map(({ id, key }) => [id, key]));
  expect(keys).toMatchObject({ undo: "Ctrl+Z", redo: "Ctrl+Y", fit: "F", "expand-all": "Shift+E" });
});

describe("what an entry does", () => {
  test("Clone selects the item, then leads to the form", async () => {
    const { hit, choose } = world();
    const [select, form] = await choose(hit({ item: CLOSED_SCOPE }), "clone");
    expect(select?.slice(0, 2)).toEqual([
      "selectRegion",
      { items: [], ops: [], scopes: ["net/dense"] },
    ]);
    expect(form).toEqual(["cloneForm"]);
  });

  test("an edit with arguments shows its form, another is made", async () => {
    const { hit, choose } = world();
    const target = hit({ item: INPUT });
    expect(await choose(target, "replace", relu())).toEqual([
      ["form", "replace", ["input"], { remove: "True" }],
    ]);
    expect(await choose(target, "bypass", relu())).toEqual([
      ["change", "bypass", ["input"], { gradients: "True" }, []],
    ]);
  });

  test("an insert on an edge changes the consumer there alone", async () => {
    const { choose } = world();
    const edge = { kind: "edge", edge: 0 } as const;
    const line = { tensor: "input:0", only: ["net/dense/a"] };
    const details = relu({ outputs: [tensor(["net/dense/a"])] });
    expect(await choose(edge, "insert", details, line)).toEqual([
      ["form", "insert", ["input:0"], { only: '["net/dense/a"]' }],
    ]);
    expect(await choose(edge, "go-to-consumer")).toEqual([["reveal", "net/"]]);
  });
});

function tensor(peers: string[]) {
  return {
    name: "input:0",
    dtype: "float32",
    shape: "(2)",
    peers,
    peer_count: peers.length,
    value: null,
  };
}

test("a resting finger and Ctrl-click mean their place; the menu key the focus", () => {
  const mouse = { button: 2, ctrlKey: false, pointerType: "mouse" };
  const click = { button: 0, ctrlKey: true, pointerType: "mouse" };
  const finger = { button: 0, ctrlKey: false, pointerType: "touch" };
  const key = { button: -1, ctrlKey: false, pointerType: "mouse" };
  expect([mouse, click, finger, key].map(isByKey)).toEqual([false, false, false, true]);
  // of a browser whose event is not a PointerEvent
  expect(isByKey({ button: 0, ctrlKey: false })).toBe(true);
});
