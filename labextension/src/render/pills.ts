// Small signs on boxes: how many siblings a group stands for, a pin on what was put in place by hand.
import { at, CLOSED } from "../scene";
import { coloursOf } from "./boxes";
import { type Pen, screenBox } from "./pen";

const LEAST_ZOOM = 0.25;

export function drawPills(pen: Pen): void {
  const { frame } = pen;
  if (frame.camera.zoom < LEAST_ZOOM) return;
  for (const item of pen.items) {
    if (item === 0) continue;
    if (at(frame.scene.members, item) > 1 && at(frame.scene.kind, item) === CLOSED) drawNumber(pen, item);
    if (at(frame.scene.pinned, item) === 1) drawPin(pen, item);
  }
}

/** "×8" on the upper right corner. */
function drawNumber(pen: Pen, item: number): void {
  const { ctx, frame, palette } = pen;
  const scale = Math.min(Math.max(frame.camera.zoom, 0.6), 1.3);
  const box = screenBox(pen, item);
  const text = `×${at(frame.scene.members, item)}`;
  const colours = coloursOf(pen, item);
  ctx.font = `600 ${10.5 * scale}px ${palette.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const width = (pen.typesetter.width(ctx, text) * 10.5 + 13) * scale;
  const height = 15 * scale;
  const x = box.x + box.width - width + 7 * scale;
  const y = box.y - height / 2;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, height / 2);
  ctx.fillStyle = palette.background;
  ctx.fill();
  ctx.strokeStyle = colours.border;
  ctx.lineWidth = 1.25;
  ctx.stroke();
  ctx.fillStyle = palette.text;
  ctx.fillText(text, x + width / 2, y + height / 2 + 0.5);
}

/** A pin in the upper left corner. */
function drawPin(pen: Pen, item: number): void {
  const { ctx, frame, palette } = pen;
  const scale = Math.min(Math.max(frame.camera.zoom, 0.5), 1.3);
  const box = screenBox(pen, item);
  const [x, y] = [box.x + 5 * scale, box.y - 1 * scale];
  ctx.strokeStyle = palette.text;
  ctx.lineWidth = 1.25 * scale;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x, y + 7 * scale);
  ctx.stroke();
  ctx.beginPath();
  ctx.arc(x, y, 3.5 * scale, 0, 2 * Math.PI);
  ctx.fillStyle = palette.selected;
  ctx.fill();
  ctx.strokeStyle = palette.background;
  ctx.stroke();
}
