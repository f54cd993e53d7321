// Animates the camera, and the boxes between two scenes.
import { at, BADGE, boxOf, type Scene } from "../../protocol/scene";
import { type Camera, interpolateCamera, type Viewport } from "./camera";

const DURATION = 200;

interface Move {
  readonly from: Camera;
  readonly to: Camera;
  readonly boxes: GlideStart | null;
  readonly start: number;
}

/** Where everything is at one moment of a move. */
export interface Step {
  readonly camera: Camera;
  readonly boxes: Float32Array;
  /** Which of them are on their way; null when none is. */
  readonly glides: Uint8Array | null;
  /** 0 to 1: how far the edges of those have faded in. */
  readonly alpha: number;
  readonly over: boolean;
}

export class CameraAnimation {
  #move: Move | null = null;
  #between = new Float32Array(0);

  get goal(): Camera | null {
    return this.#move?.to ?? null;
  }

  start(from: Camera, to: Camera, boxes: GlideStart | null = null): void {
    this.#move = { from, to, boxes, start: performance.now() };
  }

  stop(): void {
    this.#move = null;
  }

  /** Have the move end elsewhere. */
  redirect(change: (goal: Camera) => Camera): void {
    if (this.#move) this.#move = { ...this.#move, to: change(this.#move.to) };
  }

  /** One step; null when nothing moves. */
  advance(scene: Scene, now: number, viewport: Viewport): Step | null {
    if (!this.#move) return null;
    const { from, to, boxes, start } = this.#move;
    const t = Math.min(Math.max((now - start) / DURATION, 0), 1);
    if (t === 1) this.#move = null;
    const way = easeInOut(t);
    const camera = t === 1 || from === to ? to : interpolateCamera(from, to, way, viewport);
    const length = scene.box.length;
    const moving = boxes !== null && t < 1 && boxes.boxes.length === length;
    if (!moving) return { camera, boxes: scene.box, glides: null, alpha: 1, over: t === 1 };
    if (this.#between.length !== length) this.#between = new Float32Array(length);
    const mixed = interpolateBoxes(boxes.boxes, scene.box, easeOut(t), this.#between);
    // The lines are where they will be: they come when the boxes are nearly there.
    return {
      camera,
      boxes: mixed,
      glides: boxes.glides,
      alpha: Math.max(0, 2 * way - 1),
      over: false,
    };
  }
}

// Between two scenes: new items are in place at once, and items that were there before move out of
// their way.

/**
 * Where each box of `next` starts: one that glides where it was on the screen, any other in its
 * place.
 */
export function initialBoxes(before: Scene, next: Scene, was: Camera, now: Camera): GlideStart {
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

/**
 * `glides` is 1 for items that were there before, open or closed as they are now: only those move.
 */
export interface GlideStart {
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
export function interpolateBoxes(
  from: Float32Array,
  to: Float32Array,
  t: number,
  out: Float32Array,
): Float32Array {
  for (let i = 0; i < out.length; i++) out[i] = at(from, i) + (at(to, i) - at(from, i)) * t;
  return out;
}

/** Slow at both ends. */
export function easeInOut(t: number): number {
  return t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
}

/** Fast at first, so that boxes soon leave their old places. */
function easeOut(t: number): number {
  return 1 - (1 - t) ** 3;
}
