import { expect, test } from "vitest";
import {
  type Clear,
  coveredPart,
  leastHiding,
  partToClear,
} from "../../src/panels/controls/make-way";
import { type Box, decodeScene } from "../../src/protocol/scene";
import { packed, sceneArrays } from "../example-graph";

const legend = { x: 580, y: 8, width: 212, height: 42 };
const below = { x: 600, y: 560, width: 60, height: 30 };
const above = { x: 600, y: 10, width: 60, height: 30 };

const low = { ...legend, y: 550 };

const never = () => 2 as const;
const isBetterUp = (clear: readonly Clear[], hides: (place: Box) => number) =>
  leastHiding([low, legend], clear, hides) === 1;

test.each([
  ["below it", below, true],
  ["above it", { x: 600, y: 490, width: 60, height: 30 }, false],
  ["beside it", { x: 500, y: 560, width: 60, height: 30 }, false],
  ["in both corners", { x: 500, y: 0, width: 160, height: 600 }, false],
])("a control makes way for a box %s", (_, box, expected) => {
  expect(isBetterUp([{ box, weight: 1 }], never)).toBe(expected);
});

test("what was clicked counts more than what an edit has made", () => {
  const clicked = { box: above, weight: 100 };
  expect(isBetterUp([clicked, { box: below, weight: 1 }], never)).toBe(false);
  expect(
    isBetterUp(
      [
        { box: below, weight: 100 },
        { box: above, weight: 1 },
      ],
      never,
    ),
  ).toBe(true);
});

test("a control covers no box, or only boxes aside, and is below if it has the choice", () => {
  const isUp = (above: number, low: number, clear: readonly Clear[] = []) =>
    isBetterUp(clear, ({ y }) => (y < 100 ? above : low));
  expect(isUp(0, 2)).toBe(true);
  expect(isUp(1, 2)).toBe(true);
  expect(isUp(0, 1)).toBe(true);
  expect(isUp(2, 3)).toBe(true);
  expect(isUp(2, 0)).toBe(false);
  for (const same of [0, 1, 2, 3] as const) expect(isUp(same, same)).toBe(false);
  expect(isUp(0, 2, [{ box: above, weight: 1 }])).toBe(false);
});

test("in the lower left corner it covers nothing when boxes are in both others", () => {
  const places = [low, legend, { ...low, x: 8 }];
  const hides = ({ x, y }: Box): number => (x < 100 ? 0 : y < 100 ? 2 : 1);
  expect(leastHiding(places, [], hides)).toBe(2);
  expect(
    leastHiding(places, [{ box: { x: 20, y: 560, width: 9, height: 9 }, weight: 1 }], hides),
  ).toBe(0);
  expect(leastHiding(places, [], () => 1)).toBe(0);
});

test("of four corners with boxes it is in the one where it covers the least part of them", () => {
  const parts = [
    [low, 0.9],
    [legend, 0.8],
    [{ ...low, x: 8 }, 0.6],
    [{ ...legend, x: 8 }, 0.3],
  ] as const;
  const places = parts.map(([place]) => place);
  const boxes = parts.map(([place, part]) => ({ ...place, width: place.width * part }));
  const hides = (place: Box) => 3 + coveredPart(place, boxes);
  expect(places.map(hides)).toEqual([3.75, 3.75, 3.5, 3.25]);
  expect(leastHiding(places, [], hides)).toBe(3);
  // As much as at home is no reason to go; a box that was clicked is one to go elsewhere.
  expect(leastHiding(places.slice(0, 2), [], hides)).toBe(0);
  expect(
    leastHiding(places, [{ box: { x: 20, y: 12, width: 9, height: 9 }, weight: 1 }], hides),
  ).toBe(2);
  expect(coveredPart(low, [low, low])).toBe(0.75);
  expect(coveredPart(low, [legend])).toBe(0);
});

test("no corner is chosen that another control is in, if there is one without", () => {
  const places = [low, legend, { ...low, x: 8 }];
  const hides = ({ x }: Box) => (x < 100 ? 0 : 3);
  const minimap = { x: 8, y: 500, width: 160, height: 92 };
  expect(leastHiding(places, [], hides)).toBe(2);
  expect(leastHiding(places, [], hides, [minimap])).toBe(0);
  expect(leastHiding(places, [], hides, [low])).toBe(2);
  expect(leastHiding(places, [], hides, places)).toBe(0);
});

test("of a scope that is open its title is not covered, of others the whole", () => {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  const [op, open, closed] = [1, 2, 3].map((item) => partToClear(scene, item));
  expect(op).toEqual({ x: 50, y: 20, width: 80, height: 30 });
  expect(closed).toEqual({ x: 60, y: 140, width: 120, height: 46 });
  expect(open).toMatchObject({ x: 40, y: 100, width: 300 });
  expect(open?.height).toBeLessThan(50);
});

test("a control stays in its corner while it covers no box of the network", () => {
  const places = [low, legend];
  const [lines, boxes] = [1, 3.5];
  // Home is free again, and the control is not sent there and back as the user pans.
  expect(leastHiding(places, [], (place) => (place === legend ? lines : 0), [], 1)).toBe(1);
  expect(leastHiding(places, [], (place) => (place === legend ? boxes : 0), [], 1)).toBe(0);
  expect(leastHiding(places, [{ box: above, weight: 100 }], () => 0, [], 1)).toBe(0);
  expect(leastHiding(places, [], () => 0, [{ ...legend, width: 20 }], 1)).toBe(0);
});
