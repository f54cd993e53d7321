import { describe, expect, test } from "vitest";
import {
  cameraAfterResize,
  cameraHolding,
  cameraTowards,
  FARTHEST,
  FIRST_FARTHEST,
  fitBox,
  interpolateCamera,
  inView,
  isWithin,
  openingCamera,
  panBy,
  toScreen,
  toWorld,
  zoomedAt,
} from "../../src/render/camera/camera";

const viewport = { width: 800, height: 600 };
const camera = { x: 100, y: -40, zoom: 0.5 };

describe("camera", () => {
  test("what is fitted in begins below what covers the upper edge", () => {
    const covered = { ...viewport, covered: 60 };
    const small = { x: 10, y: 20, width: 100, height: 50 };
    const all = fitBox(small, covered);
    expect(toScreen(all, 60, 45)).toEqual({ x: covered.width / 2, y: (covered.height + 60) / 2 });
    const high = { ...small, height: 10 * covered.height };
    const first = openingCamera(high, covered, FIRST_FARTHEST);
    expect(toScreen(first, high.x, high.y).y).toBeCloseTo(60 + 24);
    const whole = fitBox({ ...small, height: 2 * covered.height }, covered);
    expect(toScreen(whole, 0, 20).y).toBeGreaterThanOrEqual(60 + 24 - 1e-6);
    expect(cameraAfterResize(all, small, covered, { ...covered, width: 900 })).toEqual(
      fitBox(small, { ...covered, width: 900 }),
    );
    // a low view is not given up for it
    const low = { ...viewport, height: 90, covered: 80 };
    expect(toScreen(fitBox(small, low), 60, 45).y).toBe((90 + 30) / 2);
  });

  test("world and screen are inverse", () => {
    const { x, y } = toScreen(camera, 321, 123);
    expect(toWorld(camera, x, y)).toEqual({ x: 321, y: 123 });
  });

  test("zooming keeps what is under the pointer", () => {
    const pointer = { x: 230, y: 410 };
    const before = toWorld(camera, pointer.x, pointer.y);
    const zoomed = zoomedAt(camera, 1.7, pointer);
    const after = toWorld(zoomed, pointer.x, pointer.y);
    expect(zoomed.zoom).toBeCloseTo(0.85);
    expect(after.x).toBeCloseTo(before.x);
    expect(after.y).toBeCloseTo(before.y);
  });

  test("zooming ends at its limits, with the pointer still in place", () => {
    const far = zoomedAt(camera, 1e9, { x: 10, y: 10 });
    expect(far.zoom).toBe(4);
    expect(toWorld(far, 10, 10)).toEqual(toWorld(camera, 10, 10));
  });

  test("panning moves what is in view along with the hand", () => {
    expect(toScreen(panBy(camera, 30, -20), 200, 200)).toEqual({ x: 80, y: 100 });
  });

  test("fitting shows the whole box in the middle", () => {
    const fit = fitBox({ x: 0, y: 0, width: 4000, height: 1000 }, viewport);
    const view = inView(fit, viewport);
    expect(view.x).toBeLessThan(0);
    expect(view.x + view.width).toBeGreaterThan(4000);
    expect(toScreen(fit, 2000, 500).x).toBeCloseTo(400);
    expect(toScreen(fit, 2000, 500).y).toBeCloseTo(300);
  });

  test("the first look at a tall drawing is its readable upper part", () => {
    const first = openingCamera({ x: 0, y: 0, width: 700, height: 9000 }, viewport, FIRST_FARTHEST);
    expect(first.zoom).toBe(1);
    expect(toScreen(first, 350, 0).y).toBe(24);
  });

  test("the first look at a larger drawing is all of it, if that is not too far away", () => {
    const box = { x: 0, y: 0, width: 2000, height: 1400 };
    expect(openingCamera(box, viewport, FARTHEST)).toEqual(fitBox(box, viewport));
    expect(fitBox(box, viewport).zoom).toBeGreaterThan(FARTHEST);
  });

  test("the first look cuts nothing off where a little farther away all is in view", () => {
    const box = { x: 0, y: 0, width: 1500, height: 400 };
    const whole = fitBox(box, viewport);
    expect(whole.zoom).toBeLessThan(FIRST_FARTHEST);
    expect(openingCamera(box, viewport, FIRST_FARTHEST)).toEqual(whole);
    expect(openingCamera({ ...box, width: 2000 }, viewport, FIRST_FARTHEST).zoom).toBe(
      FIRST_FARTHEST,
    );
  });

  test("the first look at a huge drawing is its upper left corner with a margin, from near", () => {
    const first = openingCamera(
      { x: 300, y: 70, width: 50_000, height: 50_000 },
      viewport,
      FIRST_FARTHEST,
    );
    expect(first.zoom).toBe(FIRST_FARTHEST);
    const corner = toScreen(first, 300, 70);
    expect(corner.x).toBeCloseTo(24);
    expect(corner.y).toBeCloseTo(24);
  });

  test.each([
    ["at the left edge", 100],
    ["near it", 700],
    ["in the middle", 5000],
    ["at the right edge", 9900],
  ])("no side is blank while the drawing goes on at the other: reading starts %s", (_, start) => {
    const box = { x: 0, y: 0, width: 10_000, height: 10_000 };
    const first = openingCamera(box, viewport, FIRST_FARTHEST, () => ({
      left: 80,
      right: 9950,
      start,
    }));
    const margin = 24 / first.zoom + 1e-6;
    const seen = inView(first, viewport);
    expect(seen.x).toBeGreaterThanOrEqual(80 - margin);
    expect(seen.x + seen.width).toBeLessThanOrEqual(9950 + margin);
    expect(start).toBeGreaterThan(seen.x);
    expect(start).toBeLessThan(seen.x + seen.width);
  });

  test("an upper part that is narrower than the view is in its middle", () => {
    const box = { x: 0, y: 0, width: 10_000, height: 10_000 };
    const first = openingCamera(box, viewport, FIRST_FARTHEST, () => ({
      left: 4000,
      right: 4600,
      start: 4100,
    }));
    expect(toScreen(first, 4300, 0)).toEqual({ x: expect.closeTo(400), y: expect.closeTo(24) });
  });

  test("flying to a small box brings it to the middle at a readable zoom", () => {
    const there = cameraTowards({ x: 5000, y: 5000, width: 100, height: 30 }, viewport, {
      x: 0,
      y: 0,
      zoom: 0.05,
    });
    expect(there.zoom).toBeGreaterThan(0.5);
    expect(toScreen(there, 5050, 5015)).toEqual({ x: 400, y: 300 });
  });

  test("a move starts and ends where it should and keeps an anchored point still", () => {
    const from = { x: 0, y: 0, zoom: 0.8 };
    const to = cameraHolding({ x: 500, y: 300 }, { x: 100, y: 50 }, 0.8);
    expect(interpolateCamera(from, to, 0, viewport).x).toBeCloseTo(from.x);
    expect(interpolateCamera(from, to, 1, viewport).y).toBeCloseTo(to.y);
    const half = interpolateCamera(from, to, 0.5, viewport);
    expect(half.x).toBeCloseTo((from.x + to.x) / 2);
  });

  test("a window that grows shows the whole again, or keeps the middle", () => {
    const box = { x: 0, y: 0, width: 1000, height: 500 };
    const after = { width: 1200, height: 700 };
    expect(cameraAfterResize(fitBox(box, viewport), box, viewport, after)).toEqual(
      fitBox(box, after),
    );
    const middle = toWorld(camera, viewport.width / 2, viewport.height / 2);
    const moved = cameraAfterResize(camera, box, viewport, after);
    expect(toWorld(moved, after.width / 2, after.height / 2)).toEqual(middle);
    expect(cameraAfterResize(camera, box, viewport, viewport)).toBe(camera);
  });

  test("a drawing in view stays in view below a message, after an edit made it larger", () => {
    const box = { x: 0, y: 0, width: 1000, height: 500 };
    const before = { width: 1100, height: 560 };
    const larger = { ...box, width: 1010, height: 505 };
    const lower = { width: 1100, height: 500 };
    const after = cameraAfterResize(fitBox(box, before), larger, before, lower);
    expect(isWithin(larger, inView(after, lower))).toBe(true);
    // What is still in view is not moved without need.
    const small = { x: 400, y: 200, width: 100, height: 50 };
    const camera = fitBox(box, before);
    expect(cameraAfterResize(camera, small, before, lower)).toEqual(panBy(camera, 0, -30));
  });
});
