// Between two scenes: what is new stands at once where it belongs, and what was there before glides out of its way.
import { at, BADGE, boxOf, type Scene } from "../scene";
import type { Camera } from "./camera";

/** Where each box of `next` starts: one that glides where it was on the screen, any other in its place. */
export function startingBoxes(before: Scene, next: Scene, was: Camera, now: Camera): Start {
  const boxes = Float32Array.from(next.box);
  const glides = new Uint8Array(next.length);
  const scale = was.zoom / now.zoom;
  glides[0] = 1;
  for (let item = 1; item < next.length; item++) {
    const parent = at(next.parent, item);
    if (at(next.kind, item) === BADGE) {
      // A badge goes with the box that it lies on.
      glides[item] = at(glides, parent);
      for (const k of [0, 1])
        boxes[4 * item + k] =
          at(boxes, 4 * item + k) + at(boxes, 4 * parent + k) - at(next.box, 4 * parent + k);
      continue;
    }
    const known = beforeOf(before, next, item);
    if (known < 0 || at(before.kind, known) !== at(next.kind, item)) continue;
    glides[item] = 1;
    const { x, y, width, height } = boxOf(before.box, known);
    boxes.set(
      [(x - was.x) * scale + now.x, (y - was.y) * scale + now.y, width * scale, height * scale],
      4 * item,
    );
  }
  return { boxes, glides };
}

/** `glides` is 1 for items that were there before, open or closed as they are now: those alone move. */
export interface Start {
  readonly boxes: Float32Array;
  readonly glides: Uint8Array;
}

/** The same item in the scene before, whether the scope was open or closed. */
function beforeOf(before: Scene, next: Scene, item: number): number {
  const name = next.names[item] ?? "";
  const key = at(next.kind, item) === 0 ? name : `${name}/`;
  return before.byKey.get(key) ?? -1;
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

/** Fast at first: what is in the way is soon out of it. */
export function hurried(t: number): number {
  return 1 - (1 - t) ** 3;
}
