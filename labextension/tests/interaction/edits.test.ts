import { describe, expect, test, vi } from "vitest";
import { type Choice, DragConnect, onlySlot } from "../../src/interaction/drag-connect";
import { commandsFor, commandsForPart, moveCommand } from "../../src/panels/controls/edit-commands";
import { argumentsOf, splitName } from "../../src/panels/controls/form-fields";
import { brokenText, rangeText } from "../../src/panels/inspector/value-summary";
import type { InspectReply, RewireTargets, TensorValue } from "../../src/protocol/messages";
import type { Answer } from "../../src/rpc/model-channel";
import { drawn, painted } from "../example-graph";
import { CLOSED_SCOPE, INPUT, inspected, OP_IN_SCOPE, opened, refused } from "../kernel";

const HERE = { x: 10, y: 20 };

describe("edits", () => {
  test("a change sends names, and its arguments as Python", async () => {
    const { actions, sent } = await opened(drawn({ revision: 2 }, "", { text: "1 op changed." }));
    const done = await actions.edits.change("reroute", ["a:0"], { to: '"b:0"', only: '["c"]' });
    expect(sent).toEqual([
      {
        type: "change",
        command: "reroute",
        what: ["a:0"],
        keys: ["to", "only"],
        values: ['"b:0"', '["c"]'],
        variables: [],
        inspected: "",
      },
    ]);
    expect(done).toBe(true);
  });

  test("a run is done too where it answers with a new drawing, as it added ops", async () => {
    const { actions } = await opened(
      drawn({ revision: 2 }, "", { text: "x:0: 1." }),
      drawn({ revision: 3 }, "", { text: "Measured." }),
      painted({}, [0, 0, 0, 0, 0]),
      refused("No."),
    );
    expect(await actions.edits.probe("x")).toBe(true);
    expect(await actions.edits.measure()).toBe(true);
    expect(await actions.edits.measure()).toBe(true);
    expect(await actions.edits.measure()).toBe(false);
  });

  test("trust is asked for if the file is not trusted; the inspector is filled again", async () => {
    const untrusted = "Ops of this file may write files (1 op).";
    const { actions, store, sent } = await opened(
      drawn({ untrusted }),
      inspected("x", { effects: ["Op 'x' writes a file."] }),
      { ...refused("Not run."), trust: true } as Answer,
      inspected("x", { effects: ["Op 'x' writes a file."] }),
      { ...painted({}, [0, 0, 0, 0, 0]), text: "This file is trusted now." },
      inspected("x"),
    );
    await actions.reopen();
    await actions.inspect("x");
    expect(await actions.edits.probe("x")).toBe(false);
    expect(store.value.status).toEqual({ kind: "refused", text: "Not run.", trust: true });
    await actions.edits.trust();
    await vi.waitFor(() => expect(store.value.details?.effects).toEqual([]));
    expect(store.value.status).toEqual({ kind: "notice", text: "This file is trusted now." });
    const count = sent.length;
    await actions.edits.trust();
    expect(sent).toHaveLength(count);
    expect(sent.filter(({ type }) => type === "trust")).toHaveLength(1);
  });

  test("a refusal keeps its ways out for the buttons, and the change was not done", async () => {
    const fixes = [{ text: "Insert a Cast", line: "editor.connect(…)" }];
    const { actions, store, sent } = await opened(
      { ...refused("No."), fixes } as Answer,
      drawn({}, "", { text: "Done." }),
    );
    expect(await actions.edits.change("connect", ["a:0", "b"])).toBe(false);
    expect(store.value.status).toEqual({ kind: "refused", text: "No.", fixes });
    await actions.edits.fix("editor.connect(…)");
    expect(sent[1]).toEqual({ type: "fix", line: "editor.connect(…)", inspected: "" });
    expect(store.value.status).toEqual({ kind: "notice", text: "Done." });
  });

  test("a jump to where one is sends nothing", async () => {
    const { actions, sent } = await opened();
    await actions.edits.jump(0);
    await actions.edits.jump(2);
    expect(sent).toEqual([{ type: "jump", to: 2, inspected: "" }]);
  });

  test("comparing is turned on, and off again", async () => {
    const { actions, sent } = await opened(painted({ comparing: true }, [0, 0, 0, 0, 0]));
    await actions.edits.compare();
    await actions.edits.compare();
    expect(sent).toEqual([
      { type: "compare", show: true, source: "" },
      { type: "compare", show: false, source: "" },
    ]);
  });

  test("Delete removes the selection, else what is looked at, else says what to do", async () => {
    const { actions, store, sent } = await opened(drawn(), drawn({ selected_ops: 2 }));
    await actions.removeSelected();
    expect(store.value.status?.kind).toBe("refused");
    store.set({ picked: "net/dense/" });
    await actions.removeSelected();
    expect(sent[0]).toMatchObject({ command: "remove", what: ["net/dense/"] });
  });
});

