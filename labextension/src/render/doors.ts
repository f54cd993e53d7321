// Doors: ops that call a function one can enter have a second frame, and an arrow into it on their upper right corner;
// closed scopes that hold such ops have a small, quiet arrow.
import { at, CLOSED } from "../scene";
import { coloursOf, radiusOf } from "./boxes";
import type { BoxColours } from "./palette";
import { addBox, grown, type Pen, screenBox } from "./pen";

const GAP = 3;
const SIZE = 15;

export function drawDoors(pen: Pen): void {
  const { frame, ctx } = pen;
  const zoom = frame.camera.zoom;
  if (zoom < 0.2) return;
  for (const item of pen.items) {
    const door = at(frame.scene.door, item);
    if (door === 0) continue;
    const { border, text, fill, faint } = coloursOf(pen, item);
    if (door === 2) {
      if (zoom >= 0.35 && at(frame.scene.kind, item) === CLOSED)
        drawArrow(pen, item, { fill, border, text: faint }, 0.72);
      continue;
    }
    ctx.beginPath();
    addBox(pen, grown(screenBox(pen, item), -GAP * zoom - 0.5), Math.max(radiusOf(pen, item) - 1, 0));
    ctx.strokeStyle = border;
    ctx.lineWidth = 1;
    ctx.stroke();
    if (zoom >= 0.35) drawArrow(pen, item, { fill, border, text });
  }
}

function drawArrow(pen: Pen, item: number, colours: Omit<BoxColours, "faint">, size = 1): void {
  const { ctx, frame } = pen;
  const scale = Math.min(frame.camera.zoom, 1.4) * size;
  const box = screenBox(pen, item);
  const half = (SIZE / 2) * scale;
  const x = box.x + box.width - 2 * scale;
  // The upper corner of a closed scope may have a number.
  const y = size === 1 ? box.y + 1 * scale : box.y + box.height - 2 * scale;
  ctx.beginPath();
  ctx.arc(x, y, half, 0, 2 * Math.PI);
  ctx.fillStyle = colours.fill;
  ctx.fill();
  ctx.strokeStyle = colours.border;
  ctx.lineWidth = 1;
  ctx.stroke();
  addArrow(ctx, x, y, 3 * scale);
  ctx.strokeStyle = colours.text;
  ctx.lineWidth = Math.max(1, 1.4 * scale);
  ctx.lineCap = "round";
  ctx.lineJoin = "round";
  ctx.stroke();
  ctx.lineCap = "butt";
}

/** An arrow down to the left, into the box. */
function addArrow(ctx: CanvasRenderingContext2D, x: number, y: number, half: number): void {
  ctx.beginPath();
  ctx.moveTo(x + half, y - half);
  ctx.lineTo(x - half, y + half);
  ctx.moveTo(x - half, y - 0.6 * half);
  ctx.lineTo(x - half, y + half);
  ctx.lineTo(x + 0.6 * half, y + half);
}
