import { describe, expect, test } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import {
  headerLines,
  labelHeights,
  OccupiedCells,
  placeBesideLines,
  placeFarLabels,
} from "../../src/render/canvas/far-labels";
import { NAMES, packed, sceneArrays, texts } from "../example-graph";

function made(change: Parameters<typeof packed>[0] = {}) {
  const { fields, buffer } = packed(
    { ...sceneArrays(), ...change },
    { box: [5, 4], route: [5, 2] },
  );
  return decodeScene(fields, buffer);
}

describe("signposts", () => {
  test("from afar a scope without readable content is named in its middle, and larger", () => {
    const post = placeFarLabels(made(), 0.2).get(2);
    expect(post).toMatchObject({ x: 190, y: 250, text: "net" });
    expect(post?.size).toBeGreaterThan(12 * 0.2);
  });

  test("grow with the scope and not beyond", () => {
    const sizes = [0.1, 0.15, 0.3].map((zoom) => placeFarLabels(made(), zoom).get(2)?.size ?? 0);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(14);
  });

  test("stay in the header while the ops below can be read", () => {
    const post = placeFarLabels(made(), 0.6).get(2);
    expect((post?.y ?? 999) - 100).toBeLessThan(26);
  });

  test("a scope that has no room for its name in a legible size has none", () => {
    expect(placeFarLabels(made(), 0.02).size).toBe(0);
    expect(
      placeFarLabels(
        made(texts("name", ["", "input", "net", `net/${"d".repeat(900)}`, "net"])),
        0.1,
      ).has(3),
    ).toBe(false);
  });

  test("a name of narrow letters is not cut if it fits, one of wide letters stays inside", () => {
    // biome-ignore format: one box per line
    const box = Float32Array.from([
      0, 0, 2000, 2000,
      0, 0, 1, 1,
      100, 100, 68, 46,
      0, 0, 1, 1,
      0, 0, 1, 1,
    ]);
    const label = (name: string) => {
      const scene = made({
        box,
        kind: Uint8Array.from([2, 0, 1, 0, 0]),
        ...texts("name", ["", "x", name, "y", "z"]),
      });
      return placeFarLabels(scene, 0.6).get(2)?.text;
    };
    expect(label("training")).toBe("training");
    expect(label("MMMMMMMM")).toBe("MM…M");
  });

  test("never overlap: of a scope in a scope both are named, one below the other", () => {
    // biome-ignore format: one box per line
    const box = Float32Array.from([
      0, 0, 2000, 2000,
      0, 0, 1, 1,
      0, 0, 1800, 1800,
      4, 30, 1700, 1700,
      900, 900, 1, 1,
    ]);
    const posts = placeFarLabels(made({ box, kind: Uint8Array.from([2, 0, 2, 2, 0]) }), 0.1);
    const [outer, inner] = [posts.get(2), posts.get(3)];
    expect([outer?.text, inner?.text]).toEqual(["net", "dense"]);
    const apart = Math.abs((outer?.y ?? 0) - (inner?.y ?? 0)) * 0.1;
    const beside = Math.abs((outer?.x ?? 0) - (inner?.x ?? 0)) * 0.1;
    expect(apart > 14 || beside > 30).toBe(true);
  });

  test("a place is taken once", () => {
    const taken = new OccupiedCells();
    expect(taken.take({ x: 0, y: 0, width: 100, height: 10 })).toBe(true);
    expect(taken.take({ x: 90, y: 5, width: 100, height: 10 })).toBe(false);
    expect(taken.take({ x: 90, y: 10, width: 100, height: 10 })).toBe(true);
  });
});

test("the label of a box is above its chips", () => {
  const scene = made({
    ...texts("name", [...NAMES.slice(0, 4), "kernel"]),
    kind: Uint8Array.from([2, 0, 2, 1, 3]),
    parent: Int32Array.from([-1, 0, 0, 2, 3]),
    // biome-ignore format: one box per line
    box: Float32Array.from([
      0, 0, 400, 500,
      50, 20, 80, 30,
      40, 100, 300, 300,
      60, 140, 120, 64,
      64, 185, 100, 14,
    ]),
  });
  expect([...labelHeights(scene)]).toEqual([500, 30, 300, 45, 14]);
});

test("a name in a header is beside the lines that come in, in the first gap that fits", () => {
  const names = texts("name", ["", "input", "a_long_name", "net/dense", "net"]);
  const postOf = (x: number, width: number) => {
    const route = Float32Array.from([90, 50, 90, 100, x, 100, 120, 220, 100, 250]);
    // biome-ignore format: one box per line
    const box = Float32Array.from([
      0, 0, 400, 500,
      50, 20, 80, 30,
      40, 100, width, 300,
      60, 140, 120, 46,
      60, 250, 80, 30,
    ]);
    const scene = made({ ...names, route, box, source: Int32Array.from([1, 2]) });
    expect([...headerLines(scene)]).toEqual([[2, [x]]]);
    const { x: middle = 0, text = "" } = placeFarLabels(scene, 0.7).get(2) ?? {};
    const half = (text.length * 9 * 0.68) / 2 / 0.7;
    return { text, from: middle - half, to: middle + half };
  };
  expect(postOf(300, 300).text).toBe("a_long_name");
  expect(postOf(300, 300).from).toBeLessThan(60);
  expect(postOf(100, 300).text).toBe("a_long_name"); // behind the line
  expect(postOf(100, 300).from).toBeGreaterThan(100);
  expect(postOf(120, 120).text).toContain("…");
  expect(postOf(120, 120).to).toBeLessThan(120);
});

test("a number in a header is placed between the lines that come in", () => {
  expect(placeBesideLines([], 50, 40, 4)).toBe(50);
  expect(placeBesideLines([100], 50, 40, 4)).toBe(50);
  expect(placeBesideLines([70, 100, 200], 50, 40, 4)).toBe(104);
});