describe("forms", () => {
  test("text is quoted, Python is not, and what may be empty is left out", () => {
    const fields = [
      { key: "new", label: "Name" },
      { key: "value", label: "Value", kind: "python" as const },
      { key: "dtype", label: "Dtype", optional: true },
    ];
    expect(argumentsOf(fields, { new: ' a"b ', value: "[1, 2]", dtype: " " })).toEqual({
      new: '"a\\"b"',
      value: "[1, 2]",
    });
  });

  const op = (change: Partial<InspectReply>) =>
    inspected("a/b", {
      op_type: "Relu",
      inputs: [
        {
          name: "x:0",
          dtype: "float32",
          shape: "(None, 3)",
          peers: ["x"],
          peer_count: 1,
          value: null,
        },
      ],
      outputs: [
        {
          name: "a/b:0",
          dtype: "float32",
          shape: "(None, 3)",
          peers: [],
          peer_count: 0,
          value: null,
        },
      ],
      shape: "(None, 3)",
      ...change,
    });
  const names = (details: InspectReply) => commandsFor(details).map(({ command }) => command);

  test("an op gets the edits that make sense for it", () => {
    expect(names(op({}))).toEqual([
      "bypass",
      "remove",
      "detach",
      "set_device",
      "rename",
      "replace",
      "insert",
      "add_control_inputs",
    ]);
    expect(names(op({ op_type: "NoOp", inputs: [], outputs: [] }))).not.toContain("bypass");
    const placeholder = op({ op_type: "Placeholder", inputs: [] });
    expect(names(placeholder)).toEqual(expect.arrayContaining(["set_input", "set_constant"]));
    expect(
      commandsFor(placeholder).find(({ command }) => command === "set_input")?.fields?.[0]?.initial,
    ).toBe("(None, 3)");
    const constant = commandsFor(op({ op_type: "Const", inputs: [], value: "[1, 2]" }));
    expect(constant.find(({ command }) => command === "set_constant")?.fields?.[0]?.initial).toBe(
      "[1, 2]",
    );
  });

  test("a scope is edited by its name with a slash, and renamed without", () => {
    const commands = commandsFor(op({ name: "net/", op_type: "" }));
    expect(commands.every(({ what }) => what[0] === "net/")).toBe(true);
    const rename = commands.find(({ command }) => command === "rename");
    expect(rename?.fields?.[0]).toMatchObject({ initial: "net", prefix: "" });
  });

  test("training is offered of a scope, a selection or an op with a variable to optimize", () => {
    expect(names(op({ name: "net/", op_type: "", variables: 2, trainable: 1 }))).toContain(
      "set_trainable",
    );
    expect(names(op({ name: "net/", op_type: "", variables: 2 }))).not.toContain("set_trainable");
    expect(names(op({ op_type: "VarHandleOp", variables: 1, trainable: 1 }))).toContain(
      "set_trainable",
    );
    expect(names(op({ op_type: "VarHandleOp", variables: 1 }))).not.toContain("set_trainable");
    const ofPart = (variables: boolean) =>
      commandsForPart([], variables).map(({ command }) => command);
    expect(ofPart(true).filter((command) => !ofPart(false).includes(command))).toEqual([
      "set_trainable",
    ]);
  });
});

test("a rename edits the last part of a name, and its scope stays", () => {
  expect(splitName("a/b/relu")).toEqual({ initial: "relu", prefix: "a/b/" });
  const field = { key: "new", label: "Name", ...splitName("a/b/relu") };
  expect(argumentsOf([field], { new: " elu " })).toEqual({ new: '"a/b/elu"' });
});

test("a move keeps the last part of a name, and may leave all scopes", () => {
  const command = moveCommand({ name: "a/b/relu/" } as InspectReply);
  const [field] = command.fields ?? [];
  expect(command.what).toEqual(["a/b/relu/"]);
  expect(field).toMatchObject({ initial: "a/b" });
  expect(argumentsOf(command.fields ?? [], { new: "net/" })).toEqual({ new: '"net/relu"' });
  expect(argumentsOf(command.fields ?? [], { new: "" })).toEqual({ new: '"relu"' });
});

describe("values", () => {
  const seen: TensorValue = {
    dtype: "float32",
    shape: "(2, 3)",
    value: "",
    low: "-1",
    mean: "0.5",
    std: "1",
    high: "2",
    nans: 0,
    infs: 0,
    bars: [],
    sample: "",
    images: [],
  };
  test.each([
    [seen, "2×3 · -1 … 2, mean 0.5, std 1"],
    [{ ...seen, low: "6", high: "6" }, "2×3 · all 6"],
    [{ ...seen, low: "6", high: "6", nans: 1 }, "2×3 · all others 6"],
    [{ ...seen, low: "" }, "2×3"],
  ])("%#", (what, text) => expect(rangeText(what)).toBe(text));

  test("what is not finite is counted", () => {
    expect(brokenText({ ...seen, nans: 1200, infs: 1 })).toBe("1,200 NaN, 1 infinite");
  });
});

