// A move under way: of the camera, and of the boxes between two scenes.
import { at, type Scene } from "../scene";
import { between, type Camera, type Viewport } from "./camera";
import { eased, mixedBoxes } from "./morph";

const DURATION = 200;

interface Move {
  readonly from: Camera;
  readonly to: Camera;
  readonly boxes: Float32Array | null;
  readonly known: Uint8Array | null;
  readonly start: number;
}

/** Where everything is at one moment of a move. */
export interface Step {
  readonly camera: Camera;
  readonly boxes: Float32Array;
  readonly known: Uint8Array | null;
  /** 0 to 1: how far edges and new boxes have faded in. */
  readonly alpha: number;
  readonly over: boolean;
}

export class Motion {
  #move: Move | null = null;
  #between = new Float32Array(0);

  get goal(): Camera | null {
    return this.#move?.to ?? null;
  }

  start(from: Camera, to: Camera, boxes: Float32Array | null = null, known: Uint8Array | null = null): void {
    this.#move = { from, to, boxes, known, start: performance.now() };
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
    const { from, to, boxes, known, start } = this.#move;
    const t = Math.min(Math.max((now - start) / DURATION, 0), 1);
    if (t === 1) this.#move = null;
    const way = eased(t);
    const camera = t === 1 ? to : between(from, to, way, viewport);
    const moving = boxes !== null && t < 1 && boxes.length === scene.box.length;
    if (!moving) return { camera, boxes: scene.box, known: null, alpha: 1, over: t === 1 };
    if (this.#between.length !== boxes.length) this.#between = new Float32Array(boxes.length);
    const mixed = mixedBoxes(boxes, scene.box, way, this.#between);
    // The lines are where they will be: they come when the boxes are nearly there.
    return { camera, boxes: mixed, known, alpha: Math.max(0, 2 * way - 1), over: false };
  }
}

/** Which items of `next` were there before, open or closed. */
export function knownItems(before: Scene, next: Scene): Uint8Array {
  return Uint8Array.from({ length: next.length }, (_, item) => {
    const name = next.names[item] ?? "";
    return item === 0 || before.byKey.has(at(next.kind, item) === 0 ? name : `${name}/`) ? 1 : 0;
  });
}
