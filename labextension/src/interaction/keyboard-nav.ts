// Keyboard navigation in the drawing: from an item to its consumers, its inputs or the item beside
// it.
//
// Edges are split at the borders of open scopes (visible/visible_graph.py): op to border, border to
// border, border to op. Navigation follows all parts of an edge: one key press leads from an op to
// the op at the other end.
import type { State } from "../protocol/messages";
import { at, BADGE, type Box, boxOf, keyOf, OPEN, type Scene } from "../protocol/scene";
import { type Camera, panBy, type Viewport } from "../render/camera/camera";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";
export type Step = "consumers" | "producers" | "before" | "after";

const STEPS: Record<State["direction"], Record<Arrow, Step>> = {
  down: { ArrowUp: "producers", ArrowDown: "consumers", ArrowLeft: "before", ArrowRight: "after" },
  right: { ArrowUp: "before", ArrowDown: "after", ArrowLeft: "producers", ArrowRight: "consumers" },
};
const OPPOSITE: Record<Step, Step> = {
  consumers: "producers",
  producers: "consumers",
  before: "after",
  after: "before",
};
/** Pixels between the current item and the border of the view. */
const MARGIN = 40;

/** The step of an arrow key, for a direction of flow. */
export function stepOf(arrow: Arrow, direction: State["direction"]): Step {
  return STEPS[direction][arrow];
}

/** The current item and the previous one: the opposite key returns to that. */
export class NavigationCursor {
  #scene: Scene | null = null;
  #item = -1;
  #from = -1;
  #step: Step | null = null;

  /**
   * The item of a key. An op may have several badges: the one reached by navigation, else the
   * first.
   */
  itemOf(scene: Scene, key: string): number {
    const walked = scene === this.#scene && keyOf(scene, this.#item) === key;
    return walked ? this.#item : (scene.byKey.get(key) ?? -1);
  }

