import { describe, expect, test } from "vitest";
import { type Box, decodeScene } from "../../src/protocol/scene";
import { edgeLabelTexts, longestPiece, placeEdgeLabel } from "../../src/render/canvas/edge-labels";
import { widthOf } from "../../src/render/canvas/edges";
import { edgesAt } from "../../src/render/canvas/incident-edges";
import { SceneIndex } from "../../src/render/hit-testing/scene-index";
import { packed, sceneArrays, texts } from "../example-graph";

/** Two ops with one line between them, on a way of our own. */
function made(way: readonly number[], change: Parameters<typeof packed>[0] = {}) {
  const arrays = {
    ...sceneArrays(),
    source: Int32Array.from([1]),
    target: Int32Array.from([4]),
    tensors: Uint32Array.from([1]),
    route_start: Uint32Array.from([0, way.length / 2]),
    route: Float32Array.from(way),
    back: Uint8Array.from([0]),
    bytes: Float32Array.from([0]),
    ...texts("edge_label", ["1×100"]),
    ...change,
  };
  const { fields, buffer } = packed(arrays, { box: [5, 4], route: [way.length / 2, 2] });
  return decodeScene(fields, buffer);
}
const inscribe = (scene: ReturnType<typeof made>) =>
  placeEdgeLabel(scene, new SceneIndex(scene), 0, (text) => 0.6 * text.length);

describe("what is written on a line", () => {
  test("is its shape, or how many tensors it stands for, or nothing", () => {
    const way = [0, 0, 0, 90];
    expect(edgeLabelTexts(made(way), 0)).toEqual(["1×100"]);
    expect(edgeLabelTexts(made(way, { tensors: Uint32Array.from([12]) }), 0)).toEqual(["×12"]);
    expect(edgeLabelTexts(made(way, { tensors: Uint32Array.from([0]) }), 0)).toEqual([]);
  });

  test("is the value of a run, the mean alone where the line is short", () => {
    const values = ["", "mean 0.5, 0 … 1"];
    const on = (way: readonly number[]) => {
      const scene = made(way);
      return placeEdgeLabel(scene, new SceneIndex(scene), 0, (text) => 0.6 * text.length, values)
        ?.text;
    };
    expect(on([150, 60, 400, 60])).toBe("mean 0.5, 0 … 1");
    expect(on([150, 60, 240, 60])).toBe("mean 0.5");
    expect(on([150, 60, 190, 60])).toBeUndefined();
  });

  test("stands on the longest straight piece", () => {
    const scene = made([90, 50, 90, 60, 360, 60, 360, 90]);
    expect(longestPiece(scene, 0)).toEqual([90, 60, 360, 60]);
    expect(inscribe(scene)).toMatchObject({ x: 225, y: 60, upright: false });
  });

  test("is on another piece where a value or count does not fit; a shape is left out", () => {
    // The longest piece runs along the border of the open scope, the next one is free.
    const way = [300, 100, 150, 100, 150, 0];
    const values = ["", "mean 0.5"];
    const width = (text: string) => 0.6 * text.length;
    const scene = made(way);
    expect(placeEdgeLabel(scene, new SceneIndex(scene), 0, width, values)).toMatchObject({
      x: 150,
      y: 50,
    });
    expect(inscribe(made(way, { tensors: Uint32Array.from([7]) }))).toMatchObject({
      x: 150,
      y: 50,
      text: "×7",
    });
    expect(inscribe(scene)).toBeNull();
    // There is no other piece: the value is beside the line.
    const alone = made([300, 100, 150, 100]);
    expect(placeEdgeLabel(alone, new SceneIndex(alone), 0, width, values)).toMatchObject({
      x: 225,
      y: 110.5,
    });
  });

  test("is on another piece, or nowhere, where another text is already", () => {
    const scene = made([150, 60, 150, 0, 360, 0], { tensors: Uint32Array.from([7]) });
    const width = (text: string) => 0.6 * text.length;
    const place = (isTaken: (box: Box) => boolean) =>
      placeEdgeLabel(scene, new SceneIndex(scene), 0, width, [], isTaken);
    expect(place(() => false)).toMatchObject({ x: 255, y: 0 });
    expect(place((box) => box.y < 1)).toMatchObject({ x: 150, y: 30 });
    expect(place(() => true)).toBeNull();
  });

  test("is beside a short line of a bundle, where that is free", () => {
    const tensors = Uint32Array.from([7]);
    const found = inscribe(made([250, 20, 250, 40], { tensors }));
    expect(found).toMatchObject({ text: "×7", y: 30, upright: false });
    expect(found?.box.x).toBeGreaterThan(250);
    expect(inscribe(made([250, 20, 250, 40]))).toBeNull();
    expect(inscribe(made([250, 20, 250, 30], { tensors }))).toBeNull();
    // On the left where the right is taken: the line itself turns back there.
    const turned = inscribe(made([250, 20, 250, 40, 262, 40, 262, 20], { tensors }));
    expect(turned?.box.x).toBeLessThan(250);
  });

  test("needs room at both ends", () => {
    expect(inscribe(made([150, 60, 190, 60]))).toBeNull();
    expect(inscribe(made([150, 60, 230, 60]))).not.toBeNull();
  });

  test("runs along an upright line where it would touch a box lying", () => {
    // Beside the box of "input", which ends at x = 130.
    expect(inscribe(made([146, 0, 146, 90]))).toMatchObject({ upright: true });
    expect(inscribe(made([200, 0, 200, 90]))).toMatchObject({ upright: false });
  });

  test("is nowhere rather than on a box or on the border of a scope", () => {
    expect(inscribe(made([0, 35, 180, 35]))).toBeNull();
    expect(inscribe(made([150, 100, 300, 100]))).toBeNull();
  });

  test("is nowhere rather than on the number of siblings of a box", () => {
    // Beside the box of "net/dense", which ends at x = 180.
    const way = [190, 110, 190, 175];
    expect(inscribe(made(way))).toMatchObject({ upright: true });
    expect(inscribe(made(way, { members: Uint32Array.from([0, 0, 0, 8, 0]) }))).toBeNull();
  });

  test("is nowhere rather than on another line", () => {
    const scene = made([150, 60, 300, 60, 225, 40, 225, 80], {
      source: Int32Array.from([1, 1]),
      target: Int32Array.from([4, 4]),
      tensors: Uint32Array.from([1, 1]),
      route_start: Uint32Array.from([0, 2, 4]),
      back: Uint8Array.from([0, 0]),
      bytes: Float32Array.from([0, 0]),
      ...texts("edge_label", ["1×100", ""]),
    });
    expect(inscribe(scene)).toBeNull();
  });
});

test("lines are wider the larger their tensors, within bounds", () => {
  const widths = [0, 1e3, 1e5, 1e7, 1e9, 1e15].map((bytes) => widthOf(bytes, 1));
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  expect([Math.min(...widths), Math.max(...widths)]).toEqual([1, 4.5]);
  expect(widthOf(0, 40)).toBeGreaterThan(widthOf(0, 1));
  expect(widthOf(1e15, 1e6)).toBe(5);
});

test("the lines at an item are those that end or begin there", () => {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  expect([0, 1, 2, 3, 4].map((item) => edgesAt(scene, item))).toEqual([[], [0], [0], [1], [1]]);
});
