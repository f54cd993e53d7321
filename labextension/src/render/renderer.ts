// What a renderer has to do. canvas2d.ts is one; another (WebGL, SVG) would do the same.
import type { Paint, Scene } from "../scene";
import type { Camera, Viewport } from "./camera";
import type { Palette } from "./palette";

/** One picture: everything that decides what it looks like. */
export interface Frame {
  readonly scene: Scene;
  readonly paint: Paint;
  /** Where the boxes are now: the scene's own, or between two scenes while they move. */
  readonly boxes: Float32Array;
  /** 0 to 1: the edges of boxes that glide fade in after those have moved. */
  readonly edgeAlpha: number;
  /** 1 for the items that are on their way, null when none is; the others lie above them. */
  readonly glides: Uint8Array | null;
  readonly camera: Camera;
  /** Where the camera is going. */
  readonly goal: Camera;
  /** Whether a hand or a move is at the camera: keeping up is all that counts. */
  readonly moving: boolean;
  readonly hover: number;
  readonly picked: number;
  /** Whether control edges are drawn. */
  readonly controls: boolean;
  /** Items that a refusal names. */
  readonly warned: ReadonlySet<number>;
  /** Items that cannot read what is being dragged. */
  readonly barred: ReadonlySet<number>;
  /** Items that are, or hold, what was searched for. */
  readonly hits: ReadonlySet<number>;
}

export interface Renderer {
  readonly canvas: HTMLCanvasElement;
  /** CSS pixels, and device pixels per CSS pixel. */
  resize(viewport: Viewport, ratio: number): void;
  recolour(palette: Palette): void;
  /** Draws what can be drawn at once; whether that is the picture as it shall be. */
  draw(frame: Frame): boolean;
  /** Go on with what the last frame lacked until `deadline` (milliseconds); whether there is more to do. */
  work(deadline: number): boolean;
}
