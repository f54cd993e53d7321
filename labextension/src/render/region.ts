// Boxes and lassos drawn on the canvas, and what they take. All coordinates are the world's.
import { at, type Box, boxOf, isScope, OPEN, type Scene } from "../scene";
import type { Point } from "./camera";

export type Shape = "box" | "lasso";
export type RegionVerb = "set" | "add" | "remove";

/** A box from its first point to its last, or a lasso through all of them; `verb` is what letting go will do. */
export interface Region {
  readonly shape: Shape;
  readonly points: readonly Point[];
  readonly verb: RegionVerb;
}

/** What a region takes, as items and as the names that a request carries. */
export interface Taken {
  readonly items: readonly number[];
  readonly ops: readonly string[];
  readonly scopes: readonly string[];
}

/** The region with the pointer further on; a lasso remembers the way in steps of at least `step`. */
export function extended(region: Region, to: Point, verb: RegionVerb, step: number): Region {
  const last = region.points.at(-1) ?? to;
  const near = Math.hypot(to.x - last.x, to.y - last.y) < step;
  if (region.shape === "box") return { ...region, verb, points: [region.points[0] ?? to, to] };
  return { ...region, verb, points: near ? region.points : [...region.points, to] };
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
 * A box takes what is wholly inside it, a lasso what has its middle inside. An open scope is taken only when it is
 * wholly inside, then instead of all that it holds. `near` are the items that touch the region, parents first.
 */
export function takenBy(region: Region, scene: Scene, near: readonly number[]): Taken {
  const inside = insideOf(region);
  const taken: { items: number[]; ops: string[]; scopes: string[] } = { items: [], ops: [], scopes: [] };
  const covered = new Set<number>();
  for (const item of near) {
    if (item === 0) continue;
    const kind = at(scene.kind, item);
    const held = covered.has(at(scene.parent, item));
    const whole = !held && inside(boxOf(scene.box, item), kind === OPEN);
    if (held || (whole && kind === OPEN)) covered.add(item);
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
  if (shape === "box") return (box) => within(box, bounds);
  return (box, all) => (all ? within(box, bounds) && encloses(points, box) : contains(points, middleOf(box)));
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity);
}

function middleOf({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Whether a box is wholly inside another. */
export function within(inner: Box, outer: Box): boolean {
  return (
    inner.x >= outer.x &&
    inner.y >= outer.y &&
    inner.x + inner.width <= outer.x + outer.width &&
    inner.y + inner.height <= outer.y + outer.height
  );
}

/** Whether a point is inside the closed line through `points`: a ray to the right crosses it an odd number of times. */
export function contains(points: readonly Point[], { x, y }: Point): boolean {
  let inside = false;
  let a = points.at(-1);
  for (const b of points) {
    if (a && a.y > y !== b.y > y && x < a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x)) inside = !inside;
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

/** Whether the straight line from `a` to `b` touches the box: what is left of it between each pair of sides. */
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
