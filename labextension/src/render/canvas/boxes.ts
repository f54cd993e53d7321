// Draws boxes: open scopes as tinted areas, closed scopes as stacked cards, ops as plain boxes.
import {
  at,
  BADGE,
  type Box,
  CLOSED,
  isScope,
  OPEN,
  type Paint,
  RENAMED,
} from "../../protocol/scene";
import { chipsGiveWay } from "./far-labels";
import type { Frame } from "./frame";
import type { BoxColors, Palette } from "./palette";
import { addBox, chunksOf, expandBox, groupBy, type Pen, screenBox } from "./pen";

const OP_RADIUS = 4;
const SCOPE_RADIUS = 8;
const CHIP_RADIUS = 7;
/** Paths of thousands of boxes are slow to fill in software, single boxes are slow to call. */
const BATCH = 200;
interface Area {
  readonly frame: Pick<Frame, "scene">;
}

/** From this far a box is only its fill. */
export const FILL_ONLY = 0.16;

export function radiusOf({ frame }: Pen, item: number): number {
  const kind = at(frame.scene.kind, item);
  const radius = kind === BADGE ? CHIP_RADIUS : isScope(kind) ? SCOPE_RADIUS : OP_RADIUS;
  return radius * frame.camera.zoom;
}

/** The colors of an open scope, by depth. */
export function areaColors(
  { frame: { scene }, palette }: Pick<Pen, "palette"> & Area,
  item: number,
): BoxColors {
  const levels = at(scene.part, item) > 0 ? palette.training : palette.levels;
  return levels[Math.min(at(scene.depth, item), levels.length - 1)] as BoxColors;
}

/** Open scopes, outermost first: they lie below all edges. */
export function* drawAreas(pen: Pen): Generator<void> {
  const { ctx, frame, palette } = pen;
  let drawn = 0;
  for (const item of pen.items) {
    if (item === 0 || at(frame.scene.kind, item) !== OPEN) continue;
    if (++drawn % BATCH === 0) yield;
    const colors = areaColors(pen, item);
    const wholly = at(frame.paint.coverage, item) === 2;
    const group = at(frame.scene.members, item) > 0;
    ctx.beginPath();
    addBox(pen, expandBox(screenBox(pen, item), -0.5), radiusOf(pen, item));
    ctx.fillStyle = colors.fill;
    ctx.fill();
    ctx.lineWidth = wholly ? 2 : 1;
    ctx.strokeStyle = wholly ? palette.selected : colors.border;
    // A group is not a scope of the graph: its frame is dashed.
    if (group) ctx.setLineDash([5, 3]);
    ctx.stroke();
    if (group) ctx.setLineDash([]);
  }
}

/** A line around a box, `gap` pixels away from it. */
export function outline(pen: Pen, item: number, color: string, width: number, gap: number): void {
  const { ctx } = pen;
  ctx.beginPath();
  addBox(pen, expandBox(screenBox(pen, item), gap), radiusOf(pen, item) + gap);
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.stroke();
}

/** Closed scopes and ops, all of one color at a time: canvas state changes cost more than boxes. */
export function* drawBoxes(pen: Pen): Generator<void> {
  const { scene } = pen.frame;
  const solid = pen.items.filter(
    (item) => at(scene.kind, item) !== OPEN && at(scene.kind, item) !== BADGE,
  );
  // Chips lie in the boxes that read them.
  const chips = pen.items.filter(
    (item) => at(scene.kind, item) === BADGE && !chipsGiveWay(pen.frame, at(scene.parent, item)),
  );
  for (const layer of [solid, chips])
    for (const [colors, items] of groupBy(layer, (item) => boxColors(pen, item))) {
      const chosen = pen.palette.selection.includes(colors);
      for (const piece of chunksOf(items, BATCH)) {
        drawBatch(pen, piece, colors, chosen);
        yield;
      }
    }
  drawHatching(pen);
  drawUnused(pen);
}

/** A dotted border: edits have left it without consumers. */
function drawUnused(pen: Pen): void {
  const { ctx, frame, palette } = pen;
  const { scene, paint } = frame;
  const unused = pen.items.filter(
    (item) => at(paint.unused, item) === 1 && item > 0 && at(scene.kind, item) !== BADGE,
  );
  if (unused.length === 0) return;
  ctx.strokeStyle = palette.faint;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  for (const item of unused)
    addBox(pen, expandBox(screenBox(pen, item), -0.5), radiusOf(pen, item));
  ctx.stroke();
  ctx.setLineDash([]);
}

interface PaintedFrame {
  readonly frame: Pick<Frame, "scene" | "paint"> & Partial<Pick<Frame, "barred">>;
}

