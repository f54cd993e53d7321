// Boxes: open scopes as tinted areas, closed scopes as stacked cards, ops as plain boxes.
import { at, type Box, CLOSED, OP, OPEN } from "../scene";
import type { BoxColours } from "./palette";
import { addBox, grown, type Pen, screenBox } from "./pen";

const OP_RADIUS = 4;
const SCOPE_RADIUS = 8;
// Paths of thousands of boxes are slow to fill in software, single boxes are slow to call.
const BATCH = 200;

export function radiusOf(pen: Pen, item: number): number {
  return (at(pen.frame.scene.kind, item) === OP ? OP_RADIUS : SCOPE_RADIUS) * pen.frame.camera.zoom;
}

/** Open scopes, outermost first: they lie below all edges. */
export function drawAreas(pen: Pen): void {
  const { ctx, frame, palette } = pen;
  for (const item of pen.items) {
    if (item === 0 || at(frame.scene.kind, item) !== OPEN) continue;
    const level = Math.min(at(frame.scene.depth, item), palette.levels.length - 1);
    const colours = palette.levels[level] as BoxColours;
    const wholly = at(frame.paint.coverage, item) === 2;
    ctx.beginPath();
    addBox(pen, grown(screenBox(pen, item), -0.5), radiusOf(pen, item));
    ctx.fillStyle = colours.fill;
    ctx.fill();
    ctx.lineWidth = wholly ? 2 : 1;
    ctx.strokeStyle = wholly ? palette.selected : colours.border;
    ctx.stroke();
  }
}

/** Closed scopes and ops, all of one colour at a time: canvas state changes cost more than boxes. */
export function drawBoxes(pen: Pen): void {
  const groups = new Map<BoxColours, number[]>();
  for (const item of pen.items) {
    if (at(pen.frame.scene.kind, item) === OPEN) continue;
    const colours = coloursOf(pen, item);
    const group = groups.get(colours);
    if (group) group.push(item);
    else groups.set(colours, [item]);
  }
  for (const [colours, items] of groups) {
    const chosen = pen.palette.chosen.includes(colours);
    for (let start = 0; start < items.length; start += BATCH)
      drawBatch(pen, items.slice(start, start + BATCH), colours, chosen);
  }
  drawHatching(pen);
}

export function coloursOf({ frame, palette }: Pen, item: number): BoxColours {
  const { scene, paint } = frame;
  if (frame.barred.has(item)) return palette.barred;
  const differs = palette.differs[at(paint.differs, item)];
  if (differs) return differs;
  const covered = at(paint.coverage, item);
  const noted = at(paint.mark, item) > 0 || at(paint.fresh, item) > 0;
  const quiet =
    covered === 0 && !noted && (paint.selecting || paint.comparing || at(scene.aside, item) === 1);
  const colours = covered === 2 ? palette.chosen : quiet ? palette.quiet : palette.box;
  return colours[at(scene.family, item)] ?? (colours[0] as BoxColours);
}

function drawBatch(pen: Pen, items: readonly number[], colours: BoxColours, chosen: boolean): void {
  const { ctx, frame } = pen;
  const zoom = frame.camera.zoom;
  ctx.fillStyle = colours.fill;
  ctx.strokeStyle = colours.border;
  ctx.lineWidth = chosen ? Math.max(1, Math.min(2, 2.5 * zoom)) : 1;
  if (zoom > 0.25) drawStacks(pen, items);
  ctx.beginPath();
  for (const item of items) addBox(pen, grown(screenBox(pen, item), -0.5), radiusOf(pen, item));
  ctx.fill();
  // A border around a box of a few pixels would be all there is to see of it.
  if (zoom > 0.12 || chosen) ctx.stroke();
}

/** The card behind a closed scope: there is more inside. */
function drawStacks(pen: Pen, items: readonly number[]): void {
  const shift = 3 * pen.frame.camera.zoom;
  pen.ctx.beginPath();
  for (const item of items) {
    if (at(pen.frame.scene.kind, item) !== CLOSED) continue;
    const { x, y, width, height } = grown(screenBox(pen, item), -0.5);
    addBox(pen, { x: x + shift, y: y + shift, width: width - 2 * shift, height }, radiusOf(pen, item));
  }
  pen.ctx.fill();
  pen.ctx.stroke();
}

/** Diagonal lines over what is selected in part. */
function drawHatching(pen: Pen): void {
  const { ctx, frame, palette } = pen;
  const partly = pen.items.filter(
    (item) => at(frame.paint.coverage, item) === 1 && at(frame.scene.kind, item) === CLOSED,
  );
  ctx.strokeStyle = palette.partly;
  for (const item of partly) {
    const box = grown(screenBox(pen, item), -0.5);
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

function addDiagonals(ctx: CanvasRenderingContext2D, { x, y, width, height }: Box, gap: number): void {
  for (let start = x - height; start < x + width; start += gap) {
    ctx.moveTo(start, y + height);
    ctx.lineTo(start + height, y);
  }
}
