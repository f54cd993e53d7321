// Draws edge labels: the shape of a tensor or its value in a run, "×12" on a bundle, a sign on the
// back edge of a loop. A label is placed on the longest straight piece of its edge, a value or
// "×12" also on another one or beside it; it is left out where it would cover something else. Of a
// value a shorter text or a dot remains.
import { at, type Box, OPEN, type Scene } from "../../protocol/scene";
import type { SceneIndex } from "../hit-testing/scene-index";
import { LEGIBLE, overlap, textSize } from "./far-labels";
import { cachedForScene } from "./incident-edges";
import { countBox, markBoxes } from "./marks";
import { expandBox, type Pen } from "./pen";

const SIZE = 9.5;
/** The room of a text is that of one which is legible at the least zoom. */
const LARGEST = 12;
const HEIGHT = 15;
/** Free line at both ends of the text together. */
const ROOM = 16;
export const EDGE_LABELS_FROM = LEGIBLE / LARGEST;
const LEAST_SIGN = 0.2;
/** Between a line and the text beside it. */
const BESIDE = 3;
/** The radius of a loop's sign. */
const SIGN = 8;
/** The radius of a dot. */
const DOT = 4;
/** How far the number of siblings, and marks, reach beyond their box. */
const AROUND_COUNT = 8;
const AROUND_MARKS = 48;
/** How far a label reaches from its line: half of a long one. */
const AROUND_LABEL = 60;

/** The place of a text, in world coordinates: its center, its box, and whether it runs upwards. */
export interface EdgeLabel {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly upright: boolean;
  readonly box: Box;
}

/** The value of a run that an edge carries, "" if there is none; `values` are by item. */
export function edgeValue(scene: Scene, edge: number, values: readonly string[]): string {
  return at(scene.tensors, edge) > 0 ? (values[at(scene.source, edge)] ?? "") : "";
}

/** The texts that an edge may have, the longest first: of a value also the mean alone. */
export function edgeLabelTexts(
  scene: Scene,
  edge: number,
  values: readonly string[] = [],
): string[] {
  const value = edgeValue(scene, edge, values);
  if (value) return [...new Set([value, value.split(",")[0] ?? ""])];
  const tensors = at(scene.tensors, edge);
  const text = tensors > 1 ? `×${tensors}` : tensors === 1 ? (scene.edgeLabels[edge] ?? "") : "";
  return text ? [text] : [];
}

/** The ends of a straight piece of an edge. */
type Piece = readonly [number, number, number, number];

/** The longest straight piece of an edge: its ends. */
export function longestPiece(scene: Scene, edge: number): Piece {
  return piecesOf(scene, edge)[0] ?? [0, 0, 0, 0];
}

/** The straight pieces of an edge, the longest first. */
function piecesOf({ routeStart, route }: Scene, edge: number): Piece[] {
  const pieces: Piece[] = [];
  for (let point = at(routeStart, edge); point + 1 < at(routeStart, edge + 1); point++) {
    const [x, y] = [at(route, 2 * point), at(route, 2 * point + 1)];
    pieces.push([x, y, at(route, 2 * point + 2), at(route, 2 * point + 3)]);
  }
  const length = ([x1, y1, x2, y2]: Piece) => Math.hypot(x2 - x1, y2 - y1);
  return pieces.sort((a, b) => length(b) - length(a));
}

/**
 * The place of an edge's text where no box, other edge or other text is; null if there is none.
 * `isTaken` says whether another text is in a box.
 */
export function placeEdgeLabel(
  scene: Scene,
  picker: SceneIndex,
  edge: number,
  width: (text: string) => number,
  values: readonly string[] = [],
  isTaken: (box: Box) => boolean = () => false,
): EdgeLabel | null {
  if (at(scene.back, edge) === 1) return null; // a way back has its sign there
  const texts = edgeLabelTexts(scene, edge, values);
  if (texts.length === 0) return null;
  // Lines with a value that leave the same box have the same one.
  const source = edgeValue(scene, edge, values) ? at(scene.source, edge) : -1;
  // Shapes on all pieces would be too many; values and counts are on few lines, and are written
  // nowhere else.
  const isShape = source < 0 && at(scene.tensors, edge) === 1;
  const pieces = piecesOf(scene, edge).slice(0, isShape ? 1 : undefined);
  const line = { scene, picker, edge, source, width, isTaken };
  // A value may be beside its line, too.
  const places = source < 0 ? [placeText] : [placeText, placeBeside];
  const tries = texts.flatMap((text) =>
    places.flatMap((place) => pieces.map((piece) => ({ text, place, piece }))),
  );
  for (const { text, place, piece } of tries) {
    const label = place(line, text, piece);
    if (label) return label;
  }
  return null;
}

