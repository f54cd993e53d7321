// The place of a tooltip: in the view, and not over the box that is current.
import { expect, test } from "vitest";
import { tooltipPlace } from "../../src/panels/controls/tooltip";

const view = { width: 600, height: 400 };
const size = { width: 120, height: 50 };
const overlaps = (place: { x: number; y: number }, box: typeof current) =>
  place.x < box.x + box.width &&
  box.x < place.x + size.width &&
  place.y < box.y + box.height &&
  box.y < place.y + size.height;
const current = { x: 220, y: 210, width: 80, height: 30 };

test.each([
  ["in the middle", { x: 200, y: 200 }],
  ["at the right border", { x: 590, y: 200 }],
  ["at the lower border", { x: 200, y: 395 }],
  ["in the corner", { x: 595, y: 395 }],
  ["at the upper left", { x: 2, y: 2 }],
])("a tooltip of a pointer %s is in the view and not below the pointer", (_, point) => {
  const { x, y } = tooltipPlace(point, size, view, null);
  expect(x).toBeGreaterThanOrEqual(0);
  expect(y).toBeGreaterThanOrEqual(0);
  expect(x + size.width).toBeLessThanOrEqual(view.width);
  expect(y + size.height).toBeLessThanOrEqual(view.height);
  const isOver =
    point.x > x && point.x < x + size.width && point.y > y && point.y < y + size.height;
  expect(isOver).toBe(false);
});

test.each([200, 300, 400])("a tooltip that is wider than each side is not cut off", (x) => {
  const wide = { width: 420, height: 50 };
  const place = tooltipPlace({ x, y: 200 }, wide, view, null);
  expect(place.x).toBeGreaterThanOrEqual(0);
  expect(place.x + wide.width).toBeLessThanOrEqual(view.width);
  expect(place.y > 200 || place.y + wide.height < 200).toBe(true);
});

test("a tooltip does not cover the box that was clicked last", () => {
  const point = { x: 200, y: 200 };
  expect(overlaps(tooltipPlace(point, size, view, null), current)).toBe(true);
  expect(overlaps(tooltipPlace(point, size, view, current), current)).toBe(false);
});
