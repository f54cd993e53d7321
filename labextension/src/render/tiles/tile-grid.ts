// The grid of tiles, squares with the same number of device pixels at each zoom: which are needed,
// and where they lie on the canvas. Pure arithmetic; tile-cache.ts has the pixels.
import type { Box } from "../../protocol/scene";
import type { Camera, Viewport } from "../camera/camera";

/** Side of a tile in device pixels. */
export const TILE = 512;

/** A tile: column and row are counted from the world's origin. */
export interface Spot {
  readonly zoom: number;
  readonly column: number;
  readonly row: number;
}

/** A window on the world in device pixels. */
export interface Screen extends Viewport {
  readonly camera: Camera;
  readonly ratio: number;
}

export function keyOf({ zoom, column, row }: Spot): string {
  return `${zoom}/${column}/${row}`;
}

/** The camera on whole device pixels, so that new and old tiles coincide. */
export function alignToPixels({ x, y, zoom }: Camera, ratio: number): Camera {
  const pixels = zoom * ratio;
  return { x: Math.round(x * pixels) / pixels, y: Math.round(y * pixels) / pixels, zoom };
}

/**
 * The zoom at which to have tiles: the present one, but a power of two while it changes with every
 * frame.
 */
export function levelOf(zoom: number, changing: boolean): number {
  return changing ? 2 ** Math.round(Math.log2(zoom)) : zoom;
}

/** The tiles of a level that a screen shows, the middle ones first; `margin` in device pixels. */
export function spotsIn(
  { camera, width, height, ratio }: Screen,
  zoom: number,
  margin = 0,
): Spot[] {
  const scale = ratio * zoom;
  const first = (start: number) => Math.floor((start * scale - margin) / TILE + 1e-6);
  const last = (start: number, length: number) =>
    Math.ceil(((start + length / camera.zoom) * scale + margin) / TILE - 1e-6);
  const [left, right] = [first(camera.x), last(camera.x, width)];
  const [top, bottom] = [first(camera.y), last(camera.y, height)];
  const spots: Spot[] = [];
  for (let row = top; row < bottom; row++)
    for (let column = left; column < right; column++) spots.push({ zoom, column, row });
  const [x, y] = [(left + right - 1) / 2, (top + bottom - 1) / 2];
  const away = (spot: Spot) => Math.hypot(spot.column - x, spot.row - y);
  return spots.sort((a, b) => away(a) - away(b));
}

/** Where a tile lies on the canvas, in whole device pixels; neighbors meet without a gap. */
export function placeOf({ zoom, column, row }: Spot, { camera, ratio }: Screen): Box {
  const scale = camera.zoom / zoom;
  const [left, top] = [camera.x * camera.zoom * ratio, camera.y * camera.zoom * ratio];
  const x = Math.round(column * TILE * scale - left);
  const y = Math.round(row * TILE * scale - top);
  return {
    x,
    y,
    width: Math.round((column + 1) * TILE * scale - left) - x,
    height: Math.round((row + 1) * TILE * scale - top) - y,
  };
}

/** The camera that draws a tile. */
export function cameraOf({ zoom, column, row }: Spot, ratio: number): Camera {
  const side = TILE / (ratio * zoom);
  return { x: column * side, y: row * side, zoom };
}

/** The zoom at which a whole drawing needs no more than about four tiles. */
export function overviewZoom({ width, height }: Box, ratio: number): number {
  return (1.9 * TILE) / (ratio * Math.max(width, height, 1));
}

/** Levels that can replace a missing one, the best first: too fine is better than too coarse. */
export function standIns(levels: Iterable<number>, zoom: number): number[] {
  const badness = (level: number) => {
    const octaves = Math.log2(level / zoom);
    return octaves > 0 ? octaves / 2 : -octaves;
  };
  // Of a much finer level a screen would need hundreds.
  const few = [...levels].filter((level) => level / zoom < 6);
  return few.sort((a, b) => badness(a) - badness(b));
}
