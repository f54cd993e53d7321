// Where the camera goes when a new scene arrives.
import { at, type Box, boxOf, OPEN, type Scene, showsAnything, visibleItem } from "../scene";
import {
  anchored,
  type Camera,
  fitted,
  inView,
  opening,
  type Point,
  toWorld,
  towards,
  type Viewport,
} from "./camera";
import { HEADER } from "./labels";

/** A scope and the point of the screen where it shall stay when it is opened or closed. */
export interface Anchor {
  readonly key: string;
  readonly screen: Point;
}

/** Into another room: the camera it was left with, if it was, and whether it is deeper inside. */
export interface Entrance {
  readonly camera: Camera | null;
  readonly inward: boolean;
}

/** How to show a new scene: held at an anchor, flying to the item `focus`, or, by default, with the camera as it is. */
export interface Arrival {
  readonly anchor?: Anchor | undefined;
  readonly focus?: string;
  readonly entrance?: Entrance | undefined;
}

export function destination(scene: Scene, camera: Camera, viewport: Viewport, arrival: Arrival): Camera {
  const there = wished(scene, camera, viewport, arrival);
  // After an undo, nothing may be left where the eye was.
  const empty = !showsAnything(scene.box, scene.kind, inView(there, viewport));
  return empty ? fitted(boxOf(scene.box, 0), viewport) : there;
}

/** The first look at a scene. */
export function firstLook(scene: Scene, viewport: Viewport): Camera {
  return opening(boxOf(scene.box, 0), viewport, topmost(scene));
}

function wished(scene: Scene, camera: Camera, viewport: Viewport, arrival: Arrival): Camera {
  const { anchor, focus, entrance } = arrival;
  if (entrance?.camera) return entrance.camera;
  const start = entrance ? firstLook(scene, viewport) : camera;
  const focused = focus ? visibleItem(scene, focus) : -1;
  if (focused > 0) return towards(boxOf(scene.box, focused), viewport, start);
  const item = anchor && !entrance ? (scene.byKey.get(anchor.key) ?? -1) : -1;
  if (!anchor || item < 0) return start;
  return anchored(heldPoint(scene, item, anchor, camera, viewport), anchor.screen, camera.zoom);
}

/** The point of a scope's new box that belongs where the pointer is: the header's height when it is open. */
function heldPoint(
  scene: Scene,
  item: number,
  { screen }: Anchor,
  camera: Camera,
  viewport: Viewport,
): Point {
  const box = boxOf(scene.box, item);
  const open = at(scene.kind, item) === OPEN;
  const middle = open ? HEADER / 2 : box.height / 2;
  const fits = box.width * camera.zoom < viewport.width;
  const x = fits ? box.x + box.width / 2 : toWorld(middled(box, camera.zoom, viewport), screen.x, 0).x;
  return { x: Math.min(Math.max(x, box.x), box.x + box.width), y: box.y + middle };
}

function middled(box: Box, zoom: number, viewport: Viewport): Camera {
  return anchored({ x: box.x + box.width / 2, y: box.y }, { x: viewport.width / 2, y: 0 }, zoom);
}

/** The middle of the upper border of the highest box that is not an open scope, where reading starts. */
function topmost(scene: Scene): Point | undefined {
  let best: Box | undefined;
  for (let item = 1; item < scene.length; item++) {
    if (at(scene.kind, item) === OPEN || at(scene.aside, item) === 1) continue;
    const box = boxOf(scene.box, item);
    if (!best || box.y < best.y) best = box;
  }
  return best && { x: best.x + best.width / 2, y: best.y };
}
