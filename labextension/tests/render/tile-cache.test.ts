import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TileCache } from "../../src/render/tiles/tile-cache";
import type { Spot } from "../../src/render/tiles/tile-grid";

const screen = { camera: { x: 0, y: 0, zoom: 1 }, width: 1000, height: 500, ratio: 1 };
const whole = { x: 0, y: 0, width: 1000, height: 500 };

/** A canvas that remembers what was drawn on it from where. */
function canvas() {
  const drawn: { from: unknown; x: number; y: number }[] = [];
  const ctx = {
    getImageData: () => undefined,
    drawImage: (from: unknown, ...to: number[]) => {
      const [x = 0, y = 0] = to.slice(-4);
      drawn.push({ from, x, y });
    },
  };
  const made = { width: 0, height: 0, getContext: () => Object.assign(ctx, { canvas: made }) };
  return { ctx: ctx as unknown as CanvasRenderingContext2D, drawn, made };
}

describe("tiles", () => {
  beforeEach(() => void vi.stubGlobal("document", { createElement: () => canvas().made }));
  afterEach(() => void vi.unstubAllGlobals());

  function made(steps = 1) {
    const painted: Spot[] = [];
    const tiles = new TileCache(true);
    const painter = function* (_: unknown, spot: Spot) {
      for (let step = 0; step < steps; step++) yield;
      painted.push(spot);
    };
    tiles.renew(painter, false);
    return { tiles, painted, painter };
  }
  const forever = Number.POSITIVE_INFINITY;

  test("are made beside the gesture: what is wanted is complete only after the work", () => {
    const { tiles, painted } = made();
    expect(tiles.want(screen, false, whole)).toBe(false);
    expect(tiles.work(performance.now() - 1)).toBe(true);
    expect(painted).toEqual([]);
    tiles.work(forever);
    expect(tiles.want(screen, false, whole)).toBe(true);
    const target = canvas();
    tiles.blit(target.ctx, screen);
    expect(target.drawn.map(({ x, y }) => [x, y])).toEqual([
      [0, 0],
      [512, 0],
    ]);
  });

  test("panning needs only those that come into view", () => {
    const { tiles, painted } = made();
    tiles.want(screen, false, whole);
    tiles.work(forever);
    const before = painted.length;
    const further = { ...screen, camera: { ...screen.camera, x: 1500 } };
    expect(tiles.want(further, true, whole)).toBe(false);
    tiles.work(forever);
    expect(painted.slice(before).every(({ column }) => column >= 2)).toBe(true);
    expect(tiles.want(further, true, whole)).toBe(true);
  });

  test("while the zoom changes, tiles of another zoom show, and the picture is incomplete", () => {
    const { tiles } = made();
    tiles.want(screen, false, whole);
    tiles.work(forever);
    const nearer = { ...screen, camera: { x: 100, y: 50, zoom: 1.9 } };
    expect(tiles.want(nearer, true, whole)).toBe(false);
    const target = canvas();
    tiles.blit(target.ctx, nearer);
    expect(target.drawn.length).toBeGreaterThan(0);
    tiles.work(forever);
    expect(tiles.want(nearer, true, whole)).toBe(false);
    expect(tiles.want(nearer, false, whole)).toBe(false);
    tiles.work(forever);
    expect(tiles.want(nearer, false, whole)).toBe(true);
  });

  test("of the picture before stand in after a change of the selection, not of the drawing", () => {
    const { tiles, painter } = made();
    tiles.want(screen, false, whole);
    tiles.work(forever);
    const shown = () => {
      const target = canvas();
      tiles.blit(target.ctx, screen);
      return target.drawn.length;
    };
    tiles.renew(painter, true);
    expect([tiles.want(screen, false, whole), shown()]).toEqual([false, 2]);
    tiles.renew(painter, false);
    expect([tiles.want(screen, false, whole), shown()]).toEqual([false, 0]);
  });

  test("that were not seen for long are thrown away, those in view never", () => {
    const { tiles, painted } = made();
    for (let step = 0; step < 80; step++) {
      tiles.want({ ...screen, camera: { ...screen.camera, x: 1024 * step } }, false, whole);
      tiles.work(forever);
    }
    const before = painted.length;
    expect(
      tiles.want({ ...screen, camera: { ...screen.camera, x: 1024 * 79 } }, false, whole),
    ).toBe(true);
    expect(tiles.want({ ...screen, camera: { ...screen.camera, x: 2048 } }, false, whole)).toBe(
      false,
    );
    expect(painted.length).toBe(before);
  });
});
