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
  /** 0 to 1: edges fade in after the boxes have moved. */
  readonly edgeAlpha: number;
  readonly camera: Camera;
  readonly hover: number;
  readonly picked: number;
  /** Items that a refusal names. */
  readonly warned: ReadonlySet<number>;
  /** Items that cannot read what is being dragged. */
  readonly barred: ReadonlySet<number>;
}

export interface Renderer {
  readonly canvas: HTMLCanvasElement;
  /** CSS pixels, and device pixels per CSS pixel. */
  resize(viewport: Viewport, ratio: number): void;
  recolour(palette: Palette): void;
  draw(frame: Frame): void;
}
