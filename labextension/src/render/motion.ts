// A move under way: of the camera, and of the boxes between two scenes.
import type { Scene } from "../scene";
import { between, type Camera, type Viewport } from "./camera";
import { eased, hurried, mixedBoxes, type Start } from "./morph";

const DURATION = 200;

interface Move {
  readonly from: Camera;
  readonly to: Camera;
  readonly boxes: Start | null;
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

export class Motion {
  #move: Move | null = null;
  #between = new Float32Array(0);

  get goal(): Camera | null {
    return this.#move?.to ?? null;
  }

  start(from: Camera, to: Camera, boxes: Start | null = null): void {
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
    const way = eased(t);
    const camera = t === 1 || from === to ? to : between(from, to, way, viewport);
    const length = scene.box.length;
    const moving = boxes !== null && t < 1 && boxes.boxes.length === length;
    if (!moving) return { camera, boxes: scene.box, glides: null, alpha: 1, over: t === 1 };
    if (this.#between.length !== length) this.#between = new Float32Array(length);
    const mixed = mixedBoxes(boxes.boxes, scene.box, hurried(t), this.#between);
    // The lines are where they will be: they come when the boxes are nearly there.
    return { camera, boxes: mixed, glides: boxes.glides, alpha: Math.max(0, 2 * way - 1), over: false };
  }
}
