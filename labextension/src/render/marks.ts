// What is said about a box from outside: boundary badges, and outlines for hovered, picked, fresh and refused items.
import { at, INPUT_MARK, OPEN, OUTPUT_MARK } from "../scene";
import { radiusOf } from "./boxes";
import { addBox, grown, type Pen, screenBox } from "./pen";

export function drawOutlines(pen: Pen): void {
  const { frame, palette } = pen;
  for (const item of pen.items) {
    if (at(frame.paint.fresh, item) === 1 && item > 0) drawGlow(pen, item, palette.fresh);
    if (frame.warned.has(item) && item > 0) outline(pen, item, palette.warned, 2.5, 4);
  }
  if (frame.hover > 0 && frame.hover !== frame.picked) outline(pen, frame.hover, palette.edge, 1.5, 1);
  if (frame.picked > 0) outline(pen, frame.picked, palette.text, 1.75, 1.5);
}

function outline(pen: Pen, item: number, colour: string, width: number, gap: number): void {
  const { ctx } = pen;
  ctx.beginPath();
  addBox(pen, grown(screenBox(pen, item), gap), radiusOf(pen, item) + gap);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.stroke();
}

/** Strokes that fade outwards; the canvas's own shadows are too slow in software. */
function drawGlow(pen: Pen, item: number, colour: string): void {
  const { ctx } = pen;
  for (const [gap, alpha] of [
    [4, 0.15],
    [2.5, 0.3],
    [1, 0.8],
  ] as const) {
    ctx.globalAlpha = alpha;
    outline(pen, item, colour, 1.75, gap);
  }
  ctx.globalAlpha = 1;
}

/** "▼ in" on the upper border of input boundaries, "▲ out" on the lower border of output boundaries. */
export function drawBadges(pen: Pen): void {
  const { frame, palette } = pen;
  for (const item of pen.items) {
    const mark = at(frame.paint.mark, item);
    if (mark === 0 || at(frame.scene.kind, item) === OPEN) continue;
    if (mark & INPUT_MARK) drawBadge(pen, item, "in", palette.inputMark);
    if (mark & OUTPUT_MARK) drawBadge(pen, item, "out", palette.outputMark);
  }
}

function drawBadge(pen: Pen, item: number, text: "in" | "out", colour: string): void {
  const { ctx, palette, frame } = pen;
  // Badges stay legible when the boxes are not.
  const scale = Math.min(Math.max(frame.camera.zoom, 0.75), 1.4);
  const box = screenBox(pen, item);
  ctx.font = `600 ${10.5 * scale}px ${palette.font}`;
  const width = ctx.measureText(text).width + 24 * scale;
  const height = 16 * scale;
  const middle = text === "in" ? box.y - 2 : box.y + box.height + 2;
  const x = box.x + Math.min(8 * scale, box.width / 2);
  const y = middle - height / 2;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, height / 2);
  ctx.fillStyle = colour;
  ctx.fill();
  ctx.strokeStyle = palette.background;
  ctx.lineWidth = 1.5;
  ctx.stroke();
  ctx.fillStyle = palette.onMark;
  addTriangle(ctx, x + 10 * scale, middle, 3.5 * scale, text === "in" ? 1 : -1);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x + 16 * scale, middle + 0.5);
}

function addTriangle(ctx: CanvasRenderingContext2D, x: number, y: number, half: number, down: 1 | -1): void {
  ctx.beginPath();
  ctx.moveTo(x - half, y - 0.8 * half * down);
  ctx.lineTo(x + half, y - 0.8 * half * down);
  ctx.lineTo(x, y + 0.9 * half * down);
  ctx.closePath();
  ctx.fill();
}
