import { describe, expect, test, vi } from "vitest";
import type { Actions } from "../../src/interaction/actions";
import { BINDINGS, GROUPS, keyCaps } from "../../src/interaction/key-bindings";
import { actionFor, type KeyPress } from "../../src/interaction/keyboard";
import { NavigationCursor } from "../../src/interaction/keyboard-nav";
import { SELECTION_COMMANDS } from "../../src/interaction/selection-commands";
import { EDIT_BUTTONS } from "../../src/protocol/messages";
import { decodeScene } from "../../src/protocol/scene";
import type { Stage } from "../../src/render/stage";
import { type Screen, Store } from "../../src/state/store";
import { packed, painted, sceneArrays, state } from "../example-graph";
import { opened } from "../kernel";

const INPUT = 1;
const NET = 2;
const DENSE = 3;
const OP = 4;
const NO_KEYS = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

/** Hands that write down what is asked of them. */
function watched(change: Partial<Screen> = {}, readOnly = false, seen: number[] = []) {
  const asked: unknown[][] = [];
  const recorder: object = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === "edits") return recorder;
        if (name === "boxesIn") return () => seen;
        if (name === "viewport") return { width: 800, height: 600 };
        return name === "middle"
          ? { x: 0, y: 0 }
          : (...all: unknown[]) => void asked.push([name, ...all]);
      },
    },
  );
  const store = new Store();
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  store.set({ scene: decodeScene(fields, buffer), state: state(), picked: "input", ...change });
  const before = store.value;
  const hands = {
    store,
    actions: recorder as Actions,
    stage: recorder as Stage,
    find: () => void asked.push(["find"]),
    menu: () => void asked.push(["menu"]),
    clone: () => void asked.push(["clone"]),
    cursor: new NavigationCursor(),
    readOnly,
  };
  const press = (key: string, held: Partial<KeyPress> = {}, drawing = true) => {
    actionFor({ ...NO_KEYS, ...held, key }, hands, drawing)?.();
    return asked.splice(0);
  };
  return { press, store, changed: () => store.value !== before };
}

/** "Ctrl+Shift+z" as a keyboard would send it. */
function pressedOf(chord: string): [string, Partial<KeyPress>] {
  const parts = chord === "+" ? [chord] : chord.split("+");
  const key = parts.pop() ?? "";
  const held = (name: string) => parts.includes(name);
  return [
    key,
    {
      ctrlKey: held("Ctrl"),
      altKey: held("Alt"),
      shiftKey: held("Shift") || /^[A-Z?!]$/.test(key),
    },
  ];
}

describe("keys", () => {
  test("without a kernel, keys that need one mean nothing", () => {
    const needed = GROUPS.flatMap(({ bindings }) => bindings.filter(({ kernel }) => kernel));
    expect(needed.map(({ keys }) => keys[0])).toEqual([
      ...["c", "Delete", "Ctrl+z", "Ctrl+y", "X", "D", "U", "r"],
    ]);
    for (const chord of needed.flatMap(({ keys }) => keys)) {
      const page = watched({}, true);
      expect(page.press(...pressedOf(chord))).toEqual([]);
      expect(page.changed()).toBe(false);
    }
    expect(watched({}, true).press("u")).toEqual([["derive", "upstream"]]);
  });

  test.each([...BINDINGS.keys()])("%s in the table acts", (chord) => {
    const acts = ["", "net/", "net/dense/"].some((picked) => {
      const found = { hitNames: ["input", "net", "net/dense"], hit: 1 };
      const { press, changed } = watched({ picked, state: state({ hidden: 1 }), ...found });
      return press(...pressedOf(chord)).length > 0 || changed();
    });
    expect(acts).toBe(true);
  });

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
    ["h", "changeView", { type: "hide", command: "hide", names: ["input"] }],
    ["H", "changeView", { type: "hide", command: "only", names: ["input"] }],
    ["E", "changeView", { type: "expand_all", everything: true }],
    ["C", "changeView", { type: "expand_all", everything: false }],
    ["D", "changeView", { type: "set_direction", direction: "right" }],
    ["U", "resetLayout", { width: 800, height: 600 }],
    ["/", "find"],
    ["r", "refresh"],
    ["Backspace", "leave"],
    ["Delete", "removeSelected"],
    ["c", "clone"],
    ["X", "compare"],
    ["Escape", "cancel"],
    ["f", "fit"],
  ])("%s", (key, ...expected) => {
    expect(watched().press(key, {}, false)).toEqual([expected]);
  });

  test("Shift-F10 and the menu key open a menu, on the drawing alone", () => {
    const { press } = watched();
    expect(press("F10", { shiftKey: true })).toEqual([["menu"]]);
    expect(press("ContextMenu")).toEqual([["menu"]]);
    expect(press("ContextMenu", {}, false)).toEqual([]);
  });

  test("t, m and ? switch what is on the screen", () => {
    const { press, store } = watched();
    for (const key of ["t", "m", "?"]) press(key);
    expect(store.value).toMatchObject({ controls: false, minimap: false, helping: true });
    press("t");
    expect(store.value.controls).toBe(true);
  });

  test("with Ctrl or Cmd, undo and redo, and no letter of ours", () => {
    const { press } = watched();
    expect(press("z", { ctrlKey: true })).toEqual([["undo"]]);
    expect(press("Z", { metaKey: true, shiftKey: true })).toEqual([["redo"]]);
    expect(press("y", { ctrlKey: true })).toEqual([["redo"]]);
    for (const key of ["s", "r", "p", "l", "Backspace"])
      expect(press(key, { ctrlKey: true })).toEqual([]);
  });

  test("Alt-Up leaves the room; no other key with Alt is ours", () => {
    const { press } = watched();
    expect(press("ArrowUp", { altKey: true })).toEqual([["leave"]]);
    expect(press("u", { altKey: true })).toEqual([]);
  });

  test("what is not a key of ours means nothing", () => {
    const { press } = watched();
    for (const key of ["x", "constructor", "Tab", "q"]) expect(press(key)).toEqual([]);
  });

  test("on the drawing Enter goes into, with Shift all the way; Space and Ctrl-Enter select", () => {
    const { press } = watched();
    expect(press("Enter").at(-1)).toEqual(["activate", INPUT, undefined]);
    expect(press("Enter", { shiftKey: true }).at(-1)).toEqual(["toggle", INPUT, undefined, true]);
    expect(press(" ")).toEqual([["toggleSelected", INPUT]]);
    expect(press("Enter", { ctrlKey: true })).toEqual([["toggleSelected", INPUT]]);
  });

  test("a button keeps its own Enter, Space and arrows", () => {
    const { press } = watched();
    for (const key of ["Enter", " ", "ArrowDown", "PageDown"])
      expect(press(key, {}, false)).toEqual([]);
  });

  test("arrows walk from the current item, else begin at the first op; with Shift they pan", () => {
    expect(watched().press("ArrowDown")[0]).toEqual(["inspectItem", NET]);
    for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]) {
      expect(watched({ picked: "" }).press(key)[0]).toEqual(["inspectItem", INPUT]);
      expect(watched({ picked: "" }, false, [NET, DENSE, OP]).press(key)[0]).toEqual([
        "inspectItem",
        DENSE,
      ]);
    }
    const panned = [["setCamera", { x: 0, y: 60, zoom: 1 }]];
    expect(watched().press("ArrowDown", { shiftKey: true })).toEqual(panned);
  });

  test("no two things have the same key", () => {
    const keys = GROUPS.flatMap(({ bindings }) => bindings.flatMap(({ keys: some }) => some));
    expect(BINDINGS.size).toBe(keys.length);
    for (const { key, command } of SELECTION_COMMANDS.filter((each) => each.key))
      expect(watched().press(key), key).toEqual([["derive", command]]);
  });

  test("keys as on their caps", () => {
    expect(keyCaps("Ctrl+Shift+z")).toEqual(["Ctrl", "Shift", "Z"]);
    expect(keyCaps("E")).toEqual(["Shift", "E"]);
    expect(keyCaps("Shift+ArrowDown")).toEqual(["Shift", "↓"]);
    expect(keyCaps("+")).toEqual(["+"]);
    expect(keyCaps(" ")).toEqual(["Space"]);
  });
});

