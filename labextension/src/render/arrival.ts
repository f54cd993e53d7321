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
  type Upper,
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
  const box = boxOf(scene.box, 0);
  return opening(box, viewport, (height) => upperPart(scene, box, height));
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

/** What there is in the uppermost `height` of a drawing. Reading starts at the highest op or closed scope. */
function upperPart(scene: Scene, whole: Box, height: number): Upper {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let best: Box | undefined;
  for (let item = 1; item < scene.length; item++) {
    if (at(scene.kind, item) === OPEN) continue;
    const box = boxOf(scene.box, item);
    if (box.y >= whole.y + height) continue;
    left = Math.min(left, box.x);
    right = Math.max(right, box.x + box.width);
    const higher = !best || box.y < best.y || (box.y === best.y && box.x < best.x);
    if (higher && at(scene.aside, item) === 0) best = box;
  }
  if (left > right) return { left: whole.x, right: whole.x + whole.width, start: whole.x };
  return { left, right, start: best ? best.x + best.width / 2 : left };
}
