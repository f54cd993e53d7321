// Draws labels: one line in an op, two in a closed scope, a header in an open one, shortened with
// an ellipsis to fit. At small zoom far-labels.ts replaces them.
import {
  at,
  BADGE,
  type Box,
  CLOSED,
  labelOf,
  OP,
  OPEN,
  type Scene,
  sizeText,
} from "../../protocol/scene";
import { areaColors, boxColors } from "./boxes";
import {
  CHIP,
  chipsGiveWay,
  type FarLabel,
  HEADER,
  hasTwoLines,
  headerLines,
  LEADING,
  LEAST_INSET,
  LEGIBLE,
  labelHeights,
  NAMED_IN_HEADERS_FROM,
  NOMINAL,
  OccupiedCells,
  placeBesideLines,
  placeFarLabels,
  SMALL,
  textSize,
  VALUE,
} from "./far-labels";
import { cachedForScene } from "./incident-edges";
import { chunksOf, type Pen, screenBox } from "./pen";
import { twoLines } from "./typesetter";

const PADDING = 6;
/**
 * What the sign of a run takes of the end of a line, and the line leaves at its beginning, since it
 * is centered.
 */
const SIGN = 4;
/** Between the title of a scope and its number. */
const BEFORE_NOTE = 8;
/** Between a number in a header and the lines beside it. */
const BESIDE_LINES = 4;
/** A number with its unit. */
const NUMBER = /^(-?[\d.]+(?:e[+-]?\d+)?)(?: ([KMGTP]?)([A-Za-zµ]*))?$/;
/** How much wider bold letters are. */
const BOLD = 1.08;
/** At zoom 1: further to the right lines may come in (Python's WIDEST_TITLE). */
const WIDEST_TITLE = 430;
/** Below this zoom names keep their size, while their boxes shrink. */
const NOMINAL_FROM = LEGIBLE / NOMINAL;
/** Names of fewer letters are left out. */
const LEAST_LETTERS = 3;
const BATCH = 150;