describe("Escape takes back one thing at a time", () => {
  test("the box that is drawn, the tool, the message", async () => {
    const { actions, store } = await opened();
    store.set({ tool: "lasso", status: { kind: "notice", text: "x" } });
    store.set({ region: { shape: "lasso", points: [], command: "set" } });
    actions.cancel();
    expect(store.value).toMatchObject({ region: null, tool: "lasso" });
    actions.cancel();
    expect(store.value).toMatchObject({ tool: "pan", status: { text: "x" } });
    actions.cancel();
    expect(store.value.status).toBeNull();
  });

  test("what Upstream has selected, after the message", async () => {
    const upstream = { ...painted({ selected_ops: 3 }, [0, 2, 1, 2, 2]), text: "A message." };
    const { actions, sent, store } = await opened(upstream, painted({}, [0, 0, 0, 0, 0]));
    await actions.toggleSelected(INPUT);
    actions.cancel();
    expect(store.value).toMatchObject({ status: null, state: { selected_ops: 3 } });
    actions.cancel();
    await vi.waitFor(() => expect(store.value.state?.selected_ops).toBe(0));
    expect(sent.at(-1)).toEqual({ type: "derive", command: "clear" });
    actions.cancel();
    expect(store.value.status).toBeNull();
    expect(sent).toHaveLength(2);
  });

  test("another tool gives up the box that is drawn", async () => {
    const { actions, store } = await opened();
    store.set({ region: { shape: "box", points: [], command: "set" } });
    actions.setTool("lasso");
    expect(store.value).toMatchObject({ region: null, tool: "lasso" });
  });
});

test.each([
  ...[
    "Zoom in",
    "Zoom out",
    "Cancel",
    "Refresh",
    "Toggle minimap",
    "Invert selection",
    "Reset layout",
  ],
  ...[
    "Expand all scopes",
    "Collapse all scopes",
    "Mark as input",
    "Mark as output",
    "Undo",
    "Redo",
  ],
])("a key does what JupyterLab, VS Code or TensorBoard call so: %s", (words) => {
  const texts = GROUPS.flatMap(({ bindings }) => bindings.map(({ what }) => what));
  expect(texts.filter((text) => text.split(/[:,]/)[0] === words)).toHaveLength(1);
});

test.each(["Add control dependency", "Device", "Detach", "Rename"])(
  "an edit is called %s",
  (words) => {
    expect(EDIT_BUTTONS.filter(({ name }) => name === words)).toHaveLength(1);
  },
);

test("help is a question mark", () => {
  const help = GROUPS.flatMap(({ bindings }) => bindings).filter(({ keys }) => keys.includes("?"));
  expect(help.map(({ what }) => what)).toEqual(["Show keys and gestures"]);
});
