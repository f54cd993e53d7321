import { describe, expect, test } from "vitest";
import { boxOf, decodeScene } from "../../src/protocol/scene";
import { easeInOut, initialBoxes, interpolateBoxes } from "../../src/render/camera/animation";
import { nearestEdge, runsThrough, SceneIndex } from "../../src/render/hit-testing/scene-index";
import { packed, sceneArrays } from "../example-graph";

function made(change: Parameters<typeof packed>[0] = {}) {
  const { fields, buffer } = packed({ ...sceneArrays(), ...change }, { box: [5, 4] });
  return decodeScene(fields, buffer);
}

describe("picking", () => {
  const picker = new SceneIndex(made());

  test.each([
    ["an op", 90, 35, 1],
    ["a box inside an open scope", 100, 160, 3],
    ["the inside of an open scope", 300, 380, 2],
    ["the background", 390, 490, 0],
    ["nothing at all", 900, 900, -1],
  ])("finds %s", (_, x, y, item) => {
    expect(picker.at(x, y)).toBe(item);
  });

  test("finds what is in view, parents first", () => {
    expect(picker.itemsIn({ x: 50, y: 130, width: 50, height: 60 })).toEqual([0, 2, 3]);
    expect(picker.edgesIn({ x: 80, y: 60, width: 20, height: 10 })).toEqual([0]);
  });

  test("an edge runs through an area if one of its parts does, not if its box touches it", () => {
    const routes = {
      route: Float32Array.from([10, 10, 10, 100, 200, 100, 200, 180, 0, 0, 1, 1]),
      route_start: Uint32Array.from([0, 4, 6]),
    };
    const { fields, buffer } = packed(
      { ...sceneArrays(), ...routes },
      { box: [5, 4], route: [6, 2] },
    );
    const scene = decodeScene(fields, buffer);
    const isIn = (x: number, y: number) =>
      runsThrough(scene, [0, 1], { x, y, width: 40, height: 30 });
    expect([isIn(0, 40), isIn(90, 80), isIn(190, 150)]).toEqual([true, true, true]);
    expect([isIn(60, 20), isIn(60, 120), isIn(210, 90)]).toEqual([false, false, false]);
  });

  test("a scene without edges has none in view", () => {
    const none = {
      source: new Int32Array(),
      target: new Int32Array(),
      tensors: new Uint32Array(),
      route_start: new Uint32Array(1),
      route: new Float32Array(),
    };
    expect(new SceneIndex(made(none)).edgesIn({ x: 0, y: 0, width: 999, height: 999 })).toEqual([]);
  });
});

describe("moving from one scene to the next", () => {
  test("known boxes start where they were on the screen, new ones in their place", () => {
    const before = made({
      box: Float32Array.from([0, 0, 400, 500, 9, 9, 9, 9, 0, 0, 30, 30, 1, 1, 1, 1, 2, 2, 2, 2]),
    });
    const renamed = {
      ...before,
      byKey: new Map([...before.byKey].filter(([key]) => key !== "net/dense/")),
    };
    const next = made();
    const { boxes, glides } = initialBoxes(
      renamed,
      next,
      { x: 5, y: 1, zoom: 2 },
      { x: 0, y: 0, zoom: 1 },
    );
    expect(boxOf(boxes, 1)).toEqual({ x: 8, y: 16, width: 18, height: 18 });
    const fresh = [1, 2, 3, 4].filter((item) => glides[item] === 0);
    expect(fresh).toContain(3);
    for (const item of fresh) expect(boxOf(boxes, item)).toEqual(boxOf(next.box, item));
  });

  test("ends at the new boxes", () => {
    const next = made();
    const out = new Float32Array(next.box.length);
    expect([...interpolateBoxes(new Float32Array(20), next.box, easeInOut(1), out)]).toEqual([
      ...next.box,
    ]);
  });
});

test("the edge that is hit is the nearest, and none beyond the reach", () => {
  const scene = made();
  expect(nearestEdge(scene, [0, 1], { x: 93, y: 70 }, 5)).toBe(0);
  expect(nearestEdge(scene, [0, 1], { x: 110, y: 236 }, 5)).toBe(1);
  expect(nearestEdge(scene, [0], { x: 90, y: 104 }, 5)).toBe(0);
  expect(nearestEdge(scene, [0, 1], { x: 90, y: 40 }, 5)).toBe(-1);
  expect(nearestEdge(scene, [1], { x: 93, y: 70 }, 5)).toBe(-1);
});
