import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import { type Camera, panBy } from "../../src/render/camera/camera";
import { listenToDrags } from "../../src/render/gestures/drag";
import type { Region } from "../../src/render/hit-testing/region";
import type { Stage } from "../../src/render/stage";
import { Store, type Tool } from "../../src/state/store";
import { packed, sceneArrays } from "../example-graph";

type Held = {
  shiftKey?: boolean;
  ctrlKey?: boolean;
  altKey?: boolean;
  button?: number;
  pointerId?: number;
  pointerType?: string;
};

/**
 * A canvas to press on, in a store with a tool; what was selected and moved. `item` is below the
 * pointer.
 */
function canvas(tool: Tool, item = 0, inside = false) {
  const store = new Store();
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  store.set({ tool, camera: { x: 100, y: 0, zoom: 2 }, scene: decodeScene(fields, buffer) });
  const target = Object.assign(new EventTarget(), {
    setPointerCapture: () => undefined,
    classList: { add: () => undefined, remove: () => undefined },
  });
  const setCamera = (camera: Camera) => store.set({ camera });
  const stage = {
    canvas: target,
    itemAt: () => item,
    isInside: () => inside,
    setCamera,
  } as unknown as Stage;
  const selected: Region[] = [];
  const put: number[][] = [];
  const menus: number[] = [];
  const drags = {
    hover: () => undefined,
    select: (region: Region) => void selected.push(region),
    moved: (...where: number[]) => void put.push(where),
    contextMenu: (held: number) => void menus.push(held),
  };
  const moved = listenToDrags(stage, store, drags);
  const send = (type: string, x: number, y: number, held: Held = {}) => {
    const about = { button: 0, pointerId: 1, offsetX: x, offsetY: y, ...held };
    target.dispatchEvent(Object.assign(new Event(type), about));
  };
  return { store, selected, put, menus, moved, send };
}

describe("dragging", () => {
  test("pans, from where it was pressed", () => {
    const { store, selected, moved, send } = canvas("pan");
    const before = store.value.camera;
    send("pointerdown", 10, 10);
    send("pointermove", 12, 10);
    expect(moved()).toBe(false);
    send("pointermove", 40, 10);
    send("pointerup", 40, 10);
    expect(store.value.camera).toEqual(panBy(before, 30, 0));
    expect([moved(), selected]).toEqual([true, []]);
  });

  test("with the box tool draws a box in the world's coordinates, and selects at the end", () => {
    const { store, selected, send } = canvas("box");
    send("pointerdown", 10, 10);
    send("pointermove", 30, 50);
    expect(store.value.region?.points).toEqual([
      { x: 105, y: 5 },
      { x: 115, y: 25 },
    ]);
    send("pointerup", 30, 50, { ctrlKey: true });
    expect(store.value.region).toBeNull();
    expect(selected).toMatchObject([{ shape: "box", command: "add" }]);
  });

  test("with Shift draws a box too; the preview knows which keys are held", () => {
    const { store, send } = canvas("pan");
    send("pointerdown", 10, 10, { shiftKey: true });
    send("pointermove", 30, 50, { shiftKey: true, altKey: true });
    expect(store.value.region).toMatchObject({ shape: "box", command: "remove" });
  });

  test("with the middle button pans whatever the tool", () => {
    const { store, send } = canvas("lasso");
    const before = store.value.camera;
    send("pointerdown", 10, 10, { button: 1 });
    send("pointermove", 30, 50, { button: -1 });
    expect(store.value.camera).toEqual(panBy(before, 20, 40));
  });

  test("a press that does not move is a click and draws nothing", () => {
    const { store, selected, moved, send } = canvas("lasso");
    send("pointerdown", 10, 10);
    send("pointermove", 12, 11);
    send("pointerup", 12, 11);
    expect([moved(), store.value.region, selected]).toEqual([false, null, []]);
  });

  test("given up half-way, it selects nothing and draws no more", () => {
    const { store, selected, send } = canvas("lasso");
    send("pointerdown", 10, 10);
    send("pointermove", 60, 10);
    store.set({ region: null });
    send("pointermove", 60, 60);
    expect(store.value.region).toBeNull();
    send("pointerup", 60, 60);
    expect(selected).toEqual([]);
  });

  test("taken away by the browser, it selects nothing", () => {
    const { store, selected, send } = canvas("box");
    send("pointerdown", 10, 10);
    send("pointermove", 60, 10);
    send("pointercancel", 60, 10);
    expect([store.value.region, selected]).toEqual([null, []]);
  });

  test("a second finger zooms instead", () => {
    const { store, selected, send } = canvas("box");
    send("pointerdown", 100, 100);
    send("pointermove", 120, 100);
    send("pointerdown", 200, 100, { pointerId: 2 });
    expect(store.value.region).toBeNull();
    send("pointermove", 280, 100, { pointerId: 2 });
    expect(store.value.camera.zoom).toBeCloseTo(4);
    send("pointerup", 280, 100, { pointerId: 2 });
    send("pointerup", 120, 100);
    expect(selected).toEqual([]);
  });
});

