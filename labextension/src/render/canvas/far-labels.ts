// Labels of scopes at small zoom, where text of nominal size is not legible. All scopes of a kind
// have letters of one size, outer scopes take precedence, and no two labels overlap.
import {
  at,
  BADGE,
  type Box,
  boxOf,
  isScope,
  labelOf,
  OPEN,
  type Scene,
} from "../../protocol/scene";
import type { Frame } from "./frame";
import { cachedForScene } from "./incident-edges";
import { shorten, twoLines } from "./typesetter";

/** No text is smaller, in CSS pixels; where nominal text would be, scopes have signposts. */
export const LEGIBLE = 9;
/** A name of fewer letters says nothing. */
const LEAST_LETTERS = 3;
/**
 * Widths of the letters from the space on, in hundredths of the size, as in Python's
 * visible/measure.py: the text itself is measured only when it is drawn.
 */
const ADVANCES = [
  32, 41, 46, 84, 64, 95, 78, 28, 39, 39, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
  64, 64, 34, 34, 84, 84, 84, 56, 102, 69, 69, 73, 77, 67, 62, 78, 76, 30, 50, 67, 56, 87, 75, 79,
  67, 79, 73, 67, 62, 74, 69, 99, 69, 67, 69, 39, 34, 39, 84, 56, 50, 62, 64, 55, 64, 62, 36, 64,
  64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,
];
const FIRST_ADVANCE = 32;
/** Of every other letter; the ellipsis is as wide. */
const OTHER_ADVANCE = 100;
/** How much wider the bold letters of the widest fonts are. */
const BOLD = 1.16;
const INSET = 4;
/** The least space beside a name, in CSS pixels. */
export const LEAST_INSET = 2;
/**
 * Nominal size of a name, and the height of an open scope's header, at zoom 1 (layout/compound.py
 * has the same).
 */
