// Labels: one line in an op, two in a closed scope, a header in an open one. Cut with an ellipsis to fit.
import { at, type Box, CLOSED, labelOf, OPEN, sizeText } from "../scene";
import { coloursOf } from "./boxes";
import type { BoxColours } from "./palette";
import { type Pen, screenBox } from "./pen";

const SIZE = 12;
const SMALL = 10;
const PADDING = 6;
/** Smaller text, in CSS pixels, is not drawn. */
const LEGIBLE = 4;
/** Height of an open scope's header at zoom 1. */
export const HEADER = 26;

/** Text cut to a width, remembered: measuring is the slowest thing a canvas does. */
export class Typesetter {
  readonly #cut = new Map<string, string>();
  readonly #widths = new Map<string, number>();
  readonly font: string;

  constructor(font: string) {
    this.font = font;
  }

  /** `text` with an ellipsis where it does not fit into `width` pixels at this size. */
  fit(ctx: CanvasRenderingContext2D, text: string, width: number, size: number): string {
    const key = `${size}|${Math.round(width)}|${text}`;
    const known = this.#cut.get(key);
    if (known !== undefined) return known;
    const fits = (part: string) => this.#width(ctx, part, size) <= width;
    const result = fits(text) ? text : shorten(text, fits);
    if (this.#cut.size > 50_000) this.#cut.clear();
    this.#cut.set(key, result);
    return result;
  }

  /** Measured once at the nominal size; with geometric precision widths grow in proportion. */
  #width(ctx: CanvasRenderingContext2D, text: string, size: number): number {
    const known = this.#widths.get(text);
    if (known !== undefined) return known * size;
    ctx.save();
    ctx.font = `100px ${this.font}`;
    const width = ctx.measureText(text).width / 100;
    ctx.restore();
    if (this.#widths.size > 50_000) this.#widths.clear();
    this.#widths.set(text, width);
    return width * size;
  }
}

/** The longest beginning that fits with an ellipsis behind it; the end of a name tells more, so it keeps a piece. */
function shorten(text: string, fits: (part: string) => boolean): string {
  let low = 0;
  let high = text.length - 1;
  const cut = (kept: number) => {
    const tail = Math.floor(kept / 3);
    return `${text.slice(0, kept - tail)}…${tail > 0 ? text.slice(-tail) : ""}`;
  };
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(cut(middle))) low = middle;
    else high = middle - 1;
  }
  return low > 0 ? cut(low) : "";
}

export function drawLabels(pen: Pen, typesetter: Typesetter): void {
  const zoom = pen.frame.camera.zoom;
  if (SIZE * zoom < LEGIBLE) return;
  const { ctx, frame } = pen;
  ctx.textRendering = "geometricPrecision";
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  ctx.font = `${SIZE * zoom}px ${typesetter.font}`;
  const closed: number[] = [];
  for (const item of pen.items) {
    const kind = at(frame.scene.kind, item);
    if (kind === CLOSED) closed.push(item);
    if (kind !== OPEN) drawName(pen, typesetter, item, kind === CLOSED);
  }
  ctx.font = `${SMALL * zoom}px ${typesetter.font}`;
  if (SMALL * zoom >= LEGIBLE) for (const item of closed) drawSize(pen, typesetter, item);
  ctx.textAlign = "left";
  ctx.font = `600 ${SIZE * zoom}px ${typesetter.font}`;
  for (const item of pen.items)
    if (item > 0 && at(frame.scene.kind, item) === OPEN) drawHeader(pen, typesetter, item);
}

function drawName(pen: Pen, typesetter: Typesetter, item: number, twoLines: boolean): void {
  const box = screenBox(pen, item);
  const zoom = pen.frame.camera.zoom;
  const text = typesetter.fit(pen.ctx, labelOf(pen.frame.scene, item), box.width / zoom - 2 * PADDING, SIZE);
  pen.ctx.fillStyle = coloursOf(pen, item).text;
  const middle = box.y + box.height / 2 - (twoLines && SMALL * zoom >= LEGIBLE ? 6.5 * zoom : 0);
  pen.ctx.fillText(text, box.x + box.width / 2, middle);
}

function drawSize(pen: Pen, typesetter: Typesetter, item: number): void {
  const { scene, camera } = pen.frame;
  const box = screenBox(pen, item);
  const width = box.width / camera.zoom - 2 * PADDING + 4;
  const full = sizeText(at(scene.count, item), at(scene.variables, item));
  // A number cut in two would be a wrong one: rather leave the variables out.
  const fitting = typesetter.fit(pen.ctx, full, width, SMALL);
  const text =
    fitting === full ? full : typesetter.fit(pen.ctx, sizeText(at(scene.count, item), 0), width, SMALL);
  pen.ctx.fillStyle = coloursOf(pen, item).faint;
  pen.ctx.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 8 * camera.zoom);
}

/** An open scope's name stays in view while any of the scope does. */
function drawHeader(pen: Pen, typesetter: Typesetter, item: number): void {
  const { ctx, frame, palette } = pen;
  const zoom = frame.camera.zoom;
  const box = headerBox(pen, item);
  const text = typesetter.fit(ctx, `▾ ${labelOf(frame.scene, item)}`, box.width / zoom - 2 * PADDING, SIZE);
  const level = palette.levels[Math.min(at(frame.scene.depth, item), palette.levels.length - 1)];
  const colours = level as BoxColours;
  const middle = box.y + box.height / 2;
  // A rim of the area's own colour keeps lines that pass below from running through the letters.
  ctx.lineWidth = 4 * zoom;
  ctx.strokeStyle = colours.fill;
  ctx.strokeText(text, box.x + PADDING * zoom, middle);
  ctx.fillStyle = at(frame.paint.coverage, item) === 2 ? palette.selected : colours.text;
  ctx.fillText(text, box.x + PADDING * zoom, middle);
}

function headerBox(pen: Pen, item: number): Box {
  const box = screenBox(pen, item);
  const left = Math.max(box.x, Math.min(0, box.x + box.width - 80));
  return { x: left, y: box.y, width: box.x + box.width - left, height: HEADER * pen.frame.camera.zoom };
}
