import { describe, expect, test } from "vitest";
import { toScreen } from "../../src/render/camera/camera";
import {
  alignToPixels,
  cameraOf,
  keyOf,
  levelOf,
  overviewZoom,
  placeOf,
  spotsIn,
  standIns,
  TILE,
} from "../../src/render/tiles/tile-grid";

const screen = { camera: { x: 130, y: -75, zoom: 0.4 }, width: 1000, height: 700, ratio: 1 };

describe("tiles", () => {
  test("of the present zoom cover the screen without a gap, the middle ones first", () => {
    const spots = spotsIn(screen, 0.4);
    const places = spots.map((spot) => placeOf(spot, screen));
    const covered = (x: number, y: number) =>
      places.filter((p) => p.x <= x && x < p.x + p.width && p.y <= y && y < p.y + p.height).length;
    for (let x = 0; x < 1000; x += 37)
      for (let y = 0; y < 700; y += 31) expect(covered(x, y)).toBe(1);
    const [first] = places;
    expect(Math.abs((first?.x ?? 0) + TILE / 2 - 500)).toBeLessThan(TILE);
  });

  test.each([0.1, 0.25, 0.7])("of zoom %f stand in without a gap between neighbors", (zoom) => {
    for (const spot of spotsIn(screen, zoom)) {
      const place = placeOf(spot, screen);
      const right = placeOf({ ...spot, column: spot.column + 1 }, screen);
      expect(right.x).toBe(place.x + place.width);
    }
  });

  test.each([1, 1.25, 2])("show the world where the camera shows it, at ratio %f", (ratio) => {
    const camera = alignToPixels(screen.camera, ratio);
    const spot = { zoom: 0.4, column: 0, row: -1 };
    const corner = cameraOf(spot, ratio);
    const there = toScreen(camera, corner.x, corner.y);
    const place = placeOf(spot, { ...screen, camera, ratio });
    expect(place.x).toBeCloseTo(there.x * ratio);
    expect(place.y).toBeCloseTo(there.y * ratio);
    expect(place.width).toBe(TILE);
  });

  test("have the camera's own zoom, but a power of two while it changes", () => {
    expect(levelOf(0.37, false)).toBe(0.37);
    expect([0.37, 0.3, 0.26].map((zoom) => levelOf(zoom, true))).toEqual([0.5, 0.25, 0.25]);
  });

  test("of another zoom have another key", () => {
    const spot = { zoom: 0.5, column: 3, row: -2 };
    expect(new Set([spot, { ...spot, zoom: 0.25 }, { ...spot, row: 2 }].map(keyOf)).size).toBe(3);
  });

  test("rather finer than coarser ones stand in, but not hundreds", () => {
    expect(standIns([0.1, 0.4, 0.25, 4], 0.2)).toEqual([0.25, 0.4, 0.1]);
  });

  test("of the whole drawing are four at most", () => {
    const whole = { x: 0, y: 0, width: 80_000, height: 30_000 };
    const zoom = overviewZoom(whole, 1);
    const overview = { ...whole, camera: { x: 0, y: 0, zoom: 1 }, ratio: 1 };
    expect(spotsIn(overview, zoom).length).toBeLessThanOrEqual(4);
  });
});
