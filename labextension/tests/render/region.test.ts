import { describe, expect, test } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import type { Point } from "../../src/render/camera/camera";
import { regionCommandOf, shapeOf } from "../../src/render/gestures/drag";
import {
  boundsOf,
  contains,
  extendRegion,
  itemsInRegion,
  type Region,
} from "../../src/render/hit-testing/region";
import { SceneIndex } from "../../src/render/hit-testing/scene-index";
import { packed, sceneArrays } from "../example-graph";

const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
const scene = decodeScene(fields, buffer);
const picker = new SceneIndex(scene);

const point = (x: number, y: number): Point => ({ x, y });
const box = (x: number, y: number, right: number, bottom: number): Region => ({
  shape: "box",
  points: [point(x, y), point(right, bottom)],
  command: "set",
});
const lasso = (...points: [number, number][]): Region => ({
  shape: "lasso",
  points: points.map(([x, y]) => point(x, y)),
  command: "set",
});
const taken = (region: Region) => {
  const { ops, scopes } = itemsInRegion(region, scene, picker.itemsIn(boundsOf(region)));
  return { ops, scopes };
};

// input 50,20 80×30; net (open) 40,100 300×300; net/dense (closed) 60,140 120×46; net (op) 60,250
// 80×30.
describe("a box takes", () => {
  test.each([
    ["an op wholly inside", box(40, 10, 140, 60), { ops: ["input"], scopes: [] }],
    ["no op that sticks out", box(60, 10, 140, 60), { ops: [], scopes: [] }],
    ["a closed scope as a scope", box(50, 130, 200, 200), { ops: [], scopes: ["net/dense"] }],
    [
      "what is in an open scope that sticks out",
      box(50, 130, 200, 390),
      { ops: ["net"], scopes: ["net/dense"] },
    ],
    [
      "an open scope by name, without what it holds",
      box(30, 90, 350, 410),
      { ops: [], scopes: ["net"] },
    ],
    [
      "never the whole graph by its empty name",
      box(-9, -9, 500, 600),
      { ops: ["input"], scopes: ["net"] },
    ],
    ["nothing on empty ground", box(360, 420, 390, 480), { ops: [], scopes: [] }],
  ])("%s", (_, region, expected) => {
    expect(taken(region)).toEqual(expected);
  });

  test("the same, whichever corner it is drawn from", () => {
    expect(taken(box(140, 60, 40, 10))).toEqual({ ops: ["input"], scopes: [] });
    expect(taken(box(40, 60, 140, 10))).toEqual({ ops: ["input"], scopes: [] });
  });

  test("an item that touches the box from inside", () => {
    expect(taken(box(50, 20, 130, 50)).ops).toEqual(["input"]);
  });
});

describe("a lasso takes", () => {
  test("what has its middle inside, though it sticks out", () => {
    expect(taken(lasso([80, 25], [100, 25], [100, 45], [80, 45])).ops).toEqual(["input"]);
    expect(taken(lasso([50, 20], [70, 20], [70, 50], [50, 50])).ops).toEqual([]);
  });

  test("the ops and closed scopes of an open scope that it cuts", () => {
    const cut = lasso([30, 90], [200, 90], [200, 390], [30, 390]);
    expect(taken(cut)).toEqual({ ops: ["net"], scopes: ["net/dense"] });
  });

  test("an open scope that it goes all round", () => {
    const around = lasso([30, 90], [350, 90], [350, 410], [30, 410]);
    expect(taken(around)).toEqual({ ops: [], scopes: ["net"] });
  });

  test("not an open scope into which it has a notch between the corners", () => {
    const notched = lasso(
      [30, 90],
      [180, 90],
      [190, 130],
      [200, 90],
      [350, 90],
      [350, 410],
      [30, 410],
    );
    expect(taken(notched)).toEqual({ ops: ["net"], scopes: ["net/dense"] });
  });

  test("nothing with a single point or a line", () => {
    expect(taken(lasso([90, 35]))).toEqual({ ops: [], scopes: [] });
    expect(taken(lasso([0, 0], [400, 500])).scopes).toEqual([]);
  });

  test("a line that crosses itself leaves out what it goes round twice", () => {
    const twice = [
      point(0, 0),
      point(9, 0),
      point(9, 9),
      point(0, 9),
      point(0, 0),
      point(6, 3),
      point(6, 6),
      point(3, 6),
    ];
    expect([contains(twice, point(8, 8)), contains(twice, point(5.5, 5))]).toEqual([true, false]);
  });
});

describe("drawing a region", () => {
  test("a box keeps its first corner and follows the pointer", () => {
    const drawn = extendRegion(box(1, 2, 3, 4), point(9, 8), "add", 5);
    expect(drawn).toEqual({ shape: "box", points: [point(1, 2), point(9, 8)], command: "add" });
  });

  test("a lasso remembers the way in steps", () => {
    const start = lasso([0, 0]);
    const near = extendRegion(start, point(2, 0), "set", 5);
    expect(near.points).toHaveLength(1);
    expect(extendRegion(near, point(6, 0), "set", 5).points).toEqual([point(0, 0), point(6, 0)]);
  });

  const keys = { shiftKey: false, ctrlKey: false, metaKey: false, altKey: false };

  test("a drag pans unless there is a tool, or Shift is held", () => {
    expect(shapeOf("pan", keys)).toBeNull();
    expect(shapeOf("pan", { ...keys, shiftKey: true })).toBe("box");
    expect(shapeOf("lasso", { ...keys, shiftKey: true })).toBe("lasso");
    expect(shapeOf("box", keys)).toBe("box");
  });

  test("Ctrl or Cmd adds, Alt removes", () => {
    expect(regionCommandOf(keys)).toBe("set");
    expect(regionCommandOf({ ...keys, ctrlKey: true })).toBe("add");
    expect(regionCommandOf({ ...keys, metaKey: true, shiftKey: true })).toBe("add");
    expect(regionCommandOf({ ...keys, altKey: true })).toBe("remove");
  });
});