export function* drawLabels(pen: Pen): Generator<void> {
  const { ctx, frame } = pen;
  const zoom = frame.camera.zoom;
  ctx.textRendering = "geometricPrecision";
  ctx.textBaseline = "middle";
  const posts = NOMINAL * zoom < LEGIBLE ? farLabelsOf(pen) : null;
  if (zoom >= NAMED_IN_HEADERS_FROM) yield* drawNominal(pen, posts);
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

/**
 * The part of a box above its chips, in CSS pixels; as large as it is, so that alike boxes have
 * alike labels.
 */
function labelBox(pen: Pen, item: number): Box {
  const { boxes, camera, scene } = pen.frame;
  const snapped = screenBox(pen, item);
  const label = at(cachedForScene(scene, "labelHeights", labelHeights), item);
  const part = chipsGiveWay(pen.frame, item) ? 1 : label / (at(scene.box, 4 * item + 3) || label);
  const width = at(boxes, 4 * item + 2) * camera.zoom;
  const height = at(boxes, 4 * item + 3) * camera.zoom * part;
  return { x: snapped.x + (snapped.width - width) / 2, y: snapped.y, width, height };
}

/**
 * The small text below the name, as far as it fits: the note of a coloring, the mean in a run, or
 * the size of a scope.
 */
function secondOf(pen: Pen, item: number): string {
  const { scene, paint, camera } = pen.frame;
  const kind = at(scene.kind, item);
  if (kind === OPEN || kind === BADGE) return "";
  const size = textSize(SMALL, camera.zoom);
  // on the border, beside the text's end
  const sign = at(paint.probed, item) > 0 ? 2 * SIGN * camera.zoom : 0;
  const inset = camera.zoom < NOMINAL_FROM ? LEAST_INSET : (PADDING - 2) * camera.zoom;
  const width = labelBox(pen, item).width - 2 * inset - sign;
  const fits = (text: string) => pen.typesetter.fit(pen.ctx, text, width, size) === text;
  const note = paint.notes[item] ?? "";
  const short = shortNumber(note);
  if (note && short === null) return fitted(pen, note, width, size);
  const [mean = ""] = (paint.values[item] ?? "").split(",");
  const ofRun = [mean, mean.replace(/^mean /, "")].filter(Boolean);
  const texts = note ? [note, short ?? ""] : [...ofRun, ...sizesOf(scene, item)];
  // A number cut in two would be a wrong one: rather leave its unit or the variables out.
  return texts.find(fits) ?? "";
}

/**
 * The size of a closed scope, and without its variables; boxes are made as wide as the first
 * (Python's second_line).
 */
function sizesOf(scene: Scene, item: number): string[] {
  if (at(scene.kind, item) !== CLOSED) return [];
  const count = at(scene.count, item);
  return [
    sizeText(count, at(scene.variables, item)).replace(" variable", " var"),
    sizeText(count, 0),
  ];
}

function drawName(pen: Pen, item: number): void {
  const { ctx, frame } = pen;
  const { scene, camera } = frame;
  const chip = at(scene.kind, item) === BADGE;
  if (chip && chipsGiveWay(frame, at(scene.parent, item))) return;
  const box = labelBox(pen, item);
  const size = textSize(chip ? CHIP : NOMINAL, camera.zoom);
  // A chip is as low as its letters: they have no space above and below.
  if (box.height < size * (chip ? 1 : LEADING)) return;
  const two = secondOf(pen, item) !== "" && hasTwoLines(box.height, camera.zoom);
  const lines = nameLines(pen, item, box, size, !two && box.height >= 2 * size * LEADING);
  const middle = box.y + box.height / 2 - (two ? shiftOf(box, camera.zoom) : 0);
  ctx.fillStyle = boxColors(pen, item).text;
  lines.forEach((line, number) => {
    const below = (number - (lines.length - 1) / 2) * size * LEADING;
    ctx.fillText(line, box.x + box.width / 2, middle + below);
  });
}

/**
 * A name as it is written in its box: in one line, or in the two that it fits into whole where one
 * would be too narrow and the box is `high`.
 */
function nameLines(
  pen: Pen,
  item: number,
  box: Box,
  size: number,
  high: boolean,
): readonly string[] {
  const { scene, camera } = pen.frame;
  const chip = at(scene.kind, item) === BADGE;
  const padding = camera.zoom < NOMINAL_FROM ? LEAST_INSET : (chip ? 4 : PADDING) * camera.zoom;
  const width = box.width - 2 * padding;
  const name = `${at(scene.loop, item) === 1 ? "⟲ " : ""}${labelOf(scene, item)}`;
  if (chip) return [fittedChip(pen, name, width, size)];
  const fits = (text: string) => pen.typesetter.fit(pen.ctx, text, width, size) === text;
  const lines = fits(name) || !high ? null : twoLines(name, fits);
  return lines ?? [fitted(pen, name, width, size)];
}

/** The text cut to a width in CSS pixels; "" where hardly a letter of it would be left. */
function fitted({ ctx, typesetter }: Pen, text: string, width: number, size: number): string {
  const cut = typesetter.fit(ctx, text, width, size);
  return cut === text || cut.length >= LEAST_LETTERS ? cut : "";
}

/**
 * The text of a chip, or its name alone: a value or shape that is cut would be another one. A chip
 * that has room for neither says that there is something.
 */
function fittedChip(pen: Pen, text: string, width: number, size: number): string {
  if (pen.typesetter.fit(pen.ctx, text, width, size) === text) return text;
  const [name = ""] = text.split(" ");
  return (VALUE.test(name) ? "" : fitted(pen, name, width, size)) || "…";
}

/** How far up the first of two lines is; an op is lower than a scope. */
function shiftOf(box: Box, zoom: number): number {
  return Math.min(Math.max(6.5 * zoom, 4.9), box.height * 0.23);
}

function drawSecond(pen: Pen, item: number): void {
  const text = secondOf(pen, item);
  if (text === "") return;
  const { ctx, frame } = pen;
  const box = labelBox(pen, item);
  if (!hasTwoLines(box.height, frame.camera.zoom)) return;
  ctx.fillStyle = boxColors(pen, item).faint;
  ctx.fillText(
    text,
    box.x + box.width / 2,
    box.y + box.height / 2 + shiftOf(box, frame.camera.zoom) * 1.25,
  );
}

/**
 * A number for a narrow box: of FLOPs or bytes without the unit, which the legend has; null for
 * other texts.
 */
function shortNumber(note: string): string | null {
  const [, number, prefix = "", unit = ""] = NUMBER.exec(note) ?? [];
  if (number === undefined) return null;
  return unit === "FLOP" || unit === "B" ? `${number} ${prefix}`.trim() : note;
}

/** The text of an open scope's header. */
function headerText({ frame: { scene } }: Pen, item: number): string {
  const members = at(scene.members, item);
  const part = at(scene.part, item) === 1 && at(scene.part, at(scene.parent, item)) !== 1;
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
  const room = Math.min(box.x + box.width - left - 2 * PADDING * zoom, WIDEST_TITLE * zoom);
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
  const wide = typesetter.width(ctx, text) * BOLD * textSize(NOMINAL, zoom);
  drawHeaderNote(pen, item, left + (PADDING + BEFORE_NOTE) * zoom + wide, middle);
}

/** The number of a colored scope, after its name where the header has room for it. */
function drawHeaderNote(pen: Pen, item: number, x: number, y: number): void {
  const { ctx, frame, typesetter } = pen;
  const note = frame.paint.notes[item] ?? "";
  if (note === "") return;
  const { camera, scene } = frame;
  const { zoom } = camera;
  const box = screenBox(pen, item);
  const size = textSize(SMALL, zoom);
  const width = typesetter.width(ctx, note) * size;
  const lines = cachedForScene(scene, "headerLines", headerLines).get(item) ?? [];
  const left = placeBesideLines(
    lines.map((line) => (line - camera.x) * zoom),
    x,
    width,
    BESIDE_LINES * zoom,
  );
  if (left + width > box.x + box.width - PADDING * zoom) return;
  const before = ctx.font;
  ctx.font = `${size}px ${typesetter.font}`;
  ctx.strokeText(note, left, y);
  ctx.fillStyle = areaColors(pen, item).faint;
  ctx.fillText(note, left, y);
  ctx.font = before;
}

/**
 * The signposts at this zoom: for a drawing at rest, since they are placed with regard to one
 * another.
 */
function farLabelsOf({ frame }: Pen): ReadonlyMap<number, FarLabel> | null {
  const { scene, camera, boxes } = frame;
  if (boxes !== scene.box) return null;
  return cachedForScene(scene, `signposts ${camera.zoom}`, () =>
    placeFarLabels(scene, camera.zoom),
  );
}

function* drawFarLabels(pen: Pen, posts: ReadonlyMap<number, FarLabel>): Generator<void> {
  const { ctx, frame, typesetter, palette } = pen;
  const { scene, camera, paint } = frame;
  ctx.textAlign = "center";
  ctx.lineJoin = "round";
  const notes = farNotes(pen, posts);
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
    writeFar(pen, item, post, { x, y }, notes.get(item) ?? "");
  }
  yield;
}

