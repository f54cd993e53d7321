// Box and lasso regions, and the items inside them. All coordinates are world coordinates.
import { at, type Box, boxOf, isScope, OPEN, type Scene } from "../../protocol/scene";
import { isWithin, type Point } from "../camera/camera";

export type Shape = "box" | "lasso";
export type RegionCommand = "set" | "add" | "remove";

/**
 * A box from its first point to its last, or a lasso through all of them; `command` is what letting
 * go will do.
 */
export interface Region {
  readonly shape: Shape;
  readonly points: readonly Point[];
  readonly command: RegionCommand;
}

/** The items in a region, and their names for a request. */
export interface RegionItems {
  readonly items: readonly number[];
  readonly ops: readonly string[];
  readonly scopes: readonly string[];
}

/**
 * The region with the pointer further on; a lasso remembers the way in steps of at least `step`.
 */
export function extendRegion(
  region: Region,
  to: Point,
  command: RegionCommand,
  step: number,
): Region {
  const last = region.points.at(-1) ?? to;
  const near = Math.hypot(to.x - last.x, to.y - last.y) < step;
  if (region.shape === "box") return { ...region, command, points: [region.points[0] ?? to, to] };
  return { ...region, command, points: near ? region.points : [...region.points, to] };
}

/** The smallest box around a region. */
export function boundsOf({ points }: Region): Box {
  const xs = points.map(({ x }) => x);
  const ys = points.map(({ y }) => y);
  const left = least(xs);
  const top = least(ys);
  return {
    x: left,
    y: top,
    width: -least(xs.map((x) => -x)) - left,
    height: -least(ys.map((y) => -y)) - top,
  };
}

/**
 * A box contains items that are completely inside, a lasso items whose center is inside. An open
 * scope counts only if it is completely inside, then instead of its content. `near` are the items
 * that touch the region, parents first.
 */
export function itemsInRegion(region: Region, scene: Scene, near: readonly number[]): RegionItems {
  const inside = insideOf(region);
  const taken: { items: number[]; ops: string[]; scopes: string[] } = {
    items: [],
    ops: [],
    scopes: [],
  };
  const covered = new Set<number>();
  for (const item of near) {
    if (item === 0) continue;
    const kind = at(scene.kind, item);
    const isCovered = covered.has(at(scene.parent, item));
    const whole = !isCovered && inside(boxOf(scene.box, item), kind === OPEN);
    if (isCovered || (whole && kind === OPEN)) covered.add(item);
    if (!whole) continue;
    taken.items.push(item);
    (isScope(kind) ? taken.scopes : taken.ops).push(scene.names[item] ?? "");
  }
  return taken;
}

/** Whether a box is inside the region; `all` of it, or for a lasso its middle. */
function insideOf(region: Region): (box: Box, all: boolean) => boolean {
  const { shape, points } = region;
  const bounds = boundsOf(region);
  if (shape === "box") return (box) => isWithin(box, bounds);
  return (box, all) =>
    all ? isWithin(box, bounds) && encloses(points, box) : contains(points, middleOf(box));
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function middleOf({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/**
 * Whether a point is inside the closed line through `points`: a ray to the right crosses it an odd
 * number of times.
 */
export function contains(points: readonly Point[], { x, y }: Point): boolean {
  let inside = false;
  let a = points.at(-1);
  for (const b of points) {
    if (a && a.y > y !== b.y > y && x < a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x))
      inside = !inside;
    a = b;
  }
  return inside;
}

/** Whether a box is inside the closed line, which then crosses it nowhere. */
function encloses(points: readonly Point[], box: Box): boolean {
  if (!contains(points, middleOf(box))) return false;
  let a = points.at(-1);
  for (const b of points) {
    if (a && meets(a, b, box)) return false;
    a = b;
  }
  return true;
}

/**
 * Whether the straight line from `a` to `b` touches the box, by clipping it between each pair of
 * sides.
 */
function meets(a: Point, b: Point, { x, y, width, height }: Box): boolean {
  let from = 0;
  let to = 1;
  for (const [start, way, low, high] of [
    [a.x, b.x - a.x, x, x + width],
    [a.y, b.y - a.y, y, y + height],
  ] as const) {
    if (way === 0 && (start < low || start > high)) return false;
    if (way === 0) continue;
    const [one, other] = [(low - start) / way, (high - start) / way];
    from = Math.max(from, Math.min(one, other));
    to = Math.min(to, Math.max(one, other));
  }
  return from <= to;
}
