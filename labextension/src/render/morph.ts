// Between two scenes: boxes that are in both move, new ones grow out of the scope that was opened.
import { at, boxOf, type Scene } from "../scene";

/** Where each box of `next` starts, given what was on the screen; nothing moves when the graphs have no item in common. */
export function startingBoxes(before: Scene, next: Scene): Float32Array {
  const start = Float32Array.from(next.box);
  for (let item = 1; item < next.length; item++) {
    const known = beforeOf(before, next, item);
    if (known >= 0) start.set(before.box.subarray(4 * known, 4 * known + 4), 4 * item);
    else start.set(insideParent(start, next, item), 4 * item);
  }
  return start;
}

/** The same item in the scene before, whether the scope was open or closed. */
function beforeOf(before: Scene, next: Scene, item: number): number {
  const name = next.names[item] ?? "";
  const key = at(next.kind, item) === 0 ? name : `${name}/`;
  return before.byKey.get(key) ?? -1;
}

/** A new box as it would be if its parent, with all inside, were shrunk to where the parent starts. */
function insideParent(start: Float32Array, next: Scene, item: number): number[] {
  const parent = at(next.parent, item);
  const from = boxOf(start, parent);
  const to = boxOf(next.box, parent);
  const box = boxOf(next.box, item);
  const sx = from.width / Math.max(to.width, 1);
  const sy = from.height / Math.max(to.height, 1);
  return [from.x + (box.x - to.x) * sx, from.y + (box.y - to.y) * sy, box.width * sx, box.height * sy];
}

/** Boxes on the way, t from 0 to 1. */
export function mixedBoxes(from: Float32Array, to: Float32Array, t: number, out: Float32Array): Float32Array {
  for (let i = 0; i < out.length; i++) out[i] = at(from, i) + (at(to, i) - at(from, i)) * t;
  return out;
}

/** Slow at both ends. */
export function eased(t: number): number {
  return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}
