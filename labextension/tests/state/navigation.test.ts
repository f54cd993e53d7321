import { describe, expect, test } from "vitest";
import { crumbsOf, fileName } from "../../src/panels/controls/breadcrumb";
import { emptyText, unreadWarnings } from "../../src/panels/controls/messages";
import { contextText, functionText } from "../../src/panels/inspector/inspector";
import type { SearchReply } from "../../src/protocol/messages";
import { boxOf, decodeScene } from "../../src/protocol/scene";
import { FIRST_FARTHEST, fitBox } from "../../src/render/camera/camera";
import { destination, firstLook } from "../../src/render/camera/destination";
import { graphKey } from "../../src/state/navigation";
import { drawn, packed, painted, sceneArrays, state } from "../example-graph";
import { CLOSED_SCOPE, INPUT, OP_IN_SCOPE, opened, openedOn } from "../kernel";

const INSIDE = ["graph", "body"];
const eye = { x: 12, y: 34, zoom: 0.7 };

describe("going in and out", () => {
  test("a function call is entered, a scope is opened, another op stays as it is", async () => {
    const { actions, sent } = await opened(drawn({ path: INSIDE }), drawn());
    await actions.activate(OP_IN_SCOPE);
    await actions.activate(CLOSED_SCOPE);
    await actions.activate(INPUT);
    expect(sent).toEqual([
      { type: "enter", op: "net", label: "" },
      { type: "toggle", scope: "net/dense", deep: false, stamp: "" },
    ]);
  });

  test("one of several functions is entered by its label", async () => {
    const { actions, sent } = await opened(drawn({ path: INSIDE }));
    await actions.enter("while", "cond");
    expect(sent).toEqual([{ type: "enter", op: "while", label: "cond" }]);
  });

  test("out by one, out to a crumb, and not out of the graph", async () => {
    const path = ["graph", "a", "b", "c"];
    const { actions, sent } = await openedOn(drawn({ path }), drawn({ path }), drawn());
    await actions.leave();
    await actions.leave(3);
    await actions.leave(0);
    await actions.leave();
    expect(sent).toEqual([
      { type: "leave", depth: 2 },
      { type: "leave", depth: 0 },
    ]);
  });

  test("each room keeps its camera, and is not looked at with another's", async () => {
    const { actions, store, arrivals } = await opened(
      drawn({ path: INSIDE }),
      drawn(),
      drawn({ path: INSIDE }),
    );
    store.set({ camera: eye });
    await actions.enter("net");
    expect(arrivals.at(-1)?.graphEntry).toEqual({ camera: null, inward: true });
    const within = { x: 1, y: 2, zoom: 1 };
    store.set({ camera: within });
    await actions.leave();
    expect(arrivals.at(-1)?.graphEntry).toEqual({ camera: eye, inward: false });
    await actions.enter("net");
    expect(arrivals.at(-1)?.graphEntry).toEqual({ camera: within, inward: true });
  });

  test("in the same room a new drawing is not an entrance", async () => {
    const { actions, arrivals } = await opened(drawn({ revision: 2 }));
    await actions.toggle(CLOSED_SCOPE);
    expect(arrivals.at(-1)?.graphEntry).toBeUndefined();
  });

  test("what was picked and found stays behind", async () => {
    const { actions, store } = await opened(drawn({ path: INSIDE }));
    const found = {
      type: "search_reply",
      hits: [],
      total: 0,
      why: "",
      scopes: 0,
      matches: null,
      excerpt: "",
      name_scopes: [],
    } satisfies SearchReply;
    store.set({ picked: "input", found, picking: { ask: "?", take: () => undefined } });
    await actions.enter("net");
    expect(store.value).toMatchObject({ picked: "", details: null, found: null, picking: null });
  });

  test("a selection in a room where another view has gone makes this one follow", async () => {
    const { actions, sent, store, arrivals } = await opened(
      painted({ path: INSIDE }, [0, 0, 0, 0, 0]),
      drawn({ path: INSIDE }),
    );
    await actions.toggleSelected(INPUT);
    await actions.catchUp(() => 0);
    expect(sent.at(-1)).toEqual({ type: "open", alone: false });
    expect(graphKey(store.value.state)).toBe("graph / body");
    expect(arrivals.at(-1)?.graphEntry).toEqual({ camera: null, inward: true });
  });

  test("a selection in a drawing that another view rearranged asks for that drawing", async () => {
    const { actions, sent, store } = await opened(
      painted({ revision: 9 }, [1, 0, 0, 0, 0], "moved"),
      drawn({ revision: 9 }, "", null, "moved"),
      painted({ revision: 9 }, [2, 0, 0, 0, 0], "moved"),
    );
    await actions.toggleSelected(INPUT);
    await actions.catchUp(() => 0);
    expect(sent.at(-1)).toEqual({ type: "open", alone: false });
    expect(store.value.scene?.stamp).toBe("moved");
    await actions.toggleSelected(INPUT);
    expect(sent.at(-1)?.type).toBe("select");
    expect(store.value.paint?.coverage[0]).toBe(2);
  });

  test("refreshing asks the kernel to read again", async () => {
    const { actions, sent } = await opened(drawn({ revision: 2 }));
    await actions.refresh();
    expect(sent).toEqual([{ type: "refresh" }]);
  });
});