/**
 * The numbers of colored scopes below their signposts. That of a closed one is in its box; that of
 * an open one, outermost first, is left out where it would lie on another text.
 */
function farNotes(pen: Pen, posts: ReadonlyMap<number, FarLabel>): Map<number, string> {
  const { scene, camera } = pen.frame;
  const all = new Map([...posts].map(([item, post]) => [item, farNote(pen, item, post)]));
  if (camera.zoom >= NAMED_IN_HEADERS_FROM || ![...all.values()].some(Boolean)) return all;
  const taken = new OccupiedCells();
  const isOpen = (item: number) => at(scene.kind, item) === OPEN;
  const take = (text: string, { x, y, size }: FarLabel, from: number, to: number) => {
    const width = pen.typesetter.width(pen.ctx, text) * size * BOLD;
    const [left, top] = [x * camera.zoom - width / 2, y * camera.zoom + from * size];
    return taken.take({ x: left, y: top, width, height: (to - from) * size });
  };
  for (const [item, post] of posts) {
    const lines = !isOpen(item) && all.get(item) ? 1.15 : 0.55;
    take(post.text, post, -lines, lines);
  }
  for (const [item, post] of posts) {
    const note = all.get(item);
    if (note && isOpen(item) && !take(note, post, 0.55, 1.65)) all.set(item, "");
  }
  return all;
}

/** A signpost, with the number of its scope below, or after it in a header. */
function writeFar(
  pen: Pen,
  item: number,
  post: FarLabel,
  { x, y }: Pick<Box, "x" | "y">,
  note: string,
): void {
  const { ctx, frame } = pen;
  const { zoom } = frame.camera;
  const isOpen = at(frame.scene.kind, item) === OPEN;
  if (isOpen && zoom >= NAMED_IN_HEADERS_FROM) {
    ctx.fillText(post.text, x, y);
    ctx.textAlign = "left";
    drawHeaderNote(pen, item, x + ctx.measureText(post.text).width / 2 + BEFORE_NOTE * zoom, y);
    ctx.textAlign = "center";
    return;
  }
  if (isOpen) {
    if (note) ctx.strokeText(note, x, y + 1.1 * post.size);
    ctx.fillText(post.text, x, y);
    if (note) ctx.fillText(note, x, y + 1.1 * post.size);
    return;
  }
  const box = labelBox(pen, item);
  const middle = box.y + box.height / 2;
  const [first = post.text, second = ""] = (!note && post.lines) || [];
  ctx.fillText(first, x, note || second ? middle - 0.55 * post.size : middle);
  if (second) ctx.fillText(second, x, middle + 0.55 * post.size);
  if (note === "") return;
  ctx.fillStyle = boxColors(pen, item).faint;
  ctx.fillText(note, x, middle + 0.55 * post.size);
}

/**
 * The number of a colored scope or else the size of a closed one, below its signpost, where the box
 * has room for both lines; else "".
 */
function farNote(pen: Pen, item: number, { size, lines }: FarLabel): string {
  const { paint, camera, scene } = pen.frame;
  const note = paint.notes[item] ?? "";
  const texts = note
    ? [note, shortNumber(note) ?? ""]
    : camera.zoom >= NAMED_IN_HEADERS_FROM && !lines
      ? sizesOf(scene, item)
      : [];
  if (texts.length === 0) return "";
  const { width, height } = labelBox(pen, item);
  if (height < 2.3 * size) return "";
  const fits = (text: string) =>
    pen.typesetter.width(pen.ctx, text) * size <= width - 2 * LEAST_INSET;
  return texts.find(fits) ?? "";
}
