// The interface of a renderer, and the state that it draws. canvas-renderer.ts implements it.
import type { Box, Paint, Scene } from "../../protocol/scene";
import type { Camera, Viewport } from "../camera/camera";
import type { Palette } from "./palette";

/** One match some of whose ops are drawn. */
export interface MatchFrame {
  /** Its place in the list of hits, from 1. */
  readonly number: number;
  /**
   * One box around all its ops, or one for each where that would be mostly of others; in the scene.
   */
  readonly boxes: readonly Box[];
}

export interface MatchFrames {
  readonly frames: readonly MatchFrame[];
  /** The closed scopes that hold matches, and how many. */
  readonly inside: ReadonlyMap<number, number>;
}

/** The complete state of one picture. */
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
  /** Whether a gesture or an animation moves the camera: then speed matters more than detail. */
  readonly moving: boolean;
  readonly hover: number;
  /** The edge under the pointer, or -1. */
  readonly hoverEdge: number;
  readonly picked: number;
  /** Whether control edges are drawn. */
  readonly controls: boolean;
  /** Items that a refusal names. */
  readonly warned: ReadonlySet<number>;
  /** Items that an edit changed, on whose line in the history the pointer is. */
  readonly edited: ReadonlySet<number>;
  /** Items that are like the inspected one: of its structure, or of its op type. */
  readonly alike: ReadonlySet<number>;
  /** Items that cannot be connected to the dragged tensor. */
  readonly barred: ReadonlySet<number>;
  /** Items that are or contain search hits. */
  readonly hits: ReadonlySet<number>;
  /** How many hits closed scopes and groups hold. */
  readonly hitCounts: ReadonlyMap<number, number>;
  /** The matches of a pattern; then `hits` are the ops of these. */
  readonly matches: MatchFrames;
  /** The number of the match that is stepped to, or 0. */
  readonly match: number;
}

export interface Renderer {
  readonly canvas: HTMLCanvasElement;
  /** CSS pixels, and device pixels per CSS pixel. */
  resize(viewport: Viewport, ratio: number): void;
  setPalette(palette: Palette): void;
  /** Draws what can be drawn at once; whether that is the picture as it shall be. */
  draw(frame: Frame): boolean;
  /**
   * Paint missing parts of the last frame until `deadline` (milliseconds); returns whether there is
   * more to do.
   */
  work(deadline: number): boolean;
}
