// Two ops into an open scope, through it, and on:  a, b → net { relu[w, c] → drop, side } → out
import { describe, expect, test } from "vitest";
import {
  cameraShowing,
  enclosingItem,
  firstChild,
  firstOp,
  NavigationCursor,
  nextItem,
  type Step,
  stepOf,
} from "../../src/interaction/keyboard-nav";
import { decodeScene, type Scene } from "../../src/protocol/scene";
import { packed, texts } from "../example-graph";

const NAMES = ["", "a", "b", "net", "out", "net/relu", "net/drop", "net/side", "net/w", "net/c"];
const [A, B, NET, OUT, RELU, DROP, SIDE, W, C] = [1, 2, 3, 4, 5, 6, 7, 8, 9];

function scene(): Scene {
  const zeros = (type: Uint8ArrayConstructor | Uint32ArrayConstructor, count = NAMES.length) =>
    new type(count);
  const bytes = () => zeros(Uint8Array);
  const counts = () => zeros(Uint32Array);
  const blank = (count: number) => Array.from({ length: count }, () => "");
  const lines = [
    [A, NET],
    [B, NET],
    [NET, RELU],
    [RELU, DROP],
    [DROP, NET],
    [NET, OUT],
    [B, A],
    [OUT, A],
  ];
  const { fields, buffer } = packed(
    {
      // biome-ignore format: one box per line
      box: Float32Array.from([
        0, 0, 500, 500,
        100, 0, 80, 30,
        200, 0, 80, 30,
        90, 100, 300, 200,
        100, 400, 80, 30,
        100, 130, 80, 64,
        100, 230, 80, 30,
        250, 130, 80, 30,
        104, 160, 60, 15,
        104, 175, 60, 15,
      ]),
      parent: Int32Array.from([-1, 0, 0, 0, 0, NET, NET, NET, RELU, RELU]),
      kind: Uint8Array.from([2, 0, 0, 2, 0, 0, 0, 0, 3, 3]),
      family: bytes(),
      aside: bytes(),
      calls: bytes(),
      count: counts(),
      variables: counts(),
      ...texts("name", NAMES),
      ...texts("type", blank(NAMES.length)),
      members: counts(),
      part: bytes(),
      loop: bytes(),
      pinned: bytes(),
      omitted: counts(),
      isolated: bytes(),
      ...texts("label", blank(NAMES.length)),
      source: Int32Array.from(lines.map(([source = 0]) => source)),
      target: Int32Array.from(lines.map(([, target = 0]) => target)),
      // The last but one is of control inputs only, the last a loop's way back.
      source_port: Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0]),
      target_port: Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0]),
      tensors: Uint32Array.from([1, 1, 2, 1, 1, 1, 0, 1]),
      route_start: zeros(Uint32Array, lines.length + 1),
      route: new Float32Array(0),
      back: Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 1]),
      bytes: new Float32Array(lines.length),
      ...texts("edge_label", blank(lines.length)),
    },
    { box: [NAMES.length, 4], route: [0, 2] },
  );
  return decodeScene(fields, buffer);
}

const to = (item: number, step: Step) => nextItem(scene(), item, step, "down");

test("the first op is first in the direction of flow, and has edges if one there has", () => {
  const drawn = scene();
  const all = [...drawn.parent.keys()];
  expect(firstOp(drawn, all, "down")).toBe(A);
  expect(firstOp(drawn, [OUT, B, NET, W, SIDE], "down")).toBe(B);
  expect(firstOp(drawn, [SIDE, OUT], "right")).toBe(OUT);
  expect(firstOp(drawn, [0, NET, W, C], "down")).toBe(-1);
  const isolated = Uint8Array.from(NAMES, (_, item) => (item === A ? 1 : 0));
  expect(firstOp({ ...drawn, isolated }, all, "down")).toBe(B);
  expect(firstOp({ ...drawn, isolated }, [A], "down")).toBe(A);
});

