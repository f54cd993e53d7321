// What the pointer on a line leads to: the tensor's producer and all its consumers, through every
// border on the way.
import { expect, test } from "vitest";
import { edgeText } from "../../src/panels/controls/descriptions";
import { OP, OPEN, type Scene } from "../../src/protocol/scene";
import { tensorRoute } from "../../src/render/canvas/tensor-route";

// x and y enter outer at ports of their own, and go on into inner; a leaves both again, and is read
// by out and by last.
const NAMES = [
  "",
  "x",
  "y",
  "outer",
  "outer/inner",
  "outer/inner/a",
  "outer/inner/b",
  "out",
  "last",
];
const PARENT = [-1, 0, 0, 0, 3, 4, 4, 0, 0];
const OPENED = [0, 3, 4];
/** Source, target, and the port at each end: 0 at a box. */
const LINES: readonly (readonly [string, string, number, number])[] = [
  ["x", "outer", 0, 1],
  ["outer", "outer/inner", 1, 1],
  ["outer/inner", "outer/inner/a", 1, 0],
  ["y", "outer", 0, 2],
  ["outer", "outer/inner", 2, 2],
  ["outer/inner", "outer/inner/b", 2, 0],
  ["outer/inner/a", "outer/inner", 0, 1],
  ["outer/inner", "outer", 1, 1],
  ["outer", "out", 1, 0],
  ["outer", "last", 1, 0],
];

function scene(lines = LINES): Scene {
  const ends = (which: 0 | 1) => Int32Array.from(lines, (line) => NAMES.indexOf(line[which]));
  const ports = (which: 2 | 3) => Uint8Array.from(lines, (line) => line[which]);
  return {
    names: NAMES,
    parent: Int32Array.from(PARENT),
    kind: Uint8Array.from(PARENT, (_, item) => (OPENED.includes(item) ? OPEN : OP)),
    edges: lines.length,
    source: ends(0),
    target: ends(1),
    sourcePort: ports(2),
    targetPort: ports(3),
    tensors: new Uint32Array(lines.length).fill(1),
    edgeLabels: lines.map(() => "?×3"),
    back: new Uint8Array(lines.length),
  } as unknown as Scene;
}

function named(edge: number, of = scene()): [string[], string[], number[]] {
  const { edges, producers, consumers } = tensorRoute(of, edge);
  const names = (items: readonly number[]) => items.map((item) => NAMES[item] ?? "");
  return [names(producers), names(consumers).sort(), [...edges].sort((a, b) => a - b)];
}

test.each([0, 1, 2])(
  "from any part of its line, a tensor is followed inwards and back: %i",
  (edge) => {
    expect(named(edge)).toEqual([["x"], ["outer/inner/a"], [0, 1, 2]]);
  },
);

test.each([6, 7])("outwards too, to all consumers beyond the last border: %i", (edge) => {
  expect(named(edge)).toEqual([["outer/inner/a"], ["last", "out"], [6, 7, 8, 9]]);
});

test("the part of a line of one consumer leads to that one, and back to the producer", () => {
  expect(named(8)).toEqual([["outer/inner/a"], ["out"], [6, 7, 8]]);
});

test("a tensor at another port of the same border is not followed", () => {
  expect(named(3)).toEqual([["y"], ["outer/inner/b"], [3, 4, 5]]);
  expect(named(4)[2]).toEqual([3, 4, 5]);
});

test("a bundle leads to all that it carries", () => {
  const bundled = scene(
    LINES.map(([from, to, leaves, enters]) => [from, to, Math.min(leaves, 1), Math.min(enters, 1)]),
  );
  expect(named(1, bundled).slice(0, 2)).toEqual([
    ["x", "y"],
    ["outer/inner/a", "outer/inner/b"],
  ]);
});

test("the tooltip of a line names both ends of its tensor, and twelve tensors of a bundle", () => {
  const text = (of: Scene, edge: number) => edgeText(of, edge, tensorRoute(of, edge));
  expect(text(scene(), 1)).toEqual(["x → outer/inner/a", "?×3"]);
  const names = Array.from({ length: 14 }, (_, k) => k);
  const bundle = { ...scene(), tensors: new Uint32Array(LINES.length).fill(14) };
  const ends = { producers: names.map(() => 1), consumers: [5, 6] };
  expect(edgeText(bundle, 1, ends)).toEqual([
    `${"x, ".repeat(12)}2 more → outer/inner/a, outer/inner/b`,
    "14 tensors",
  ]);
});
