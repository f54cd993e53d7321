import { expect, test } from "vitest";
import { type Clear, type Hidden, leastHiding, partToClear } from "../../src/panels/controls/make-way";
import { type Box, decodeScene } from "../../src/protocol/scene";
import { packed, sceneArrays } from "../example-graph";

const legend = { x: 580, y: 8, width: 212, height: 42 };
const below = { x: 600, y: 560, width: 60, height: 30 };
const above = { x: 600, y: 10, width: 60, height: 30 };

const low = { ...legend, y: 550 };

const never = () => 2 as const;
const isBetterUp = (clear: readonly Clear[], hides: (place: Box) => Hidden) =>
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

test("a control is where it covers no box, or only boxes aside, and below if it has the choice", () => {
  const isUp = (above: Hidden, low: Hidden, clear: readonly Clear[] = []) =>
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
  const hides = ({ x, y }: Box): Hidden => (x < 100 ? 0 : y < 100 ? 2 : 1);
  expect(leastHiding(places, [], hides)).toBe(2);
  expect(leastHiding(places, [{ box: { x: 20, y: 560, width: 9, height: 9 }, weight: 1 }], hides)).toBe(0);
  expect(leastHiding(places, [], () => 1)).toBe(0);
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