export const NOMINAL = 12;
/** Nominal size of the smaller line below a name. */
export const SMALL = 10;
/** Height of a line of text at a size of 1. */
export const LEADING = 1.15;
export const HEADER = 22;
/** Nominal size of a chip's text. */
export const CHIP = 11;
/** The beginning of a value or shape. */
export const VALUE = /^[-+.\d?("]|\[/;
/** Height of a chip (Python's visible/measure.py has the same). */
const CHIP_HEIGHT = 15;
/**
 * From this zoom on boxes of usual height have room for text, and the name of an open scope stays
 * in its header.
 */
export const NAMED_IN_HEADERS_FROM = 0.3;
/** Between the name of a scope and a line that comes in beside it, in CSS pixels. */
const BESIDE_LINE = 3;

/**
 * In world coordinates: the middle of the text, and its size in CSS pixels at the zoom it was made
 * for.
 */
export interface FarLabel {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly text: string;
  /** The whole name in two lines, where one is too narrow for it and the box is high enough. */
  readonly lines?: readonly [string, string];
}

/** The signposts of a drawing at a zoom, by item. */
export function placeFarLabels(scene: Scene, zoom: number): Map<number, FarLabel> {
  const placed = new Map<number, FarLabel>();
  const taken = new OccupiedCells();
  const [above, whole] = [labelHeights(scene), heightsOf(scene)];
  const heights = whole.map((high, item) =>
    areChipsBlank(scene, item, zoom) ? high : at(above, item),
  );
  const lines = cachedForScene(scene, "headerLines", headerLines);
  const parents = new Set<number>();
  const texts = new Map<number, { text: string; left: number }>();
  for (let item = scene.length - 1; item > 0; item--) {
    if (!isScope(at(scene.kind, item))) continue;
    const gap = headerGap(scene, item, zoom, lines.get(item));
    const text = textOf(scene, item, zoom, at(heights, item), gap.width);
    if (text === "") continue;
    texts.set(item, { text, left: gap.left });
    parents.add(at(scene.parent, item));
  }
  const big = [...texts.keys()].sort(
    (a, b) => at(scene.depth, a) - at(scene.depth, b) || areaOf(scene, b) - areaOf(scene, a),
  );
  for (const item of big) {
    const high = at(heights, item);
    const size = LEGIBLE;
    const { text = "", left = INSET } = texts.get(item) ?? {};
    const wide = widthOf(scene, item, text);
    const places = candidates(scene, item, zoom, wide, size, high, parents.has(item), left);
    for (const { x, y } of places) {
      const box = {
        x: x * zoom - wide / 2,
        y: y * zoom - size * 0.6,
        width: wide,
        height: size * 1.2,
      };
      if (!taken.take(box)) continue;
      const lines = linesOf(scene, item, zoom, high);
      placed.set(item, { x, y, size, text, ...(lines && { lines }) });
      break;
    }
  }
  return placed;
}

/** The size of letters of a nominal size at a zoom, in CSS pixels: the same for all of a rank. */
export function textSize(nominal: number, zoom: number): number {
  return Math.max(nominal * zoom, LEGIBLE);
}

/** Whether a box of this height in CSS pixels has room for its name and a smaller line below. */
export function hasTwoLines(height: number, zoom: number): boolean {
  return height >= (textSize(NOMINAL, zoom) + textSize(SMALL, zoom)) * LEADING;
}

/**
 * The least zoom at which all chips of a box have text: a chip is as low as its letters, and has
 * the value, or the name before a value, as a whole.
 */
function chipZooms(scene: Scene): Map<number, number> {
  const zooms = new Map<number, number>();
  for (const [item, chips] of cachedForScene(scene, "chips", chipsOf)) {
    const needed = chips.map((chip) => {
      const text = labelOf(scene, chip);
      const [name = ""] = text.split(" ");
      const wide = widthOf(scene, chip, VALUE.test(name) ? text : name) + 2 * LEAST_INSET;
      return wide / Math.max(at(scene.box, 4 * chip + 2), 1);
    });
    const least = Math.min(Math.max(...needed), LEGIBLE / CHIP);
    zooms.set(item, Math.max(least, LEGIBLE / CHIP_HEIGHT));
  }
  return zooms;
}

/** Whether the chips of a box, if it has some, have no text at a zoom. */
function areChipsBlank(scene: Scene, item: number, zoom: number): boolean {
  return zoom < (cachedForScene(scene, "chipZooms", chipZooms).get(item) ?? 0);
}

/**
 * Whether the chips of a box leave their place to its name and number: where not all of them have
 * text, and none of them is selected or marked while the box is not.
 */
export function chipsGiveWay(
  { scene, paint, camera }: Pick<Frame, "scene" | "paint" | "camera">,
  item: number,
): boolean {
  if (!areChipsBlank(scene, item, camera.zoom)) return false;
  const chips = cachedForScene(scene, "chips", chipsOf).get(item);
  const fields = [paint.coverage, paint.mark, paint.fresh, paint.differs, paint.probed];
  const saysMore = (chip: number) => fields.some((field) => at(field, chip) > at(field, item));
  return chips !== undefined && !chips.some(saysMore);
}

/** The chips in each box that has some. */
function chipsOf({ kind, parent, length }: Scene): Map<number, number[]> {
  const chips = new Map<number, number[]>();
  for (let item = 1; item < length; item++)
    if (at(kind, item) === BADGE) {
      const there = chips.get(at(parent, item));
      if (there) there.push(item);
      else chips.set(at(parent, item), [item]);
    }
  return chips;
}

/**
 * The signpost of a scope, shortened to fit into its box above its badges; "" where it has no room.
 */
function textOf(scene: Scene, item: number, zoom: number, room: number, width: number): string {
  const size = LEGIBLE;
  const isHeader = at(scene.kind, item) === OPEN && zoom >= NAMED_IN_HEADERS_FROM;
  if (!isHeader && room * zoom < size * 1.2) return "";
  const fits = (part: string) => widthOf(scene, item, part) <= width;
  const label = labelOf(scene, item);
  const text = fits(label) ? label : shorten(label, fits);
  return text.length >= Math.min(LEAST_LETTERS, label.length) ? text : "";
}

/** The name of a closed scope in two lines; null where it needs one, or two do not fit. */
function linesOf(scene: Scene, item: number, zoom: number, high: number) {
  const room = at(scene.box, 4 * item + 2) * zoom - 2 * LEAST_INSET;
  const fits = (part: string) => widthOf(scene, item, part) <= room;
  const label = labelOf(scene, item);
  const isHigh = high * zoom >= 2 * LEGIBLE * LEADING;
  if (at(scene.kind, item) === OPEN || !isHigh || fits(label)) return null;
  return twoLines(label, fits);
}

/**
 * Where a name has room, in CSS pixels from the left border: of a header the first gap between the
 * lines that come in.
 */
function headerGap(scene: Scene, item: number, zoom: number, lines: readonly number[] = []) {
  const isOpen = at(scene.kind, item) === OPEN;
  const inset = isOpen ? INSET : LEAST_INSET;
  const [start, end] = [at(scene.box, 4 * item), at(scene.box, 4 * item + 2) * zoom - inset];
  if (!isOpen || zoom < NAMED_IN_HEADERS_FROM) return { left: inset, width: end - inset };
  const places = lines.map((line) => (line - start) * zoom);
  const gaps = [...places.map((line) => line - BESIDE_LINE), end].map((right, i) => {
    const left = i === 0 ? inset : (places[i - 1] ?? 0) + BESIDE_LINE;
    return { left, width: right - left };
  });
  const whole = widthOf(scene, item, labelOf(scene, item));
  const widest = gaps.reduce((best, gap) => (gap.width > best.width ? gap : best));
  return gaps.find(({ width }) => width >= whole) ?? widest;
}

function widthOf(scene: Scene, item: number, text: string): number {
  let hundredths = 0;
  for (let i = 0; i < text.length; i++)
    hundredths += ADVANCES[text.charCodeAt(i) - FIRST_ADVANCE] ?? OTHER_ADVANCE;
  return (hundredths / 100) * (at(scene.kind, item) === OPEN ? BOLD : 1) * LEGIBLE;
}

function areaOf({ box }: Scene, item: number): number {
  return at(box, 4 * item + 2) * at(box, 4 * item + 3);
}

/** A scope that holds other readable ones is named at its upper edge, any other in its middle. */
function candidates(
  scene: Scene,
  item: number,
  zoom: number,
  wide: number,
  size: number,
  room: number,
  outer: boolean,
  inset: number,
) {
  const { x: left, y: top, width: w, height: h } = boxOf(scene.box, item);
  const high = top + (size * 0.6 + 2) / zoom;
  const corner = { x: left + (wide / 2 + INSET) / zoom, y: high };
  const middle = { x: left + w / 2, y: top + h / 2 };
  const upper = { x: left + w / 2, y: high };
  if (at(scene.kind, item) !== OPEN) return [{ x: middle.x, y: top + room / 2 }];
  if (zoom >= NAMED_IN_HEADERS_FROM)
    return [{ x: left + (wide / 2 + inset) / zoom, y: top + HEADER / 2 }];
  const second = { x: corner.x, y: high + (size * 1.25) / zoom };
  return outer ? [corner, upper, second] : [middle, corner, upper];
}

/** Rectangles that do not overlap, found again in a coarse grid. */
export class OccupiedCells {
  readonly #cells = new Map<number, Box[]>();

  /** Take a rectangle if nothing is there yet. */
  take(box: Box): boolean {
    const cells = [...cellsOf(box)];
    if (cells.some((cell) => this.#cells.get(cell)?.some((other) => overlap(box, other))))
      return false;
    for (const cell of cells) {
      const there = this.#cells.get(cell);
      if (there) there.push(box);
      else this.#cells.set(cell, [box]);
    }
    return true;
  }
}

function* cellsOf({ x, y, width, height }: Box): Generator<number> {
  const cell = 64;
  for (let row = Math.floor(y / cell); row * cell < y + height; row++)
    for (let column = Math.floor(x / cell); column * cell < x + width; column++)
      yield column * 2 ** 24 + row;
}

export function overlap(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

/** How high the part of each item's box is that its label has: chips lie below it. World units. */
export function labelHeights(scene: Scene): Float32Array {
  const heights = heightsOf(scene);
  for (let item = 1; item < scene.length; item++) {
    if (at(scene.kind, item) !== BADGE) continue;
    const parent = at(scene.parent, item);
    const above = at(scene.box, 4 * item + 1) - at(scene.box, 4 * parent + 1);
    heights[parent] = Math.min(at(heights, parent), above);
  }
  return heights;
}

function heightsOf({ box, length }: Scene): Float32Array {
  return Float32Array.from({ length }, (_, item) => at(box, 4 * item + 3));
}

/**
 * The x of the lines that come in through the header of each open scope, ascending. World
 * coordinates.
 */
export function headerLines(scene: Scene): Map<number, number[]> {
  const { box, kind, parent, route, routeStart, source, target } = scene;
  const lines = new Map<number, number[]>();
  for (let edge = 0; edge < scene.edges; edge++) {
    const scope = at(source, edge);
    if (at(kind, scope) !== OPEN || at(parent, at(target, edge)) !== scope) continue;
    const x = at(route, 2 * at(routeStart, edge));
    if (x <= at(box, 4 * scope) + 1) continue; // from the left
    lines.set(scope, [...(lines.get(scope) ?? []), x]);
  }
  for (const places of lines.values()) places.sort((a, b) => a - b);
  return lines;
}

/**
 * Where a text of a width in a header begins so that no line crosses it: at a place or to the right
 * of it.
 */
export function placeBesideLines(
  lines: readonly number[],
  start: number,
  width: number,
  gap: number,
): number {
  let x = start;
  for (const line of lines) if (line > x - gap && line < x + width + gap) x = line + gap;
  return x;
}
