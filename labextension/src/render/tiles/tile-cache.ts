// Caches the drawing as bitmap tiles, which a gesture only has to move. Tiles are painted between
// gestures, a few milliseconds at a time; meanwhile tiles of another zoom or of the previous
// picture are shown.
import type { Box } from "../../protocol/scene";
import {
  keyOf,
  levelOf,
  overviewZoom,
  placeOf,
  type Screen,
  type Spot,
  spotsIn,
  standIns,
  TILE,
} from "./tile-grid";

/** A megabyte each. */
const MOST = 96;

interface Tile {
  readonly spot: Spot;
  readonly canvas: HTMLCanvasElement;
  /** Of the picture that it shows. */
  readonly version: number;
  /** Milliseconds to paint it. */
  readonly cost: number;
}

interface Work {
  readonly spot: Spot;
  readonly ctx: CanvasRenderingContext2D;
  readonly steps: Iterator<void>;
  cost: number;
}

/** Paints a part of the world in steps: between two of them it may wait. */
export type Painter = (ctx: CanvasRenderingContext2D, spot: Spot) => Iterator<void>;

export class TileCache {
  readonly #tiles = new Map<string, Tile>();
  readonly #software: boolean;
  #free: CanvasRenderingContext2D[] = [];
  #wanted: Spot[] = [];
  #spare: Spot[] = [];
  #work: Work | null = null;
  #version = 0;
  #restZoom = 0;
  #painter: Painter = () => [][Symbol.iterator]();

  constructor(software: boolean) {
    this.#software = software;
  }

  /**
   * The picture has changed: existing tiles are placeholders, or useless if the drawing itself has
   * changed.
   */
  renew(painter: Painter, standIn: boolean): void {
    this.#painter = painter;
    this.#version += 1;
    this.#work = null;
    if (!standIn) this.clear();
  }