  /** The next item in the direction of a step, or -1. */
  go(scene: Scene, item: number, step: Step, direction: State["direction"]): number {
    const returning =
      scene === this.#scene &&
      item === this.#item &&
      this.#step !== null &&
      step === OPPOSITE[this.#step];
    const there = returning ? this.#from : nextItem(scene, item, step, direction);
    if (there > 0) this.arrive(scene, there, item, step);
    return there;
  }

  arrive(scene: Scene, item: number, from = -1, step: Step | null = null): void {
    this.#scene = scene;
    this.#item = item;
    this.#from = from;
    this.#step = from > 0 ? step : null;
  }
}

/** The next item in the direction of a step, or -1. */
export function nextItem(
  scene: Scene,
  item: number,
  step: Step,
  direction: State["direction"],
): number {
  if (item <= 0) return -1;
  if (step === "before" || step === "after") return siblingBeside(scene, item, step, direction);
  if (at(scene.kind, item) === BADGE) return step === "consumers" ? at(scene.parent, item) : -1;
  const found = step === "consumers" ? consumersOf(scene, item) : producersOf(scene, item);
  return nearest(scene, item, found, direction);
}

/**
 * The first badge of an op, or the first item in an open scope; -1 if it contains no drawn item.
 */
export function firstChild(scene: Scene, item: number): number {
  let best = -1;
  for (let child = item + 1; child < scene.length; child++) {
    if (at(scene.parent, child) !== item) continue;
    if (best < 0 || isBefore(boxOf(scene.box, child), boxOf(scene.box, best))) best = child;
  }
  return best;
}

/**
 * The first of some ops and closed scopes in the direction of flow, if possible one with edges; -1
 * if there is none.
 */
export function firstOp(
  scene: Scene,
  items: Iterable<number>,
  direction: State["direction"],
): number {
  let best = -1;
  const rank = (item: number) => {
    const { x, y } = boxOf(scene.box, item);
    return [at(scene.isolated, item), ...(direction === "down" ? [y, x] : [x, y])];
  };
  const isFirst = (item: number) => {
    const [own, other] = [rank(item), rank(best)];
    const k = own.findIndex((value, i) => value !== other[i]);
    return k >= 0 && at(own, k) < at(other, k);
  };
  for (const item of items) {
    const kind = at(scene.kind, item);
    if (item > 0 && kind !== OPEN && kind !== BADGE && (best < 0 || isFirst(item))) best = item;
  }
  return best;
}

/** The scope around an item, or the op of a badge; -1 at the outermost. */
export function enclosingItem(scene: Scene, item: number): number {
  const parent = item > 0 ? at(scene.parent, item) : 0;
  return parent > 0 ? parent : -1;
}

function consumersOf(scene: Scene, item: number): number[] {
  // An open scope is entered by its upper border.
  if (at(scene.kind, item) === OPEN) {
    const found = neighborsThrough(scene, item, "consumers");
    const first = found.length === 0 ? firstChild(scene, item) : -1;
    return first > 0
      ? [first]
      : found.length > 0
        ? found
        : outerNeighbors(scene, item, "consumers");
  }
  return outerNeighbors(scene, item, "consumers");
}

function producersOf(scene: Scene, item: number): number[] {
  const found = outerNeighbors(scene, item, "producers");
  const badge = found.length === 0 && at(scene.kind, item) !== OPEN ? firstChild(scene, item) : -1;
  return badge > 0 ? [badge] : found;
}

type Along = "consumers" | "producers";

/** The ends of the lines that leave an item, or a scope's border, on its outside. */
function outerNeighbors(scene: Scene, item: number, along: Along): number[] {
  const found: number[] = [];
  for (const other of neighborsOf(scene, item, along)) {
    if (at(scene.parent, other) === item) continue;
    if (other === at(scene.parent, item)) {
      if (other > 0) found.push(...outerNeighbors(scene, other, along));
    } else
      found.push(
        ...(at(scene.kind, other) === OPEN ? neighborsInside(scene, other, along) : [other]),
      );
  }
  return found;
}

/**
 * The items inside a scope to which lines lead that reach its border; the scope itself if there are
 * none.
 */
function neighborsInside(scene: Scene, scope: number, along: Along): number[] {
  const found = neighborsThrough(scene, scope, along);
  return found.length > 0 ? found : [scope];
}

function neighborsThrough(scene: Scene, scope: number, along: Along): number[] {
  return neighborsOf(scene, scope, along)
    .filter((other) => at(scene.parent, other) === scope)
    .flatMap((other) =>
      at(scene.kind, other) === OPEN ? neighborsInside(scene, other, along) : [other],
    );
}

/** The other ends of an item's lines: those of tensors; where there are none, of control inputs. */
function neighborsOf(scene: Scene, item: number, along: Along): number[] {
  const [near, far] =
    along === "consumers" ? [scene.source, scene.target] : [scene.target, scene.source];
  const [tensors, controls, backs]: number[][] = [[], [], []];
  for (let edge = near.indexOf(item); edge >= 0; edge = near.indexOf(item, edge + 1)) {
    const found =
      at(scene.back, edge) === 1 ? backs : at(scene.tensors, edge) > 0 ? tensors : controls;
    found?.push(at(far, edge));
  }
  return [tensors, controls, backs].find((found) => (found?.length ?? 0) > 0) ?? [];
}

/** The end with the least sideways distance; of equal ones the nearer. */
function nearest(
  scene: Scene,
  item: number,
  found: number[],
  direction: State["direction"],
): number {
  const here = middle(scene, item, direction);
  const far = (end: number) => {
    const there = middle(scene, end, direction);
    return Math.abs(there.side - here.side) + 0.01 * Math.abs(there.along - here.along);
  };
  let best = -1;
  for (const end of found)
    if (end > 0 && end !== item && (best < 0 || far(end) < far(best))) best = end;
  return best;
}

/** The sibling beside an item: one in the same row is preferred to a nearer one above or below. */
function siblingBeside(
  scene: Scene,
  item: number,
  step: "before" | "after",
  direction: State["direction"],
): number {
  // Badges are in rows at the bottom of their op, in either direction of flow.
  const badge = at(scene.kind, item) === BADGE;
  const here = middle(scene, item, direction);
  const parent = at(scene.parent, item);
  const sign = step === "after" ? 1 : -1;
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  for (let other = 1; other < scene.length; other++) {
    if (other === item || at(scene.parent, other) !== parent) continue;
    const there = middle(scene, other, direction);
    const away = badge ? sign * (other - item) : sign * (there.side - here.side);
    const cost = badge ? away : away + 3 * Math.abs(there.along - here.along);
    if (away > 0 && cost < least) [best, least] = [other, cost];
  }
  return best;
}

/** The center of an item, `along` the direction of flow and to the `side`. */
function middle(
  scene: Scene,
  item: number,
  direction: State["direction"],
): { side: number; along: number } {
  const { x, y, width, height } = boxOf(scene.box, item);
  const [a, b] = [x + width / 2, y + height / 2];
  return direction === "down" ? { side: a, along: b } : { side: b, along: a };
}

function isBefore(a: Box, b: Box): boolean {
  return a.y < b.y || (a.y === b.y && a.x < b.x);
}

/** The camera, moved as little as needed to show a box, or the upper left part of a larger one. */
export function cameraShowing(box: Box, camera: Camera, viewport: Viewport): Camera {
  const { zoom } = camera;
  const shift = (start: number, size: number, room: number) => {
    const margin = Math.min(MARGIN, room / 4);
    const end = start + size;
    if (start < margin || size > room - 2 * margin) return margin - start;
    return end > room - margin ? room - margin - end : 0;
  };
  const dx = shift((box.x - camera.x) * zoom, box.width * zoom, viewport.width);
  const dy = shift((box.y - camera.y) * zoom, box.height * zoom, viewport.height);
  return dx === 0 && dy === 0 ? camera : panBy(camera, dx, dy);
}
