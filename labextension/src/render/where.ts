// Where an item is on the canvas, for the hand that wants to point at it.
import { at, type Box, boxOf, OPEN, type Scene } from "../scene";
import { type Camera, type Point, toScreen, type Viewport } from "./camera";
import { HEADER } from "./signposts";

/** The middle of an op or closed scope, the middle of what is in view of an open scope's header; and the whole size. */
export function handleOf(scene: Scene, item: number, camera: Camera, viewport: Viewport): Box {
  const { x, y, width, height } = boxOf(scene.box, item);
  const open = at(scene.kind, item) === OPEN;
  const corner = toScreen(camera, x, y);
  const left = open ? Math.max(corner.x, 0) : corner.x;
  const right = corner.x + width * camera.zoom;
  const end = open ? Math.min(right, viewport.width) : right;
  return {
    x: end > left ? (left + end) / 2 : corner.x + (width * camera.zoom) / 2,
    y: corner.y + ((open ? Math.min(HEADER, height) : height) * camera.zoom) / 2,
    width: width * camera.zoom,
    height: height * camera.zoom,
  };
}

/** Whether a world point in an open scope is below its header. */
export function isBelowHeader(scene: Scene, item: number, point: Point): boolean {
  return at(scene.kind, item) === OPEN && point.y > boxOf(scene.box, item).y + HEADER;
}