/** A line that gets a text, and what its text must not cover. */
interface Line {
  readonly scene: Scene;
  readonly picker: SceneIndex;
  readonly edge: number;
  /** The item whose value the line carries, -1 for none: lines from there have the same text. */
  readonly source: number;
  readonly width: (text: string) => number;
  readonly isTaken: (box: Box) => boolean;
}

/** The place of a text on a piece of an edge; null if it would cover something. */
function placeText(line: Line, text: string, piece: Piece): EdgeLabel | null {
  const { scene, edge, source, width } = line;
  const { x, y, wide, across, down, lying, standing } = boxesOn(piece, text, width);
  const free = (box: Box, own = edge) => isFree(line, own, box);
  if ((across >= wide + ROOM || (across < 1 && down >= HEIGHT + ROOM)) && free(lying))
    return { text, x, y, upright: false, box: lying };
  if (across < 1 && down >= wide + ROOM && free(standing))
    return { text, x, y, upright: true, box: standing };
  if (across >= 1 || down < HEIGHT || source >= 0 || at(scene.tensors, edge) < 2) return null;
  // The count of a bundle whose line is short.
  for (const shift of [wide / 2 + BESIDE, -wide / 2 - BESIDE]) {
    const beside = { ...lying, x: lying.x + shift };
    if (free(beside, -1)) return { text, x: x + shift, y, upright: false, box: beside };
  }
  return null;
}

/** The place of a value beside a piece of an edge to which another line is close; null if none. */
function placeBeside(line: Line, text: string, piece: Piece): EdgeLabel | null {
  const { x, y, wide, across, down, lying, standing } = boxesOn(piece, text, line.width);
  const upright = across < 1;
  if ((upright ? down : across) < wide + ROOM || (!upright && down >= 1)) return null;
  for (const shift of [HEIGHT / 2 + BESIDE, -HEIGHT / 2 - BESIDE]) {
    const [right, below] = upright ? [shift, 0] : [0, shift];
    const on = upright ? standing : lying;
    const box = { ...on, x: on.x + right, y: on.y + below };
    if (isFree(line, -1, box)) return { text, x: x + right, y: y + below, upright, box };
  }
  return null;
}

/** The middle of a piece, how far it goes, and the boxes of a text there, lying and standing. */
function boxesOn([x1, y1, x2, y2]: Piece, text: string, width: (text: string) => number) {
  const wide = width(text) * LARGEST + 4;
  const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const [across, down] = [Math.abs(x2 - x1), Math.abs(y2 - y1)];
  const lying = { x: x - wide / 2, y: y - HEIGHT / 2, width: wide, height: HEIGHT };
  const standing = { x: x - HEIGHT / 2, y: y - wide / 2, width: HEIGHT, height: wide };
  return { x, y, wide, across, down, lying, standing };
}

/** Whether nothing else is in a box: an item, a sign, or another line than `own`. */
function isFree({ scene, picker, source, width, isTaken }: Line, own: number, box: Box): boolean {
  return !(
    hitsBox(scene, picker, box) ||
    hitsCount(scene, picker, box, width) ||
    hitsLine(scene, picker, own, source, box) ||
    hitsSign(scene, picker, box) ||
    isTaken(box)
  );
}

/** Whether a box meets an op or closed scope, or the border of an open one. */
function hitsBox(scene: Scene, picker: SceneIndex, box: Box): boolean {
  return picker.itemsIn(box).some((item) => {
    if (item === 0) return false;
    if (at(scene.kind, item) !== OPEN) return true;
    const [x, y, width, height] = [0, 1, 2, 3].map((i) => at(scene.box, 4 * item + i)) as [
      number,
      number,
      number,
      number,
    ];
    const inside = box.x > x && box.y > y && box.x + box.width < x + width;
    return !(inside && box.y + box.height < y + height);
  });
}

