// Camera math. A camera is the world point at the viewport's top left, and a zoom; all values are
// immutable.
import type { Box } from "../../protocol/scene";

export interface Camera {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}
export interface Viewport {
  readonly width: number;
  readonly height: number;
  /** Pixels at the upper edge that something covers: what is fitted in begins below them. */
  readonly covered?: number;
}
/** Of what is not on the screen. */
export const NO_SIZE: Viewport = { width: 0, height: 0 };
export interface Point {
  readonly x: number;
  readonly y: number;
}

const MIN_ZOOM = 0.01;
const MAX_ZOOM = 4;
/** A box that is flown to is not seen from farther away: names would be no more than specks. */
export const FARTHEST = 0.35;
/**
 * Nor is the first look: few boxes would have room for a name of 9 pixels (Python's first_drawing
 * has the same).
 */
export const FIRST_FARTHEST = 0.55;
/** Rather than to cut a little off a drawing, the first look is from that much farther away. */
const NEARLY = 0.85;
const MARGIN = 24;

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

export function toScreen(camera: Camera, x: number, y: number): Point {
  return { x: (x - camera.x) * camera.zoom, y: (y - camera.y) * camera.zoom };
}

export function toWorld(camera: Camera, x: number, y: number): Point {
  return { x: x / camera.zoom + camera.x, y: y / camera.zoom + camera.y };
}

export function panBy(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.zoom, y: camera.y - dy / camera.zoom };
}

/** The camera with this zoom that shows the world point `world` at the screen point `screen`. */
export function cameraHolding(world: Point, screen: Point, zoom: number): Camera {
  const clamped = clamp(zoom, MIN_ZOOM, MAX_ZOOM);
  return { x: world.x - screen.x / clamped, y: world.y - screen.y / clamped, zoom: clamped };
}

/** Zoom by a factor; the world point at the screen point stays there. */
export function zoomedAt(camera: Camera, factor: number, screen: Point): Camera {
  return cameraHolding(toWorld(camera, screen.x, screen.y), screen, camera.zoom * factor);
}

/** The whole box, centered, at most at zoom `most`. */
export function fitBox(box: Box, viewport: Viewport, most = 1.25): Camera {
  const wide = (viewport.width - 2 * MARGIN) / Math.max(box.width, 1);
  const high = (viewport.height - coveredOf(viewport) - 2 * MARGIN) / Math.max(box.height, 1);
  return centerOn(box, viewport, Math.min(wide, high, most));
}

/**
 * After the viewport has changed: a box that was fitted is fitted again, one that was in view stays
 * in view, and of others the middle stays.
 */
export function cameraAfterResize(
  camera: Camera,
  box: Box,
  before: Viewport,
  after: Viewport,
): Camera {
  const [dx, dy] = [after.width - before.width, after.height - before.height];
  if (before.width === 0 || (dx === 0 && dy === 0)) return camera;
  const whole = fitBox(box, before);
  const wasWhole = Math.abs(whole.x - camera.x) + Math.abs(whole.y - camera.y) < 1;
  if (wasWhole) return fitBox(box, after);
  const panned = panBy(camera, dx / 2, dy / 2);
  const isLost = isWithin(box, inView(camera, before)) && !isWithin(box, inView(panned, after));
  return isLost ? fitBox(box, after, camera.zoom) : panned;
}

/** How far the upper part of a drawing goes to both sides, and where in it reading starts. */
export interface UpperPart {
  readonly left: number;
  readonly right: number;
  readonly start: number;
}

/**
 * The first look at a drawing: all of it, but never from too far away: rather its upper part. Where
 * that is wider than the view, the view is on it to both edges: nothing is blank at one side while
 * the drawing goes on at the other. `upper` returns the extent of a strip of this height; by
 * default that of the box, with its left side as start.
 */
export function openingCamera(
  box: Box,
  viewport: Viewport,
  farthest: number,
  upper?: (height: number) => UpperPart,
): Camera {
  const whole = fitBox(box, viewport);
  if (whole.zoom >= farthest * NEARLY) return whole;
  const zoom = clamp((viewport.width - 2 * MARGIN) / Math.max(box.width, 1), farthest, 1);
  const [width, margin] = [viewport.width / zoom, MARGIN / zoom];
  const all = { left: box.x, right: box.x + box.width, start: box.x };
  const fits = box.width + 2 * margin <= width + 1;
  const { left, right, start } = fits
    ? all
    : (upper?.((viewport.height - coveredOf(viewport)) / zoom - margin) ?? all);
  const x =
    right - left + 2 * margin <= width + 1
      ? (left + right - width) / 2
      : clamp(start - width / 2, left - margin, right + margin - width);
  return { x, y: box.y - margin - coveredOf(viewport) / zoom, zoom };
}

/**
 * Where to fly to see a box: no zooming when it can be read from where we are, its upper part if it
 * is large.
 */
export function cameraTowards(box: Box, viewport: Viewport, camera: Camera): Camera {
  const zoom = clamp(camera.zoom, 0.8, 1.5);
  if (
    box.height * zoom <= viewport.height - coveredOf(viewport) - 2 * MARGIN &&
    box.width * zoom <= viewport.width - 2 * MARGIN
  )
    return centerOn(box, viewport, zoom);
  return openingCamera(box, viewport, FARTHEST);
}

function centerOn(box: Box, viewport: Viewport, zoom: number): Camera {
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  const y = (viewport.height + coveredOf(viewport)) / 2;
  return cameraHolding(middle, { x: viewport.width / 2, y }, zoom);
}

/** Of a low viewport no more than a third: what is covered there is better than too small. */
function coveredOf({ covered = 0, height }: Viewport): number {
  return Math.min(covered, height / 3);
}

/** On the way from one camera to another, t from 0 to 1: the middle of the view moves evenly. */
export function interpolateCamera(from: Camera, to: Camera, t: number, viewport: Viewport): Camera {
  const zoom = from.zoom * (to.zoom / from.zoom) ** t;
  const middle = { x: viewport.width / 2, y: viewport.height / 2 };
  const a = toWorld(from, middle.x, middle.y);
  const b = toWorld(to, middle.x, middle.y);
  return cameraHolding({ x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }, middle, zoom);
}

/** The part of the world in view. */
export function inView(camera: Camera, viewport: Viewport): Box {
  return {
    x: camera.x,
    y: camera.y,
    width: viewport.width / camera.zoom,
    height: viewport.height / camera.zoom,
  };
}

/** Whether a box is wholly inside another. */
export function isWithin(inner: Box, outer: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}
