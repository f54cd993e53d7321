// Walking the drawing by keyboard: from an item to what reads it, what it reads, what lies beside it.
//
// Lines are cut at the borders of open scopes (visible/visible_graph.py): op to border, border to border, border to op. A walk
// goes through: one press leads from an op to the op at the other end, however many borders lie between.
import type { State } from "./protocol";
import { type Camera, panned, type Viewport } from "./render/camera";
import { at, BADGE, type Box, boxOf, keyOf, OPEN, type Scene } from "./scene";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";
export type Step = "readers" | "producers" | "before" | "after";

const STEPS: Record<State["direction"], Record<Arrow, Step>> = {
  down: { ArrowUp: "producers", ArrowDown: "readers", ArrowLeft: "before", ArrowRight: "after" },
  right: { ArrowUp: "before", ArrowDown: "after", ArrowLeft: "producers", ArrowRight: "readers" },
};
const OPPOSITE: Record<Step, Step> = {
  readers: "producers",
  producers: "readers",
  before: "after",
  after: "before",
};
/** Pixels of the screen that stay free around what the walk has reached. */
const MARGIN = 40;

/** What an arrow means where tensors flow in this direction. */
export function stepOf(arrow: Arrow, direction: State["direction"]): Step {
  return STEPS[direction][arrow];
}

/** Where one is, and where one came from: back is where one was, whatever else is near. */
export class Walk {
  #scene: Scene | null = null;
  #item = -1;
  #from = -1;
  #step: Step | null = null;

  /** The item of a key. An op may have several badges: the one the walk has reached, else the first. */
  here(scene: Scene, key: string): number {
    const walked = scene === this.#scene && keyOf(scene, this.#item) === key;
    return walked ? this.#item : (scene.byKey.get(key) ?? -1);
  }

  /** The item one step on, or -1. */
  go(scene: Scene, item: number, step: Step, direction: State["direction"]): number {
    const returning =
      scene === this.#scene && item === this.#item && this.#step !== null && step === OPPOSITE[this.#step];
    const there = returning ? this.#from : walked(scene, item, step, direction);
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

/** The item one step on, or -1. */
export function walked(scene: Scene, item: number, step: Step, direction: State["direction"]): number {
  if (item <= 0) return -1;
  if (step === "before" || step === "after") return beside(scene, item, step, direction);
  if (at(scene.kind, item) === BADGE) return step === "readers" ? at(scene.parent, item) : -1;
  const ends = step === "readers" ? readers(scene, item) : producers(scene, item);
  return nearest(scene, item, ends, direction);
}

/** Into an item: its first badge, or what stands first in an open scope; -1 when it holds nothing that is drawn. */
export function inside(scene: Scene, item: number): number {
  let best = -1;
  for (let child = item + 1; child < scene.length; child++) {
    if (at(scene.parent, child) !== item) continue;
    if (best < 0 || isBefore(boxOf(scene.box, child), boxOf(scene.box, best))) best = child;
  }
  return best;
}

/** The scope around an item, or the op of a badge; -1 at the outermost. */
export function around(scene: Scene, item: number): number {
  const parent = item > 0 ? at(scene.parent, item) : 0;
  return parent > 0 ? parent : -1;
}

function readers(scene: Scene, item: number): number[] {
  // Into an open scope by its upper border.
  if (at(scene.kind, item) === OPEN) {
    const ends = through(scene, item, "readers");
    const first = ends.length === 0 ? inside(scene, item) : -1;
    return first > 0 ? [first] : ends.length > 0 ? ends : out(scene, item, "readers");
  }
  return out(scene, item, "readers");
}

function producers(scene: Scene, item: number): number[] {
  const ends = out(scene, item, "producers");
  const badge = ends.length === 0 && at(scene.kind, item) !== OPEN ? inside(scene, item) : -1;
  return badge > 0 ? [badge] : ends;
}

type Along = "readers" | "producers";

/** The ends of the lines that leave an item, or a scope's border, on its outside. */
function out(scene: Scene, item: number, along: Along): number[] {
  const ends: number[] = [];
  for (const other of others(scene, item, along)) {
    if (at(scene.parent, other) === item) continue;
    if (other === at(scene.parent, item)) {
      if (other > 0) ends.push(...out(scene, other, along));
    } else ends.push(...(at(scene.kind, other) === OPEN ? entered(scene, other, along) : [other]));
  }
  return ends;
}

/** Where the lines that reach a border go on inside; the scope itself when none does. */
function entered(scene: Scene, scope: number, along: Along): number[] {
  const ends = through(scene, scope, along);
  return ends.length > 0 ? ends : [scope];
}

function through(scene: Scene, scope: number, along: Along): number[] {
  return others(scene, scope, along)
    .filter((other) => at(scene.parent, other) === scope)
    .flatMap((other) => (at(scene.kind, other) === OPEN ? entered(scene, other, along) : [other]));
}

/** The other ends of an item's lines: those of tensors; where there are none, of control inputs. */
function others(scene: Scene, item: number, along: Along): number[] {
  const [near, far] = along === "readers" ? [scene.source, scene.target] : [scene.target, scene.source];
  const [tensors, controls, backs]: number[][] = [[], [], []];
  for (let edge = near.indexOf(item); edge >= 0; edge = near.indexOf(item, edge + 1)) {
    const ends = at(scene.back, edge) === 1 ? backs : at(scene.tensors, edge) > 0 ? tensors : controls;
    ends?.push(at(far, edge));
  }
  return [tensors, controls, backs].find((ends) => (ends?.length ?? 0) > 0) ?? [];
}

/** The one that lies the least to the side; of two the nearer one. */
function nearest(scene: Scene, item: number, ends: number[], direction: State["direction"]): number {
  const here = middle(scene, item, direction);
  const far = (end: number) => {
    const there = middle(scene, end, direction);
    return Math.abs(there.side - here.side) + 0.01 * Math.abs(there.along - here.along);
  };
  let best = -1;
  for (const end of ends) if (end > 0 && end !== item && (best < 0 || far(end) < far(best))) best = end;
  return best;
}

/** The sibling beside: rather one in the same row than a nearer one above or below. */
function beside(scene: Scene, item: number, step: "before" | "after", direction: State["direction"]): number {
  // Badges stand in rows at the bottom of their op, whichever way tensors flow.
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

/** `along` the way tensors flow, and to the `side`. */
function middle(scene: Scene, item: number, direction: State["direction"]): { side: number; along: number } {
  const { x, y, width, height } = boxOf(scene.box, item);
  const [a, b] = [x + width / 2, y + height / 2];
  return direction === "down" ? { side: a, along: b } : { side: b, along: a };
}

function isBefore(a: Box, b: Box): boolean {
  return a.y < b.y || (a.y === b.y && a.x < b.x);
}

/** The camera moved no farther than needed to have a box in view; of a larger box its upper left part. */
export function keptInView(box: Box, camera: Camera, viewport: Viewport): Camera {
  const { zoom } = camera;
  const shift = (start: number, size: number, room: number) => {
    const margin = Math.min(MARGIN, room / 4);
    const end = start + size;
    if (start < margin || size > room - 2 * margin) return margin - start;
    return end > room - margin ? room - margin - end : 0;
  };
  const dx = shift((box.x - camera.x) * zoom, box.width * zoom, viewport.width);
  const dy = shift((box.y - camera.y) * zoom, box.height * zoom, viewport.height);
  return dx === 0 && dy === 0 ? camera : panned(camera, dx, dy);
}