  clear(): void {
    for (const tile of this.#tiles.values()) this.#recycle(tile);
    this.#tiles.clear();
    this.#restZoom = 0;
  }

  /** Request the tiles for `goal`; returns whether all of them exist. */
  want(goal: Screen, moving: boolean, whole: Box): boolean {
    if (!moving) this.#restZoom = goal.camera.zoom;
    const level = levelOf(goal.camera.zoom, moving && goal.camera.zoom !== this.#restZoom);
    const spots = spotsIn(goal, level);
    this.#wanted = spots.filter((spot) => !this.#current(spot));
    const { width, height } = whole;
    const overview = { ...goal, width, height, camera: { x: whole.x, y: whole.y, zoom: 1 } };
    const spare = moving ? [] : spotsIn(overview, overviewZoom(whole, goal.ratio));
    const ring = moving ? [] : spotsIn(goal, level, TILE / 2);
    this.#spare = [...spare, ...ring].filter((spot) => !this.#current(spot));
    // Visible tiles are the most recently used, so that they are removed last.
    for (const spot of spots) this.#touch(keyOf(spot));
    return this.#wanted.length === 0 && level === goal.camera.zoom;
  }

  /** What painting the tiles of a screen took, in milliseconds. */
  cost(screen: Screen): number {
    return spotsIn(screen, screen.camera.zoom).reduce(
      (sum, spot) => sum + (this.#tiles.get(keyOf(spot))?.cost ?? 0),
      0,
    );
  }

  /** Paint missing tiles until the deadline; returns whether there is more to do. */
  work(deadline: number): boolean {
    while (performance.now() < deadline) {
      this.#work ??= this.#begin();
      if (!this.#work) return false;
      const { ctx, steps } = this.#work;
      const start = performance.now();
      const { done } = steps.next();
      // Drawing is only recorded until a pixel is read.
      ctx.getImageData(0, 0, 1, 1);
      this.#work.cost += performance.now() - start;
      if (done) this.#finish(this.#work);
    }
    return true;
  }

  /** Copy the existing tiles of a screen to the canvas, in device pixels. */
  blit(ctx: CanvasRenderingContext2D, screen: Screen): void {
    const exact = levelOf(screen.camera.zoom, screen.camera.zoom !== this.#restZoom);
    const levels = new Set([...this.#tiles.values()].map(({ spot }) => spot.zoom));
    const others = standIns(
      [...levels].filter((level) => level !== exact),
      screen.camera.zoom,
    );
    for (const spot of spotsIn(screen, exact)) {
      const tile = this.#tiles.get(keyOf(spot));
      const place = placeOf(spot, screen);
      if (tile) ctx.drawImage(tile.canvas, place.x, place.y, place.width, place.height);
      else this.#standIn(ctx, screen, place, others);
    }
  }

  /**
   * Fill a place with the best level that covers it, or else with all there is, the best on top.
   */
  #standIn(
    ctx: CanvasRenderingContext2D,
    screen: Screen,
    place: Box,
    levels: readonly number[],
  ): void {
    const part = partOf(screen, place);
    const found: Tile[][] = [];
    for (const level of levels) {
      const spots = spotsIn(part, level);
      const tiles = spots.flatMap((spot) => this.#tiles.get(keyOf(spot)) ?? []);
      if (tiles.length > 0) found.push(tiles);
      if (tiles.length === spots.length) break;
    }
    for (const tile of found.reverse().flat())
      drawPart(ctx, tile, placeOf(tile.spot, screen), place);
  }

  #current(spot: Spot): boolean {
    return this.#tiles.get(keyOf(spot))?.version === this.#version;
  }

  #touch(key: string): void {
    const tile = this.#tiles.get(key);
    if (!tile) return;
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
  }

  #begin(): Work | null {
    const spot = [...this.#wanted, ...this.#spare].find((wanted) => !this.#current(wanted));
    if (!spot) return null;
    const ctx = this.#free.pop() ?? this.#canvas();
    return { spot, ctx, steps: this.#painter(ctx, spot), cost: 0 };
  }

  #finish({ spot, ctx, cost }: Work): void {
    const key = keyOf(spot);
    const old = this.#tiles.get(key);
    if (old) this.#recycle(old);
    this.#tiles.delete(key);
    this.#tiles.set(key, { spot, canvas: ctx.canvas, version: this.#version, cost });
    this.#work = null;
    for (const [oldest, tile] of this.#tiles) {
      if (this.#tiles.size <= MOST) break;
      this.#tiles.delete(oldest);
      this.#recycle(tile);
    }
  }

  #recycle(tile: Tile): void {
    const ctx = tile.canvas.getContext("2d");
    if (ctx && this.#free.length < 8) this.#free.push(ctx);
  }

  #canvas(): CanvasRenderingContext2D {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = TILE;
    const ctx = canvas.getContext("2d", { alpha: false, willReadFrequently: this.#software });
    if (!ctx) throw new Error("This browser cannot draw on a canvas.");
    return ctx;
  }
}

/** The part of a screen that a place, in device pixels, is. */
function partOf(screen: Screen, place: Box): Screen {
  const { camera, ratio } = screen;
  const scale = ratio * camera.zoom;
  return {
    ratio,
    camera: { x: camera.x + place.x / scale, y: camera.y + place.y / scale, zoom: camera.zoom },
    width: place.width / ratio,
    height: place.height / ratio,
  };
}

/** As much of a tile, which lies at `from`, as is inside `place`. */
function drawPart(ctx: CanvasRenderingContext2D, tile: Tile, from: Box, place: Box): void {
  const left = Math.max(from.x, place.x);
  const top = Math.max(from.y, place.y);
  const width = Math.min(from.x + from.width, place.x + place.width) - left;
  const height = Math.min(from.y + from.height, place.y + place.height) - top;
  if (width <= 0 || height <= 0) return;
  const scale = TILE / from.width;
  const [x, y] = [(left - from.x) * scale, (top - from.y) * scale];
  ctx.drawImage(tile.canvas, x, y, width * scale, height * scale, left, top, width, height);
}
