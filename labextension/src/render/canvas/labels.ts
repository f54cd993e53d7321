// Draws labels: one line in an op, two in a closed scope, a header in an open one, shortened with an ellipsis to fit.
// At small zoom far-labels.ts replaces them.
import { at, BADGE, type Box, CLOSED, labelOf, OP, OPEN, sizeText } from "../../protocol/scene";
import { areaColors, boxColors } from "./boxes";
import {
  FAR_LABELS_BELOW,
  type FarLabel,
  HEADER,
  LEAST_INSET,
  labelHeights,
  NOMINAL,
  placeFarLabels,
  textSize,
} from "./far-labels";
import { cachedForScene } from "./incident-edges";
import { chunksOf, type Pen, screenBox } from "./pen";

const SMALL = 10;
const CHIP = 11;
const PADDING = 6;
/** Below this zoom names keep their size, while their boxes shrink. */
const NOMINAL_FROM = FAR_LABELS_BELOW / NOMINAL;
/** Names of fewer letters are left out. */
const LEAST_LETTERS = 3;
/** Height of a line of text at a size of 1. */
const LEADING = 1.15;
/** Below this zoom even a box of usual height has no room for text. */
const NO_TEXT_BELOW = 0.3;
const BATCH = 150;

export function* drawLabels(pen: Pen): Generator<void> {
  const { ctx, frame } = pen;
  const zoom = frame.camera.zoom;
  ctx.textRendering = "geometricPrecision";
  ctx.textBaseline = "middle";
  const posts = NOMINAL * zoom < FAR_LABELS_BELOW ? farLabelsOf(pen) : null;
  if (zoom >= NO_TEXT_BELOW) yield* drawNominal(pen, posts);
  if (posts) yield* drawFarLabels(pen, posts);
}

function* drawNominal(pen: Pen, posts: ReadonlyMap<number, FarLabel> | null): Generator<void> {
  const { ctx, frame, typesetter } = pen;
  const zoom = frame.camera.zoom;
  const free = pen.items.filter((item) => !posts?.has(item));
  const ofKind = (kind: number) => free.filter((item) => at(frame.scene.kind, item) === kind);
  ctx.textAlign = "center";
  for (const kind of [OP, CLOSED, BADGE]) {
    ctx.font = `${textSize(kind === BADGE ? CHIP : NOMINAL, zoom)}px ${typesetter.font}`;
    yield* inPieces(ofKind(kind), (item) => drawName(pen, item));
  }
  ctx.font = `${textSize(SMALL, zoom)}px ${typesetter.font}`;
  yield* inPieces(free, (item) => drawSecond(pen, item));
  ctx.textAlign = "left";
  // Below that zoom the header of an open scope is a signpost, or has no room.
  if (posts) return;
  ctx.font = `600 ${textSize(NOMINAL, zoom)}px ${typesetter.font}`;
  yield* inPieces(ofKind(OPEN), (item) => item > 0 && drawHeader(pen, item));
}

function* inPieces(items: readonly number[], draw: (item: number) => unknown): Generator<void> {
  for (const piece of chunksOf(items, BATCH)) {
    for (const item of piece) draw(item);
    yield;
  }
}

/** The part of a box above its chips, in CSS pixels. */
export function labelBox(pen: Pen, item: number): Box {
  const box = screenBox(pen, item);
  const height = at(cachedForScene(pen.frame.scene, "labelHeights", labelHeights), item);
  const whole = at(pen.frame.scene.box, 4 * item + 3);
  return { ...box, height: whole > 0 ? (box.height * height) / whole : box.height };
}

/** The small text below the name: the note of a coloring, the mean in a run, or the size of a closed scope. */
function secondOf(pen: Pen, item: number): string {
  const { scene, paint } = pen.frame;
  const kind = at(scene.kind, item);
  if (kind === OPEN || kind === BADGE) return "";
  const note = paint.notes[item] || meanOf(pen, item);
  if (note) return note;
  // Boxes are made as wide as this (Python's second_line).
  const size = sizeText(at(scene.count, item), at(scene.variables, item)).replace(" variable", " var");
  return kind === CLOSED ? size : "";
}

/** The mean that a run found, or the number alone, if the box has room for it; else "". */
function meanOf(pen: Pen, item: number): string {
  const [mean = ""] = (pen.frame.paint.values[item] ?? "").split(",");
  const { zoom } = pen.frame.camera;
  const room = screenBox(pen, item).width - (2 * PADDING - 4) * zoom;
  const fits = (text: string) => pen.typesetter.fit(pen.ctx, text, room, textSize(SMALL, zoom)) === text;
  return [mean, mean.replace(/^mean /, "")].find(fits) ?? "";
}

function drawName(pen: Pen, item: number): void {
  const { ctx, frame } = pen;
  const { scene, camera } = frame;
  const chip = at(scene.kind, item) === BADGE;
  const box = labelBox(pen, item);
  const padding = camera.zoom < NOMINAL_FROM ? LEAST_INSET : (chip ? 4 : PADDING) * camera.zoom;
  const size = textSize(chip ? CHIP : NOMINAL, camera.zoom);
  if (box.height < size * LEADING) return;
  const loop = at(scene.loop, item) === 1 ? "⟲ " : "";
  const text = fitted(pen, `${loop}${labelOf(scene, item)}`, box.width - 2 * padding, size);
  const colors = boxColors(pen, item);
  const two = secondOf(pen, item) !== "" && hasTwoLines(box, camera.zoom);
  ctx.fillStyle = colors.text;
  ctx.fillText(text, box.x + box.width / 2, box.y + box.height / 2 - (two ? shiftOf(box, camera.zoom) : 0));
}

