// What every drawing function gets: the canvas in CSS pixels, the frame, the colors, and box
// positions on the screen.
import { at, type Box } from "../../protocol/scene";
import type { Viewport } from "../camera/camera";
import type { SceneIndex } from "../hit-testing/scene-index";
import type { Frame } from "./frame";
import type { Palette } from "./palette";
import type { Typesetter } from "./typesetter";

export interface Pen {
  readonly ctx: CanvasRenderingContext2D;
  readonly frame: Frame;
  readonly palette: Palette;
  readonly viewport: Viewport;
  readonly ratio: number;
  readonly sceneIndex: SceneIndex;
  readonly typesetter: Typesetter;
  /** Items in view, parents before children. */
  readonly items: readonly number[];
  readonly edges: readonly number[];
}

/** An item's box in CSS pixels, on whole device pixels so that borders are sharp. */
export function screenBox(pen: Pen, item: number): Box {
  const { boxes, camera } = pen.frame;
  const i = item * 4;
  const left = snapToPixel((at(boxes, i) - camera.x) * camera.zoom, pen.ratio);
  const top = snapToPixel((at(boxes, i + 1) - camera.y) * camera.zoom, pen.ratio);
  const right = snapToPixel((at(boxes, i) + at(boxes, i + 2) - camera.x) * camera.zoom, pen.ratio);
  const bottom = snapToPixel(
    (at(boxes, i + 1) + at(boxes, i + 3) - camera.y) * camera.zoom,
    pen.ratio,
  );
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function snapToPixel(value: number, ratio: number): number {
  return Math.round(value * ratio) / ratio;
}

/**
 * A rectangle as far as it is in view, with rounded corners if they can be seen, added to the
 * current path.
 */
export function addBox(pen: Pen, { x, y, width, height }: Box, radius: number): void {
  const edge = 40;
  const left = Math.max(x, -edge);
  const top = Math.max(y, -edge);
  const right = Math.min(x + width, pen.viewport.width + edge);
  const bottom = Math.min(y + height, pen.viewport.height + edge);
  if (right <= left || bottom <= top) return;
  if (radius < 1.5) pen.ctx.rect(left, top, right - left, bottom - top);
  else pen.ctx.roundRect(left, top, right - left, bottom - top, radius);
}

/** A box grown by some pixels on every side. */
export function expandBox({ x, y, width, height }: Box, by: number): Box {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

/** Things with a common look together, in the order in which the looks first appear. */
export function groupBy<T, K>(things: readonly T[], lookOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const thing of things) {
    const look = lookOf(thing);
    const group = groups.get(look);
    if (group) group.push(thing);
    else groups.set(look, [thing]);
  }
  return groups;
}

/** Pieces of at most `size`: between two of them a picture that is made in slices may stop. */
export function* chunksOf<T>(things: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < things.length; start += size) yield things.slice(start, start + size);
}
