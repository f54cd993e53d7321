import { describe, expect, test } from "vitest";
import type { Actions } from "../src/actions";
import { meaning, onCanvas, type Pressed } from "../src/keys";
import type { Parts } from "../src/panels/parts";
import type { Stage } from "../src/render/stage";
import { decodeScene } from "../src/scene";
import { DERIVATIONS } from "../src/selecting";
import { Store } from "../src/store";
import { opened } from "./kernel";
import { packed, sceneArrays } from "./made_up";

const INPUT = 1;
const NO_KEYS = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

/** Parts that write down what is asked of them. */
function watched() {
  const asked: unknown[][] = [];
  const recorder: object = new Proxy(
    {},
    {
      get: (_, name) =>
        name === "edits" ? recorder : (...all: unknown[]) => void asked.push([name, ...all]),
    },
  );
  const store = new Store();
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  store.set({ scene: decodeScene(fields, buffer), picked: "input" });
  const parts: Parts = { store, actions: recorder as Actions, stage: recorder as Stage };
  const press = (key: string, held: Partial<Pressed> = {}, where = meaning) => {
    where({ ...NO_KEYS, ...held, key }, parts)?.();
    return asked.splice(0);
  };
  return { press };
}

describe("keys", () => {
  test.each([
    ["b", "setTool", "box"],
    ["l", "setTool", "lasso"],
    ["u", "derive", "upstream"],
    ["d", "derive", "downstream"],
    ["e", "derive", "scope"],
    ["g", "derive", "grow"],
    ["s", "derive", "shrink"],
    ["p", "derive", "path"],
    ["P", "derive", "shortest"],
    ["!", "derive", "invert"],
    ["i", "mark", INPUT, "inputs"],
    ["o", "mark", INPUT, "outputs"],
    ["r", "refresh"],
    ["Backspace", "leave"],
    ["Delete", "removeSelected"],
    ["c", "compare"],
    ["Escape", "back"],
    ["f", "fit"],
  ])("%s", (key, ...expected) => {
    expect(watched().press(key)).toEqual([expected]);
  });

  test("with Ctrl or Cmd, undo and redo, and no letter of ours", () => {
    const { press } = watched();
    expect(press("z", { ctrlKey: true })).toEqual([["undo"]]);
    expect(press("Z", { metaKey: true, shiftKey: true })).toEqual([["redo"]]);
    expect(press("y", { ctrlKey: true })).toEqual([["redo"]]);
    for (const key of ["s", "r", "p", "l", "Backspace"]) expect(press(key, { ctrlKey: true })).toEqual([]);
  });

  test("Alt-Up leaves the room; no other key with Alt is ours", () => {
    const { press } = watched();
    expect(press("ArrowUp", { altKey: true })).toEqual([["leave"]]);
    expect(press("u", { altKey: true })).toEqual([]);
  });

  test("what is no key of ours means nothing", () => {
    const { press } = watched();
    for (const key of ["x", "constructor", "Tab", "q"]) expect(press(key)).toEqual([]);
  });

  test("on the drawing Enter goes through or into, Space and Ctrl-Enter select", () => {
    const { press } = watched();
    expect(press("Enter", {}, onCanvas).at(-1)).toEqual(["activate", INPUT, undefined]);
    expect(press(" ", {}, onCanvas)).toEqual([["toggleSelected", INPUT]]);
    expect(press("Enter", { ctrlKey: true }, onCanvas)).toEqual([["toggleSelected", INPUT]]);
  });

  test("no two things have the same key", () => {
    const others = ["b", "l", "i", "o", "f", "r", "/", "+", "=", "-", "Backspace", "Escape"];
    const keys = [...others, ...DERIVATIONS.map(({ key }) => key).filter(Boolean)];
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("Escape takes back one thing at a time", () => {
  test("the box that is drawn, the tool, the message", async () => {
    const { actions, store } = await opened();
    store.set({ tool: "lasso", status: { kind: "notice", text: "x" } });
    store.set({ region: { shape: "lasso", points: [], verb: "set" } });
    actions.back();
    expect(store.value).toMatchObject({ region: null, tool: "lasso" });
    actions.back();
    expect(store.value).toMatchObject({ tool: "pan", status: { text: "x" } });
    actions.back();
    expect(store.value.status).toBeNull();
  });

  test("another tool gives up the box that is drawn", async () => {
    const { actions, store } = await opened();
    store.set({ region: { shape: "box", points: [], verb: "set" } });
    actions.setTool("lasso");
    expect(store.value).toMatchObject({ region: null, tool: "lasso" });
  });
});