describe("where the camera goes", () => {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  const viewport = { width: 800, height: 600 };
  const go = (arrival: Parameters<typeof destination>[3], camera = eye) =>
    destination(scene, camera, viewport, arrival);

  test("nowhere, by default", () => {
    expect(go({})).toEqual(eye);
  });

  test("into a new room with a first look, back into an old one where the eye was", () => {
    expect(go({ graphEntry: { camera: null, inward: true } })).toEqual(firstLook(scene, viewport));
    expect(go({ graphEntry: { camera: { x: 40, y: 90, zoom: 2 }, inward: false } })).toEqual({
      x: 40,
      y: 90,
      zoom: 2,
    });
  });

  test("to a first look at what wraps to another shape", () => {
    expect(go({ refit: true })).toEqual(firstLook(scene, viewport));
  });

  test("first, in a large drawing, to what there is in its upper part", () => {
    const large = { ...scene, box: Float32Array.from(scene.box, (side) => side * 20) };
    const { x, y, zoom } = firstLook(large, viewport);
    expect(zoom).toBe(FIRST_FARTHEST);
    // Only the input, which lies between 1000 and 2600, is in view.
    expect(x).toBeCloseTo(1800 - viewport.width / zoom / 2);
    expect(y).toBeCloseTo(-24 / zoom);
  });

  test("to all there is when there is nothing where the eye was", () => {
    const gone = { x: 9000, y: 9000, zoom: 1 };
    expect(go({ graphEntry: { camera: gone, inward: false } })).toEqual(
      fitBox(boxOf(scene.box, 0), viewport),
    );
    expect(go({}, gone)).toEqual(fitBox(boxOf(scene.box, 0), viewport));
  });

  test("an anchor of another room is none here", () => {
    const anchor = { key: "net/dense/", screen: { x: 5, y: 5 } };
    expect(go({ anchor, graphEntry: { camera: null, inward: true } })).toEqual(
      firstLook(scene, viewport),
    );
    expect(go({ anchor })).not.toEqual(eye);
  });
});

describe("what is said about rooms", () => {
  test("the path has a crumb for each room, and leads out of all but the last", () => {
    expect(crumbsOf(["graph"])).toEqual([]);
    expect(crumbsOf(["graph", "while", "body"])).toEqual([
      { name: "graph", depth: 0 },
      { name: "while", depth: 1 },
      { name: "body", depth: null },
    ]);
  });

  test("a file is called by its name, and what is no path as it is", () => {
    expect(fileName("/home/me/models/net.pb")).toBe("net.pb");
    expect(fileName("models/saved/")).toBe("saved");
    expect(fileName("C:\\models\\net.pb")).toBe("net.pb");
    for (const title of ["Graph", "/", "tf.function 'a/b'"]) expect(fileName(title)).toBe(title);
  });

  test("called functions and what is around an op", () => {
    expect(functionText({ label: "body", function: "while_body_123", ops: 45 })).toBe(
      "Enter body: while_body_123 (45 ops)",
    );
    expect(functionText({ label: "", function: "f", ops: 1 })).toBe("Enter f (1 op)");
    expect(contextText({ kind: "while loop", name: "x", ops: 12 })).toBe(
      "in while loop 'x' (12 ops)",
    );
  });

  test("a graph without ops", () => {
    expect(emptyText(state({ ops: 0 }))).toBe(
      "This graph has no ops yet; they appear here as cells add them.",
    );
    expect(emptyText(state({ ops: 0, path: INSIDE }))).toBe("This function has no ops.");
    expect([emptyText(state()), emptyText(null)]).toEqual(["", ""]);
  });

  test("warnings stay until they are put away, and come back with a new one", () => {
    const warnings = ["The checkpoint is missing."];
    const read = { state: state({ warnings }), dismissed: warnings };
    expect(unreadWarnings({ ...read, dismissed: [] })).toEqual(warnings);
    expect(unreadWarnings(read)).toEqual([]);
    const more = [...warnings, "No op type Foo here."];
    expect(unreadWarnings({ ...read, state: state({ warnings: more }) })).toEqual(more);
    expect(unreadWarnings({ state: null, dismissed: [] })).toEqual([]);
  });

  test("that a file is not trusted is the last warning, as long as it is not", () => {
    const [missing, untrusted] = [
      "The checkpoint is missing.",
      "Ops of this file may write files (1 op).",
    ];
    const read = { state: state({ warnings: [missing], untrusted }), dismissed: [] };
    expect(unreadWarnings(read)).toEqual([missing, untrusted]);
    expect(unreadWarnings({ ...read, dismissed: [missing, untrusted] })).toEqual([]);
    expect(unreadWarnings({ ...read, dismissed: [missing] })).toEqual([missing, untrusted]);
    expect(unreadWarnings({ ...read, state: state({ warnings: [missing] }) })).toEqual([missing]);
  });
});