/** The colors of what differs; where others are shown, a sign is enough for another name. */
function differenceColors(paint: Paint, palette: Palette, item: number): BoxColors | null {
  const code = at(paint.differs, item);
  return paint.isColored && code === RENAMED ? null : (palette.differs[code] ?? null);
}

export function boxColors(
  { frame, palette }: Pick<Pen, "palette"> & PaintedFrame,
  item: number,
): BoxColors {
  const { scene, paint } = frame;
  if (frame.barred?.has(item)) return palette.barred;
  const differs = differenceColors(paint, palette, item);
  if (differs) return differs;
  const covered = at(paint.coverage, item);
  if (paint.isColored && covered < 2) return palette.tints[at(paint.tint, item)] as BoxColors;
  const noted = at(paint.mark, item) > 0 || at(paint.fresh, item) > 0;
  const kind = at(scene.kind, item);
  const aside = at(scene.aside, item) === 1 && kind !== BADGE;
  const unused = at(paint.unused, item) === 1;
  const quiet = covered === 0 && !noted && (paint.selecting || paint.comparing || aside || unused);
  if (at(scene.part, item) > 0 && isScope(kind) && covered === 0 && !quiet)
    return palette.trainingBox;
  const colors = covered === 2 ? palette.selection : quiet ? palette.quiet : palette.box;
  return colors[at(scene.family, item)] ?? (colors[0] as BoxColors);
}

function drawBatch(pen: Pen, items: readonly number[], colors: BoxColors, chosen: boolean): void {
  const { ctx, frame } = pen;
  const zoom = frame.camera.zoom;
  ctx.fillStyle = colors.fill;
  ctx.strokeStyle = colors.border;
  ctx.lineWidth = chosen ? Math.max(1, Math.min(2, 2.5 * zoom)) : 1;
  if (zoom <= FILL_ONLY) {
    drawSpecks(pen, items, chosen ? colors.border : colors.fill);
    return;
  }
  if (zoom > 0.25) drawStacks(pen, items);
  ctx.beginPath();
  for (const item of items) addBox(pen, expandBox(screenBox(pen, item), -0.5), radiusOf(pen, item));
  ctx.fill();
  ctx.stroke();
}

/**
 * From afar a box is a rectangle of whole pixels, at least one; a border would be all there is to
 * see of it.
 */
function drawSpecks(pen: Pen, items: readonly number[], fill: string): void {
  const { ctx, ratio } = pen;
  ctx.fillStyle = fill;
  for (const item of items) {
    const { x, y, width, height } = screenBox(pen, item);
    ctx.fillRect(x, y, Math.max(width, 1 / ratio), Math.max(height, 1 / ratio));
  }
}

/** The cards under a closed scope: there is more inside; two under a group of several. */
function drawStacks(pen: Pen, items: readonly number[]): void {
  const { ctx, frame } = pen;
  const shift = 3 * frame.camera.zoom;
  const stacked = (cards: number) => (item: number) =>
    at(frame.scene.kind, item) === CLOSED && (cards === 1 || at(frame.scene.members, item) > 0);
  for (const card of [2, 1]) {
    ctx.beginPath();
    for (const item of items.filter(stacked(card))) {
      const { x, y, width, height } = expandBox(screenBox(pen, item), -0.5);
      const by = card * shift;
      addBox(pen, { x: x + by, y: y + by, width: width - 2 * by, height }, radiusOf(pen, item));
    }
    ctx.fill();
    ctx.stroke();
  }
}

/** Diagonal lines over what is partly selected. */
function drawHatching(pen: Pen): void {
  const { ctx, frame, palette } = pen;
  const partly = pen.items.filter(
    (item) => at(frame.paint.coverage, item) === 1 && at(frame.scene.kind, item) === CLOSED,
  );
  ctx.strokeStyle = palette.partly;
  for (const item of partly) {
    const box = expandBox(screenBox(pen, item), -0.5);
    ctx.save();
    ctx.beginPath();
    addBox(pen, box, radiusOf(pen, item));
    ctx.lineWidth = 2;
    ctx.stroke();
    ctx.clip();
    ctx.beginPath();
    addDiagonals(ctx, box, 9);
    ctx.lineWidth = 1.5;
    ctx.globalAlpha = 0.3;
    ctx.stroke();
    ctx.restore();
  }
}

function addDiagonals(
  ctx: CanvasRenderingContext2D,
  { x, y, width, height }: Box,
  gap: number,
): void {
  for (let start = x - height; start < x + width; start += gap) {
    ctx.moveTo(start, y + height);
    ctx.lineTo(start + height, y);
  }
}