describe("a finger that rests", () => {
  const TOUCH = { pointerType: "touch" };
  const LONG = 1000;
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("gets the menu of what is below it, and its end is no click", () => {
    const { menus, moved, send } = canvas("pan", 3);
    send("pointerdown", 10, 10, TOUCH);
    send("pointermove", 12, 11, TOUCH);
    vi.advanceTimersByTime(LONG);
    expect([menus, moved()]).toEqual([[3], true]);
    send("pointerup", 12, 11, TOUCH);
    send("pointerdown", 10, 10, TOUCH);
    send("pointerup", 10, 10, TOUCH);
    vi.advanceTimersByTime(LONG);
    expect([menus, moved()]).toEqual([[3], false]);
  });

  test("gets one menu where the browser sends a right click for it", () => {
    const { menus, send } = canvas("pan", 3);
    send("pointerdown", 10, 10, TOUCH);
    send("contextmenu", 10, 10);
    vi.advanceTimersByTime(LONG);
    expect(menus).toEqual([]);
  });

  test.each([
    ["moves", (send: ReturnType<typeof canvas>["send"]) => send("pointermove", 40, 10, TOUCH)],
    [
      "is one of two",
      (send: ReturnType<typeof canvas>["send"]) =>
        send("pointerdown", 90, 10, { ...TOUCH, pointerId: 2 }),
    ],
  ])("gets none where it %s", (_, act) => {
    const { menus, send } = canvas("pan", 3);
    send("pointerdown", 10, 10, TOUCH);
    act(send);
    vi.advanceTimersByTime(LONG);
    expect(menus).toEqual([]);
  });

  test("a mouse button that is held is no finger", () => {
    const { menus, send } = canvas("pan", 3);
    send("pointerdown", 10, 10, { pointerType: "mouse" });
    vi.advanceTimersByTime(LONG);
    expect(menus).toEqual([]);
  });
});

describe("dragging a box", () => {
  function dragged(item: number, held: Held = {}, inside = false) {
    const hand = canvas("pan", item, inside);
    const before = hand.store.value.camera;
    hand.send("pointerdown", 10, 10, held);
    hand.send("pointermove", 30, 20, held);
    hand.send("pointermove", 50, 40, held);
    return { ...hand, panned: hand.store.value.camera !== before };
  }

  test("takes it along, and says where it was put: its middle in the whole drawing", () => {
    const { store, put, panned, send } = dragged(3);
    expect(panned).toBe(false);
    expect(store.value.itemMove).toEqual({ item: 3, dx: 20, dy: 15 });
    send("pointerup", 50, 40);
    expect(store.value.itemMove).toBeNull();
    // net/dense: its middle was at (120, 163), in net, which begins at (40, 100): editor.view.pin
    // asks for the drawing's.
    expect(put).toEqual([[3, 140, 178]]);
  });

  test.each([
    ["the background", 0, {}, false],
    ["the inside of an open scope", 2, {}, true],
    ["a box with a finger", 3, { pointerType: "touch" }, false],
    ["a box with the middle button", 3, { button: 1 }, false],
  ])("is not meant by dragging %s, which pans", (_, item, held, inside) => {
    const { store, put, panned, send } = dragged(item, held, inside);
    send("pointerup", 50, 40);
    expect([panned, store.value.itemMove, put]).toEqual([true, null, []]);
  });

  test("from afar, where boxes are specks, pans", () => {
    const { store, send } = canvas("pan", 1);
    store.set({ camera: { x: 0, y: 0, zoom: 0.2 } });
    send("pointerdown", 10, 10);
    send("pointermove", 60, 10);
    expect(store.value.itemMove).toBeNull();
    expect(store.value.camera.x).toBeLessThan(0);
  });

  test("given up half-way, it stays where it was", () => {
    const { store, put, send } = dragged(1);
    store.set({ itemMove: null });
    send("pointermove", 90, 90);
    expect(store.value.itemMove).toBeNull();
    send("pointerup", 90, 90);
    expect(put).toEqual([]);
  });

  test("a press that does not move leaves it and is a click", () => {
    const { put, moved, send } = canvas("pan", 1);
    send("pointerdown", 10, 10);
    send("pointerup", 11, 10);
    expect([moved(), put]).toEqual([false, []]);
  });

  test("with a box tool draws a box", () => {
    const { store, send } = canvas("box", 1);
    send("pointerdown", 10, 10);
    send("pointermove", 60, 60);
    expect([store.value.itemMove, store.value.region?.shape]).toEqual([null, "box"]);
  });
});
