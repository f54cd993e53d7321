// Lifting: an op, a closed scope, or an open one by its header, is dragged to another place and stays there.
import { at, BADGE, boxOf, OPEN, type Scene } from "../scene";
import type { Camera, Point } from "./camera";
import { HEADER } from "./signposts";

/** What is lifted and how far it has come, in world coordinates. */
export interface Lift {
  readonly item: number;
  readonly dx: number;
  readonly dy: number;
}

/** Lower boxes, in CSS pixels, cannot be told from the background: from afar a drag pans. */
const LEAST = 14;

/** What a press on an item would lift; -1 for nothing. `inside`: below the header of an open scope. */
export function liftable(scene: Scene, pressed: number, inside: boolean, camera: Camera): number {
  // A chip goes where its reader goes.
  const item = at(scene.kind, pressed) === BADGE ? at(scene.parent, pressed) : pressed;
  if (item <= 0 || inside) return -1;
  const height = at(scene.kind, item) === OPEN ? HEADER : boxOf(scene.box, item).height;
  return height * camera.zoom >= LEAST ? item : -1;
}

/** The lift with the pointer further on. */
export function lifted(item: number, from: Point, to: Point, { zoom }: Camera): Lift {
  return { item, dx: (to.x - from.x) / zoom, dy: (to.y - from.y) / zoom };
}

/** Where it was put: its middle, in pixels of the whole drawing, however deep it lies. */
export function putDown(scene: Scene, { item, dx, dy }: Lift): Point {
  const { x, y, width, height } = boxOf(scene.box, item);
  return { x: x + width / 2 + dx, y: y + height / 2 + dy };
}
