import { describe, expect, test } from "vitest";
import {
  SELECTION_COMMANDS,
  type SelectionCommandName,
  whyNot,
} from "../../src/interaction/selection-commands";
import { cannotClone } from "../../src/panels/clone/clone-form";
import { drawn, painted, state } from "../example-graph";
import { CLOSED_SCOPE, INPUT, OP_IN_SCOPE, OPEN_SCOPE, opened, openedOn } from "../kernel";

const SOME = [0, 0, 1, 2, 2];
const region = (command: "set" | "add" | "remove") => ({
  shape: "box" as const,
  points: [],
  command,
});
const taken = (ops: string[], scopes: string[]) => ({ items: [], ops, scopes });

describe("box and lasso", () => {
  test.each(["set", "add", "remove"] as const)(
    "letting go sends what was taken: %s",
    async (command) => {
      const { actions, sent, store } = await opened(painted({ selected_ops: 5 }, SOME));
      await actions.selectRegion(taken(["input"], ["net/dense"]), region(command));
      expect(sent).toEqual([{ type: "select", command, ops: ["input"], scopes: ["net/dense"] }]);
      expect([...(store.value.paint?.coverage ?? [])]).toEqual(SOME);
    },
  );

  test("around nothing it keeps the selection, and says so", async () => {
    const { actions, sent, store } = await opened();
    await actions.selectRegion(taken([], []), region("set"));
    expect(sent).toEqual([]);
    expect(store.value.status).toMatchObject({
      kind: "notice",
      text: expect.stringContaining("completely inside"),
    });
  });

  test("more names than a message can carry go in several", async () => {
    const { actions, sent } = await opened(painted({}, SOME), painted({}, SOME), painted({}, SOME));
    const many = Array.from({ length: 45_000 }, (_, i) => `op_${i}`);
    await actions.selectRegion(taken(many, ["net"]), region("set"));
    const parts = sent.map((request) => (request.type === "select" ? request : null));
    expect(parts.map((part) => part?.command)).toEqual(["set", "add", "add"]);
    expect(parts.flatMap((part) => part?.ops)).toEqual(many);
    expect(parts.flatMap((part) => part?.scopes)).toEqual(["net"]);
  });
});

describe("Ctrl-click", () => {
  test.each([
    ["an op", INPUT, { ops: ["input"], scopes: [] }],
    ["a closed scope", CLOSED_SCOPE, { ops: [], scopes: ["net/dense"] }],
    ["an open scope", OPEN_SCOPE, { ops: [], scopes: ["net"] }],
  ])("toggles %s", async (_, item, names) => {
    const { actions, sent } = await opened(painted({}, SOME));
    await actions.toggleSelected(item);
    expect(sent).toEqual([{ type: "select", command: "toggle", ...names }]);
  });

  test("on the background does nothing", async () => {
    const { actions, sent } = await opened();
    await actions.toggleSelected(0);
    await actions.toggleSelected(-1);
    expect(sent).toEqual([]);
  });
});

describe("what can be made of a selection", () => {
  const commands = SELECTION_COMMANDS.map(({ command }) => command);
  const possible = (ops: number) =>
    commands.filter((command) => whyNot(command, state({ selected_ops: ops })) === "");

  test("of none, only its inverse", () => {
    expect(possible(0)).toEqual(["invert"]);
    expect(whyNot("upstream", state())).toContain("Nothing is selected");
    expect(whyNot("upstream", null)).toContain("Nothing is selected");
    expect(whyNot("invert", state({ ops: 0 }))).not.toBe("");
  });

  test("of two ops a path as well", () => {
    expect(possible(2)).toEqual(commands);
    expect(possible(1)).toEqual(
      commands.filter((command) => command !== "path" && command !== "shortest"),
    );
    expect(whyNot("path", state({ selected_ops: 1 }))).toContain("one is selected");
    expect(whyNot("shortest", state({ selected_ops: 1234 }))).toContain("1,234 are selected");
  });

  test("of tensors alone what leads on from them", () => {
    const tensors = { expression: "editor.ops('input:0')" };
    const some = commands.filter((command) => whyNot(command, state(tensors)) === "");
    expect(some).toEqual(["upstream", "downstream", "invert"]);
    expect(whyNot("grow", state(tensors))).toContain("Only tensors are selected");
    expect(whyNot("clear", state(tensors))).toBe("");
  });

  test("a boundary without a selection can be cleared", () => {
    expect(whyNot("clear", state())).not.toBe("");
    expect(whyNot("clear", state({ inputs: ["input"] }))).toBe("");
    expect(whyNot("clear", state({ selected_ops: 1 }))).toBe("");
  });

  test.each(commands)("%s is asked of the kernel", async (command) => {
    const { actions, sent } = await openedOn(drawn({ selected_ops: 2 }), painted({}, SOME));
    await actions.derive(command);
    expect(sent).toEqual([{ type: "derive", command }]);
  });

  test("what cannot work is refused here, with the reason", async () => {
    const { actions, sent, store } = await opened();
    await actions.derive("path");
    expect(sent).toEqual([]);
    expect(store.value.status).toEqual({ kind: "refused", text: whyNot("path", state()) });
  });

  test("the reason is looked for when the turn has come", async () => {
    const { actions, sent } = await opened(painted({ selected_ops: 2 }, SOME), painted({}, SOME));
    await Promise.all([actions.toggleSelected(OP_IN_SCOPE), actions.derive("path")]);
    expect(sent.at(-1)).toEqual({ type: "derive", command: "path" satisfies SelectionCommandName });
  });

  test.each([
    ["a selection", { selected_ops: 3 }, ["derive"]],
    ["tensors", { expression: "editor.ops('input:0')" }, ["derive"]],
    ["a boundary", { inputs: ["input"] }, ["boundary"]],
    ["nothing", {}, []],
  ])("clearing %s sends what is needed", async (_, change, types) => {
    const { actions, sent } = await openedOn(drawn(change), painted({}, SOME), painted({}, SOME));
    await actions.clearSelection();
    expect(sent.map(({ type }) => type)).toEqual(types);
  });
});

describe("cloning is refused beforehand", () => {
  test("where the kernel cannot", () => {
    const editable = "The op type Foo is not known to TensorFlow here.";
    expect(cannotClone(state({ inputs: ["a"], outputs: ["b"], editable }))).toBe(editable);
  });

  test("and not for a selection without a boundary", () => {
    expect(cannotClone(state({ selected_ops: 3 }))).toBe("");
    expect(cannotClone(null)).toBe("");
  });
});