/** Whether a box meets the number of siblings on a box. */
function hitsCount(
  scene: Scene,
  picker: SceneIndex,
  box: Box,
  width: (text: string) => number,
): boolean {
  return picker
    .itemsIn(expandBox(box, AROUND_COUNT))
    .some((item) => overlap(countBox(scene, item, width) ?? NOWHERE, box));
}

/** Whether a box meets the sign of a loop's way back, which is wider than the line. */
function hitsSign(scene: Scene, picker: SceneIndex, box: Box): boolean {
  return picker.edgesIn(expandBox(box, SIGN)).some((other) => {
    if (at(scene.back, other) === 0) return false;
    const [x1, y1, x2, y2] = longestPiece(scene, other);
    return overlap(box, {
      x: (x1 + x2) / 2 - SIGN,
      y: (y1 + y2) / 2 - SIGN,
      width: 2 * SIGN,
      height: 2 * SIGN,
    });
  });
}

/** Whether a box meets a line; lines from the item `source` do not count. */
function hitsLine(
  scene: Scene,
  picker: SceneIndex,
  edge: number,
  source: number,
  box: Box,
): boolean {
  return picker.edgesIn(box).some((other) => {
    if (other === edge || at(scene.source, other) === source) return false;
    for (
      let point = at(scene.routeStart, other);
      point + 1 < at(scene.routeStart, other + 1);
      point++
    ) {
      const [x1, y1, x2, y2] = [0, 1, 2, 3].map((i) => at(scene.route, 2 * point + i)) as [
        number,
        number,
        number,
        number,
      ];
      const bounds = { x: Math.min(x1, x2), y: Math.min(y1, y2) };
      const size = { width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) };
      if (overlap(box, { ...bounds, ...size })) return true;
    }
    return false;
  });
}

/**
 * Of two that would overlap, the first has its text: whether other texts are in view does not
 * matter.
 */
