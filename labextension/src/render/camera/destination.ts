// The camera for a new scene.
import {
  at,
  BADGE,
  type Box,
  boxOf,
  OPEN,
  type Paint,
  type Scene,
  showsAnything,
  visibleItem,
} from "../../protocol/scene";
import { HEADER } from "../canvas/far-labels";
import {
  type Camera,
  cameraHolding,
  cameraTowards,
  FARTHEST,
  FIRST_FARTHEST,
  fitBox,
  inView,
  isWithin,
  openingCamera,
  type Point,
  toWorld,
  type UpperPart,
  type Viewport,
} from "./camera";

/** A scope and the point of the screen where it shall stay when it is opened or closed. */
export interface Anchor {
  readonly key: string;
  readonly screen: Point;
}

/**
 * A change to another graph: its last camera, if it was shown before, and whether it is a called
 * function.
 */
export interface GraphEntry {
  readonly camera: Camera | null;
  readonly inward: boolean;
}

/**
 * How to show a new scene: held at an anchor, flying to the item `focus`, or, by default, with the
 * camera as it is.
 */
export interface Arrival {
  readonly anchor?: Anchor | undefined;
  readonly focus?: string;
  /** Items that are shown with the focus, if they can be read then. */
  readonly others?: readonly string[];
  readonly graphEntry?: GraphEntry | undefined;
  /**
   * The key of the item in the inspector before and after an edit; it stays where it is on the
   * screen.
   */
  readonly still?: { readonly before: string; readonly after: string } | undefined;
  /** The focus is a new copy of this, which is shown with it; null for what is not drawn. */
  readonly beside?: Box | null | undefined;
  /** Whether the whole drawing is shown. */
  readonly fit?: boolean;
  /** Whether a drawing that was not moved yet is looked at as for the first time. */
  readonly refit?: boolean;
}

/** Nominal type of 12 pixels is then still read with ease. */
const READABLE = 0.6;
/** From farther away not even boxes can be distinguished. */
const SPECKS = 0.1;
const MARGIN = 24;

export function destination(
  scene: Scene,
  camera: Camera,
  viewport: Viewport,
  arrival: Arrival,
): Camera {
  const there = requestedCamera(scene, camera, viewport, arrival);
  // After an undo, nothing may be left where the eye was.
  const empty = !showsAnything(scene.box, scene.kind, inView(there, viewport));
  return empty ? fitBox(boxOf(scene.box, 0), viewport) : there;
}

/** The first look at a scene. */
export function firstLook(scene: Scene, viewport: Viewport): Camera {
  const box = boxOf(scene.box, 0);
  return openingCamera(box, viewport, FIRST_FARTHEST, (height) => upperPart(scene, box, height));
}

function requestedCamera(
  scene: Scene,
  camera: Camera,
  viewport: Viewport,
  arrival: Arrival,
): Camera {
  const { anchor, focus, graphEntry } = arrival;
  if (arrival.fit) return fitBox(boxOf(scene.box, 0), viewport);
  if (arrival.refit) return firstLook(scene, viewport);
  if (graphEntry?.camera) return graphEntry.camera;
  const start = graphEntry ? firstLook(scene, viewport) : camera;
  const focused = focus ? visibleItem(scene, focus) : -1;
  if (focused > 0) return cameraOn(scene, focused, start, viewport, arrival);
  const item = anchor && !graphEntry ? (scene.byKey.get(anchor.key) ?? -1) : -1;
  if (!anchor || item < 0) return start;
  const anchored = cameraHolding(
    anchorPoint(scene, item, anchor, camera, viewport),
    anchor.screen,
    camera.zoom,
  );
  return at(scene.kind, item) === OPEN
    ? frameScope(boxOf(scene.box, item), anchored, viewport)
    : anchored;
}

/** The camera that shows an item that is to be seen, with what belongs to it. */
function cameraOn(
  scene: Scene,
  item: number,
  start: Camera,
  viewport: Viewport,
  { beside, others = [] }: Arrival,
): Camera {
  const box = boxWith(scene, item, others, viewport);
  if (beside === undefined) return cameraTowards(box, viewport, start);
  const original = beside ?? overlapOf(inView(start, viewport), boxOf(scene.box, 0));
  return showBoth(box, original, start, viewport) ?? cameraTowards(box, viewport, start);
}

