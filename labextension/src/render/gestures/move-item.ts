// Moving an item by hand: an op, a closed scope, or an open one by its header; it stays pinned
// there.
import { at, BADGE, boxOf, OPEN, type Scene } from "../../protocol/scene";
import type { Camera, Point } from "../camera/camera";
import { HEADER } from "../canvas/far-labels";

/** The moved item and its displacement, in world coordinates. */
export interface ItemMove {
  readonly item: number;
  readonly dx: number;
  readonly dy: number;
}

/** CSS pixels. Boxes that are lower are hard to hit, so that a drag on them pans. */
const LEAST = 14;

/** The item that a drag from here moves, or -1. `inside`: below the header of an open scope. */
export function movableItem(
  scene: Scene,
  pressed: number,
  inside: boolean,
  camera: Camera,
): number {
  // A badge goes where its consumer goes.
  const item = at(scene.kind, pressed) === BADGE ? at(scene.parent, pressed) : pressed;
  if (item <= 0 || inside) return -1;
  const height = at(scene.kind, item) === OPEN ? HEADER : boxOf(scene.box, item).height;
  return height * camera.zoom >= LEAST ? item : -1;
}

/** The lift with the pointer further on. */
export function itemMoveTo(item: number, from: Point, to: Point, { zoom }: Camera): ItemMove {
  return { item, dx: (to.x - from.x) / zoom, dy: (to.y - from.y) / zoom };
}

/** Where it was put: its middle, in pixels of the whole drawing, however deep it lies. */
export function dropPoint(scene: Scene, { item, dx, dy }: ItemMove): Point {
  const { x, y, width, height } = boxOf(scene.box, item);
  return { x: x + width / 2 + dx, y: y + height / 2 + dy };
}