describe("a walk along the lines", () => {
  test("goes through a scope's border to the op inside, and out again to what lies beyond", () => {
    expect(to(A, "consumers")).toBe(RELU);
    expect(to(RELU, "consumers")).toBe(DROP);
    expect(to(DROP, "consumers")).toBe(OUT);
    expect(to(OUT, "producers")).toBe(DROP);
    expect(to(DROP, "producers")).toBe(RELU);
  });

  test("takes the nearest to the side of several", () => {
    expect(to(RELU, "producers")).toBe(A);
  });

  test("goes into an open scope from its upper border, and from it to what it reads", () => {
    expect(to(NET, "consumers")).toBe(RELU);
    expect(to(NET, "producers")).toBe(B);
  });

  test("goes along control inputs and ways back only where there is nothing else", () => {
    expect(to(B, "consumers")).toBe(RELU);
    expect(to(A, "producers")).toBe(B);
    expect(to(OUT, "consumers")).toBe(A);
  });

  test("ends where there is nothing", () => {
    expect(to(B, "producers")).toBe(-1);
    expect(to(0, "consumers")).toBe(-1);
    expect(to(-1, "consumers")).toBe(-1);
  });

  test("leads beside to what stands in the same row", () => {
    expect(to(A, "after")).toBe(B);
    expect(to(B, "before")).toBe(A);
    expect(to(RELU, "after")).toBe(SIDE);
    expect(to(B, "after")).toBe(-1);
  });

  test("reaches badges from their op, one after another, and leads back", () => {
    expect(firstChild(scene(), RELU)).toBe(W);
    expect(to(W, "after")).toBe(C);
    expect(to(C, "before")).toBe(W);
    expect(to(W, "before")).toBe(-1);
    expect(to(C, "consumers")).toBe(RELU);
    expect(enclosingItem(scene(), C)).toBe(RELU);
  });

  test("leads into a scope and out of it", () => {
    expect(firstChild(scene(), NET)).toBe(RELU);
    expect(enclosingItem(scene(), RELU)).toBe(NET);
    expect(enclosingItem(scene(), NET)).toBe(-1);
    expect(firstChild(scene(), OUT)).toBe(-1);
  });

  test("turns with the drawing", () => {
    expect(stepOf("ArrowDown", "down")).toBe("consumers");
    expect(stepOf("ArrowRight", "right")).toBe("consumers");
    expect(stepOf("ArrowUp", "right")).toBe("before");
    expect(stepOf("ArrowLeft", "right")).toBe("producers");
  });
});

describe("a walk", () => {
  test("back leads where one was, not to the nearest", () => {
    const [walk, drawing] = [new NavigationCursor(), scene()];
    expect(walk.go(drawing, B, "consumers", "down")).toBe(RELU);
    expect(walk.go(drawing, RELU, "producers", "down")).toBe(B);
    expect(walk.go(drawing, RELU, "producers", "down")).toBe(A);
  });

  test("knows at which badge of an op it is", () => {
    const [walk, drawing] = [
      new NavigationCursor(),
      { ...scene(), names: [...NAMES.slice(0, C), "net/w"] },
    ];
    expect(walk.itemOf(drawing, "net/w")).toBe(W);
    walk.go(drawing, W, "after", "down");
    expect(walk.itemOf(drawing, "net/w")).toBe(C);
    expect(walk.itemOf(drawing, "a")).toBe(A);
    expect(walk.itemOf(drawing, "gone")).toBe(-1);
  });
});

describe("the camera", () => {
  const viewport = { width: 400, height: 300 };
  const camera = { x: 0, y: 0, zoom: 1 };

  test("stays when a box is in view", () => {
    expect(cameraShowing({ x: 100, y: 100, width: 50, height: 30 }, camera, viewport)).toBe(camera);
  });

  test("moves no farther than it must, at its zoom", () => {
    const right = cameraShowing(
      { x: 500, y: 100, width: 50, height: 30 },
      { ...camera, zoom: 0.5 },
      viewport,
    );
    expect(right).toEqual({ ...camera, zoom: 0.5 });
    expect(cameraShowing({ x: 400, y: 100, width: 50, height: 30 }, camera, viewport)).toEqual({
      x: 90,
      y: 0,
      zoom: 1,
    });
  });

  test("shows the upper left of what is too large", () => {
    const shown = cameraShowing({ x: 0, y: 500, width: 900, height: 900 }, camera, viewport);
    expect(shown).toEqual({ x: -40, y: 460, zoom: 1 });
  });
});