describe("dragging from a port", () => {
  const told = (change: Partial<RewireTargets>): RewireTargets => ({
    type: "rewire_targets",
    tensor: "input:0",
    outputs: ["input:0"],
    op: "",
    refused: [],
    slots: [],
    ...change,
  });

  /** Aiming above `item` of the made-up graph, with a kernel that answers from a list. */
  async function aimed(item: number, ...answers: RewireTargets[]) {
    const { store, actions } = await opened();
    const change = vi.fn(async () => true);
    const targets = vi.fn(async () => answers.shift() ?? null);
    const menus: (readonly Choice[])[] = [];
    const dragConnect = new DragConnect({
      store,
      stage: { itemAt: () => item },
      edits: { targets, change },
      say: (status) => actions.showStatus(status),
      menu: (_, choices) => menus.push(choices),
    });
    return { store, dragConnect, change, targets, menus };
  }

  test("the ops that cannot read the tensor are known by their reasons", async () => {
    const { store, dragConnect } = await aimed(
      OP_IN_SCOPE,
      told({ refused: [["net", "It is float64."]] }),
    );
    await dragConnect.begin("input", HERE);
    expect(dragConnect.whyNot(OP_IN_SCOPE)).toBe("It is float64.");
    expect(dragConnect.whyNot(INPUT)).toBe("");
    dragConnect.move({ x: 1, y: 2 });
    expect(store.value.connecting).toMatchObject({ tensor: "input:0", point: { x: 1, y: 2 } });
  });

  test("let go over an op, it reads the tensor at its only input that can", async () => {
    const slots = [
      { tensor: "a:0", why: "It is int32." },
      { tensor: "b:0", why: "" },
    ];
    const { store, dragConnect, change } = await aimed(
      OP_IN_SCOPE,
      told({}),
      told({ op: "net", slots }),
    );
    await dragConnect.begin("input", HERE);
    await dragConnect.drop(HERE);
    expect(change).toHaveBeenCalledWith("connect", ["input:0", "net"], { k: "1" });
    expect(store.value.connecting).toBeNull();
  });

  test("of several inputs the person chooses one", async () => {
    const slots = ["a:0", "b:0"].map((tensor) => ({ tensor, why: "" }));
    const { dragConnect, change, menus } = await aimed(
      OP_IN_SCOPE,
      told({}),
      told({ op: "net", slots }),
    );
    await dragConnect.begin("input", HERE);
    await dragConnect.drop(HERE);
    expect(change).not.toHaveBeenCalled();
    expect(menus[0]?.map(({ text }) => text)).toEqual([
      "Input 0, replaces a:0",
      "Input 1, replaces b:0",
    ]);
    menus[0]?.[1]?.act();
    expect(change).toHaveBeenCalledWith("connect", ["input:0", "net"], { k: "1" });
  });

  test("of several outputs the person chooses one first", async () => {
    const { store, dragConnect, targets, menus } = await aimed(
      INPUT,
      told({ tensor: "", outputs: ["net:0", "net:1"] }),
      told({ tensor: "net:1" }),
    );
    await dragConnect.begin("net", HERE);
    expect(store.value.connecting).toBeNull();
    menus[0]?.[1]?.act();
    expect(targets).toHaveBeenLastCalledWith("net:1");
  });

  test.each([
    [CLOSED_SCOPE, /closed scope: open it/],
    [0, null],
    [INPUT, null],
  ])("let go over item %i nothing changes", async (item, text) => {
    const { store, dragConnect, change } = await aimed(item, told({}));
    await dragConnect.begin("input", HERE);
    await dragConnect.drop(HERE);
    expect(change).not.toHaveBeenCalled();
    if (text) expect(store.value.status?.text).toMatch(text);
    else expect(store.value.status).toBeNull();
  });

  test("one input is taken though it cannot read the tensor: the kernel gives a fix", () => {
    expect(onlySlot([{ tensor: "a:0", why: "It is int32." }])).toBe(0);
    expect(onlySlot([])).toBe(-1);
  });

  test("an answer that comes after Escape changes nothing", async () => {
    const { store, dragConnect } = await aimed(INPUT, told({}));
    const begun = dragConnect.begin("input", HERE);
    dragConnect.cancel();
    await begun;
    expect(store.value.connecting).toBeNull();
  });
});
