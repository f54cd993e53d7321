// What is said about a box from outside: boundary badges, and outlines of fresh and refused items.
import { at, INPUT_MARK, OPEN, OUTPUT_MARK } from "../scene";
import { outline } from "./over";
import { type Pen, screenBox } from "./pen";

interface Sign {
  readonly sign: string;
  readonly colour: string;
}

/** At a smaller zoom, signs would hide the boxes. */
const LEAST_SIGN = 0.3;

export function drawOutlines(pen: Pen): void {
  const { frame, palette } = pen;
  for (const item of pen.items) {
    if (at(frame.paint.fresh, item) === 1 && item > 0) drawGlow(pen, item, palette.fresh);
    if (frame.warned.has(item) && item > 0) outline(pen, item, palette.warned, 2.5, 4);
  }
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
  // Outside: a box that is coloured by something is full of its two lines.
  const middle = text === "in" ? box.y - 7 * scale : box.y + box.height + 7 * scale;
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

/** On the left border what differs ("+" added, "~" changed), on the right what was looked at ("✓", "!"). */
export function drawSigns(pen: Pen): void {
  const { frame, palette } = pen;
  if (frame.camera.zoom < LEAST_SIGN) return;
  const differs = [null, { sign: "+", colour: palette.added }, { sign: "~", colour: palette.changed }];
  const probed = [null, { sign: "✓", colour: palette.inputMark }, { sign: "!", colour: palette.warned }];
  for (const item of pen.items) {
    if (item === 0 || at(frame.scene.kind, item) === OPEN) continue;
    drawSign(pen, item, 0, differs[at(frame.paint.differs, item)]);
    drawSign(pen, item, 1, probed[at(frame.paint.probed, item)]);
  }
}

/** A letter in a circle; `side` is 0 on the left, 1 on the right. */
function drawSign(pen: Pen, item: number, side: 0 | 1, said: Sign | null | undefined): void {
  if (!said) return;
  const { ctx, palette, frame } = pen;
  const scale = Math.min(Math.max(frame.camera.zoom, 0.6), 1.4);
  const box = screenBox(pen, item);
  const x = box.x + side * box.width;
  const y = box.y + box.height / 2;
  ctx.beginPath();
  ctx.arc(x, y, 7 * scale, 0, 2 * Math.PI);
  ctx.fillStyle = said.colour;
  ctx.fill();
  ctx.strokeStyle = palette.background;
  ctx.lineWidth = 1.5;
  ctx.stroke();
  ctx.font = `700 ${10.5 * scale}px ${palette.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = palette.onMark;
  ctx.fillText(said.sign, x, y + 0.5);
}

function addTriangle(ctx: CanvasRenderingContext2D, x: number, y: number, half: number, down: 1 | -1): void {
  ctx.beginPath();
  ctx.moveTo(x - half, y - 0.8 * half * down);
  ctx.lineTo(x + half, y - 0.8 * half * down);
  ctx.lineTo(x, y + 0.9 * half * down);
  ctx.closePath();
  ctx.fill();
}