export function* drawEdgeLabels(pen: Pen): Generator<void> {
  const { frame, ctx, typesetter } = pen;
  const { scene, camera } = frame;
  if (frame.edgeAlpha < 1 || frame.boxes !== scene.box) return;
  drawLoopSigns(pen);
  const { values } = frame.paint;
  if (camera.zoom < EDGE_LABELS_FROM) return drawValueDots(pen, new Set());
  const known = labelsOf(scene, values, pen.typesetter.font);
  const find = (edge: number): EdgeLabel | null => {
    const found = known.get(edge);
    if (found !== undefined) return found;
    const label = placeEdgeLabel(
      scene,
      pen.sceneIndex,
      edge,
      (text) => typesetter.width(ctx, text),
      values,
      (box) => isCovered(pen, edge, box, find),
    );
    known.set(edge, label);
    return label;
  };
  ctx.font = `${textSize(SIZE, camera.zoom)}px ${typesetter.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.textRendering = "geometricPrecision";
  let drawn = 0;
  const labeled = new Set<number>();
  for (const edge of pen.edges) {
    const found = find(edge);
    if (!found || isMarked(pen, found.box)) continue;
    labeled.add(at(scene.source, edge));
    if (++drawn % 50 === 0) yield;
    write(pen, found, backgroundOf(pen, edge));
  }
  drawValueDots(pen, labeled);
}

/** Whether a mark of a box lies there. */
function isMarked({ frame, sceneIndex, ctx, typesetter }: Pen, box: Box): boolean {
  const width = (text: string) => typesetter.width(ctx, text);
  const near = sceneIndex.itemsIn(expandBox(box, AROUND_MARKS));
  return near.some((item) => markBoxes(frame, item, width).some((mark) => overlap(mark, box)));
}

/** Whether the label of an edge before lies there; it may be wider than the gap between the lines. */
function isCovered(
  pen: Pen,
  edge: number,
  box: Box,
  find: (edge: number) => EdgeLabel | null,
): boolean {
  const near = pen.sceneIndex.edgesIn(expandBox(box, AROUND_LABEL));
  return near.some((other) => other < edge && overlap(find(other)?.box ?? NOWHERE, box));
}

/**
 * Values without room for a text on any line from their item: a dot on each, whose tooltip has the
 * text.
 */
function drawValueDots(pen: Pen, labeled: ReadonlySet<number>): void {
  const { scene, paint, camera } = pen.frame;
  if (camera.zoom < LEAST_SIGN) return;
  for (const edge of pen.edges)
    if (!labeled.has(at(scene.source, edge)) && edgeValue(scene, edge, paint.values))
      drawValueDot(pen, edge);
}

function drawValueDot({ ctx, frame: { scene, paint, camera }, palette }: Pen, edge: number): void {
  const [x1, y1, x2, y2] = longestPiece(scene, edge);
  const [x, y] = [
    ((x1 + x2) / 2 - camera.x) * camera.zoom,
    ((y1 + y2) / 2 - camera.y) * camera.zoom,
  ];
  ctx.beginPath();
  ctx.arc(x, y, DOT * Math.min(Math.max(camera.zoom, 0.7), 1.4), 0, 2 * Math.PI);
  ctx.fillStyle =
    at(paint.probed, at(scene.source, edge)) === 2 ? palette.warned : palette.inputMark;
  ctx.fill();
}

/** The labels that are placed already; others once a run has found values, and in another font. */
function labelsOf(
  scene: Scene,
  values: readonly string[],
  font: string,
): Map<number, EdgeLabel | null> {
  const made = [font, ...values].join("\n");
  const cache = cachedForScene(scene, "inscriptions", () => ({
    made,
    labels: new Map<number, EdgeLabel | null>(),
  }));
  if (cache.made !== made) cache.labels.clear();
  cache.made = made;
  return cache.labels;
}

const NOWHERE: Box = { x: Number.NaN, y: Number.NaN, width: 0, height: 0 };

function backgroundOf({ frame: { scene }, palette }: Pen, edge: number): string {
  const [source, target] = [at(scene.source, edge), at(scene.target, edge)];
  const inner = at(scene.parent, target) === source ? source : at(scene.parent, source);
  const levels = at(scene.part, inner) > 0 ? palette.training : palette.levels;
  return levels[Math.min(at(scene.depth, inner), levels.length - 1)]?.fill ?? palette.background;
}

/** The line is interrupted where the text is: it would show between the letters. */
function write(
  { ctx, palette, frame: { camera } }: Pen,
  { text, x, y, upright }: EdgeLabel,
  behind: string,
) {
  ctx.save();
  ctx.translate((x - camera.x) * camera.zoom, (y - camera.y) * camera.zoom);
  if (upright) ctx.rotate(-Math.PI / 2);
  const [wide, high] = [ctx.measureText(text).width + 6 * camera.zoom, HEIGHT * camera.zoom];
  ctx.fillStyle = behind;
  ctx.fillRect(-wide / 2, -high / 2, wide, high);
  ctx.fillStyle = palette.faint;
  ctx.fillText(text, 0, 0);
  ctx.restore();
}

/** A loop's way back is to be seen at once, from any distance that shows lines. */
function drawLoopSigns(pen: Pen): void {
  const { ctx, frame, palette, edges } = pen;
  const { scene, camera } = frame;
  if (camera.zoom < LEAST_SIGN) return;
  const radius = SIGN * Math.min(Math.max(camera.zoom, 0.6), 1.4);
  for (const edge of edges) {
    if (at(scene.back, edge) === 0) continue;
    const [x1, y1, x2, y2] = longestPiece(scene, edge);
    const x = ((x1 + x2) / 2 - camera.x) * camera.zoom;
    const y = ((y1 + y2) / 2 - camera.y) * camera.zoom;
    ctx.beginPath();
    ctx.arc(x, y, radius, 0, 2 * Math.PI);
    ctx.fillStyle = palette.background;
    ctx.fill();
    ctx.strokeStyle = palette.back;
    ctx.lineWidth = 1.5;
    ctx.stroke();
    drawLoopSign(ctx, x, y, radius * 0.5);
  }
}

/** An arrow that goes round: drawn, since few fonts have the sign. */
function drawLoopSign(ctx: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  ctx.beginPath();
  ctx.arc(x, y, radius, -0.25 * Math.PI, 1.35 * Math.PI);
  ctx.stroke();
  const [tipX, tipY] = [
    x + radius * Math.cos(-0.25 * Math.PI),
    y + radius * Math.sin(-0.25 * Math.PI),
  ];
  ctx.beginPath();
  ctx.moveTo(tipX - radius * 0.75, tipY - radius * 0.05);
  ctx.lineTo(tipX + radius * 0.1, tipY + radius * 0.1);
  ctx.lineTo(tipX + radius * 0.15, tipY - radius * 0.8);
  ctx.stroke();
}