/** The text cut to a width in CSS pixels; "" where hardly a letter of it would be left. */
function fitted({ ctx, typesetter }: Pen, text: string, width: number, size: number): string {
  const cut = typesetter.fit(ctx, text, width, size);
  return cut === text || cut.length >= LEAST_LETTERS ? cut : "";
}

/** Whether a box is high enough for its name and a smaller line below. */
function hasTwoLines({ height }: Box, zoom: number): boolean {
  return height >= (textSize(NOMINAL, zoom) + textSize(SMALL, zoom)) * LEADING;
}

/** How far up the first of two lines is; an op is lower than a scope. */
function shiftOf(box: Box, zoom: number): number {
  return Math.min(Math.max(6.5 * zoom, 4.9), box.height * 0.23);
}

function drawSecond(pen: Pen, item: number): void {
  const full = secondOf(pen, item);
  if (full === "") return;
  const { ctx, frame } = pen;
  const { scene, paint, camera } = frame;
  const box = labelBox(pen, item);
  if (!hasTwoLines(box, camera.zoom)) return;
  const [width, size] = [box.width - (2 * PADDING - 4) * camera.zoom, textSize(SMALL, camera.zoom)];
  const fitting = fitted(pen, full, width, size);
  // A number cut in two would be a wrong one: rather leave the variables out.
  const least = sizeText(at(scene.count, item), 0);
  const shorter = paint.notes[item] ? fitting : paint.values[item] ? "" : least;
  const text = fitting === full ? full : fitted(pen, shorter, width, size);
  ctx.fillStyle = boxColors(pen, item).faint;
  ctx.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + shiftOf(box, camera.zoom) * 1.25);
}

/** The text of an open scope's header. */
export function headerText({ frame: { scene } }: Pen, item: number): string {
  const members = at(scene.members, item);
  const part = at(scene.part, item) === 1 && at(scene.part, at(scene.parent, item)) === 0;
  const label = labelOf(scene, item);
  return [
    "▾",
    at(scene.loop, item) === 1 ? "⟲" : "",
    label,
    members > 1 && !label.includes("×") ? `×${members}` : "",
    part && !label.includes("training") ? "· training" : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** Its text is at the left border; `sticky` at the view's where that cuts the scope. */
export function drawHeader(pen: Pen, item: number, sticky = false): void {
  const { ctx, frame, palette, typesetter } = pen;
  const zoom = frame.camera.zoom;
  const box = screenBox(pen, item);
  const left = sticky ? Math.max(box.x, Math.min(0, box.x + box.width - 80)) : box.x;
  const room = box.x + box.width - left - 2 * PADDING * zoom;
  // Text is measured in plain letters, and these are bold.
  const text = typesetter.fit(ctx, headerText(pen, item), room * 0.92, textSize(NOMINAL, zoom));
  const colors = areaColors(pen, item);
  const middle = box.y + (HEADER * zoom) / 2;
  // A rim of the area's own color keeps lines that pass below from running through the letters.
  ctx.lineWidth = 4 * zoom;
  ctx.lineJoin = "round";
  ctx.strokeStyle = colors.fill;
  ctx.strokeText(text, left + PADDING * zoom, middle);
  ctx.fillStyle = at(frame.paint.coverage, item) === 2 ? palette.selected : colors.text;
  ctx.fillText(text, left + PADDING * zoom, middle);
}

/** The signposts at this zoom: for a drawing at rest, since they are placed with regard to one another. */
function farLabelsOf({ frame }: Pen): ReadonlyMap<number, FarLabel> | null {
  const { scene, camera, boxes } = frame;
  if (boxes !== scene.box) return null;
  return cachedForScene(scene, `signposts ${camera.zoom}`, () => placeFarLabels(scene, camera.zoom));
}

function* drawFarLabels(pen: Pen, posts: ReadonlyMap<number, FarLabel>): Generator<void> {
  const { ctx, frame, typesetter, palette } = pen;
  const { scene, camera, paint } = frame;
  ctx.textAlign = "center";
  ctx.lineJoin = "round";
  for (const item of pen.items) {
    const post = posts.get(item);
    if (!post) continue;
    const open = at(scene.kind, item) === OPEN;
    const colors = open ? areaColors(pen, item) : boxColors(pen, item);
    const [x, y] = [(post.x - camera.x) * camera.zoom, (post.y - camera.y) * camera.zoom];
    ctx.font = `${open ? "600 " : ""}${post.size}px ${typesetter.font}`;
    if (open) {
      ctx.lineWidth = 3.5;
      ctx.strokeStyle = colors.fill;
      ctx.strokeText(post.text, x, y);
    }
    ctx.fillStyle = open && at(paint.coverage, item) === 2 ? palette.selected : colors.text;
    writeFar(pen, item, post, { x, y });
  }
  yield;
}

/** A signpost, with the number of its scope below. */
function writeFar(pen: Pen, item: number, post: FarLabel, { x, y }: Pick<Box, "x" | "y">): void {
  const note = farNote(pen, item, post);
  pen.ctx.fillText(post.text, x, note ? y - 0.55 * post.size : y);
  if (note) pen.ctx.fillText(note, x, y + 0.55 * post.size);
}

/** The number of a colored scope below its signpost, where the box has room for both lines; else "". */
function farNote(pen: Pen, item: number, { size }: FarLabel): string {
  const note = pen.frame.paint.notes[item] ?? "";
  if (note === "") return "";
  const { width, height } = labelBox(pen, item);
  const isRoomy =
    height >= 2.3 * size && pen.typesetter.width(pen.ctx, note) * size <= width - 2 * LEAST_INSET;
  return isRoomy ? note : "";
}
