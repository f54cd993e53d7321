import { expect, test } from "vitest";
import { isBetterUp } from "../../src/panels/controls/make-way";

const legend = { x: 580, y: 8, width: 212, height: 42 };

test.each([
  ["below it", { x: 600, y: 560, width: 60, height: 30 }, true],
  ["above it", { x: 600, y: 490, width: 60, height: 30 }, false],
  ["beside it", { x: 500, y: 560, width: 60, height: 30 }, false],
  ["in both corners", { x: 500, y: 0, width: 160, height: 600 }, false],
])("a control makes way for a box %s", (_, box, expected) => {
  expect(isBetterUp(legend, 550, box)).toBe(expected);
});