/** The box of an item, and of others as far as all can be read then. */
function boxWith(scene: Scene, item: number, others: readonly string[], viewport: Viewport): Box {
  const own = boxOf(scene.box, item);
  const items = others.map((name) => visibleItem(scene, name));
  const drawn = items.filter((other) => other > 0 && at(scene.kind, other) !== OPEN);
  const all = drawn.reduce((box, other) => unionOf(box, boxOf(scene.box, other)), own);
  return fitBox(all, viewport).zoom >= READABLE ? all : own;
}

/** The camera that shows a copy and its original; null when both would be specks. */
function showBoth(copy: Box, original: Box, camera: Camera, viewport: Viewport): Camera | null {
  const both = unionOf(copy, original);
  // A first picture may be as far away, and it is calmer to stay there.
  if (isWithin(both, inView(camera, viewport)) && camera.zoom >= FIRST_FARTHEST) return camera;
  const wide = fitBox(both, viewport, camera.zoom < FIRST_FARTHEST ? READABLE : camera.zoom);
  return wide.zoom >= SPECKS ? wide : null;
}

/** Around all that is selected, of which a copy was made; null when nothing of it is drawn. */
export function selectedBox(scene: Scene, paint: Paint | null): Box | null {
  let all: Box | null = null;
  for (let item = 1; item < scene.length; item++) {
    const [coverage, kind] = [at(paint?.coverage ?? [], item), at(scene.kind, item)];
    if (kind === BADGE || coverage < (kind === OPEN ? 2 : 1)) continue;
    all = all ? unionOf(all, boxOf(scene.box, item)) : boxOf(scene.box, item);
  }
  return all;
}

/**
 * The camera, moved as little as shows all of an opened scope. Where that needs another zoom it
 * comes as near as the scope fits, but not too near; of one that cannot be read as a whole it shows
 * the upper part.
 */
export function frameScope(box: Box, camera: Camera, viewport: Viewport): Camera {
  const whole = fitBox(box, viewport, camera.zoom);
  if (whole.zoom < Math.min(READABLE, camera.zoom)) {
    const zoom = Math.min(camera.zoom, 1);
    const fits = box.width * zoom + 2 * MARGIN <= viewport.width;
    if (fits || camera.zoom <= READABLE) return panIntoView(box, { ...camera, zoom }, viewport);
    return openingCamera(box, viewport, FARTHEST);
  }
  return whole.zoom < camera.zoom - 1e-6 ? whole : panIntoView(box, camera, viewport);
}

/**
 * Panned as little as brings a box into view; the upper left corner counts more than the lower
 * right one.
 */
function panIntoView(box: Box, camera: Camera, viewport: Viewport): Camera {
  const margin = MARGIN / camera.zoom;
  const along = (start: number, length: number, from: number, size: number) => {
    const most = start - margin;
    const least = start + length + margin - size / camera.zoom;
    return least > most
      ? Math.min(Math.max(from, most), least)
      : Math.min(Math.max(from, least), most);
  };
  const x = along(box.x, box.width, camera.x, viewport.width);
  const high = box.height + 2 * margin > viewport.height / camera.zoom;
  const y = high
    ? Math.min(camera.y, box.y - margin)
    : along(box.y, box.height, camera.y, viewport.height);
  return { ...camera, x, y };
}

function unionOf(a: Box, b: Box): Box {
  const [x, y] = [Math.min(a.x, b.x), Math.min(a.y, b.y)];
  const right = Math.max(a.x + a.width, b.x + b.width);
  const bottom = Math.max(a.y + a.height, b.y + b.height);
  return { x, y, width: right - x, height: bottom - y };
}

function overlapOf(a: Box, b: Box): Box {
  const [x, y] = [Math.max(a.x, b.x), Math.max(a.y, b.y)];
  const right = Math.min(a.x + a.width, b.x + b.width);
  const bottom = Math.min(a.y + a.height, b.y + b.height);
  return { x, y, width: Math.max(right - x, 0), height: Math.max(bottom - y, 0) };
}

/**
 * The point of a scope's new box that belongs where the pointer is: the header's height when it is
 * open.
 */
function anchorPoint(
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
  const x = fits
    ? box.x + box.width / 2
    : toWorld(centeredCamera(box, camera.zoom, viewport), screen.x, 0).x;
  return { x: Math.min(Math.max(x, box.x), box.x + box.width), y: box.y + middle };
}

function centeredCamera(box: Box, zoom: number, viewport: Viewport): Camera {
  return cameraHolding(
    { x: box.x + box.width / 2, y: box.y },
    { x: viewport.width / 2, y: 0 },
    zoom,
  );
}

/**
 * The extent of the uppermost `height` of a drawing. It starts at the highest op or closed scope.
 */
function upperPart(scene: Scene, whole: Box, height: number): UpperPart {
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
