// Draws marks on boxes: boundaries, differences, probes, counts, pins, called functions; outlines
// of new ops.
import {
  at,
  BADGE,
  type Box,
  boxOf,
  CLOSED,
  INPUT_MARK,
  OPEN,
  OUTPUT_MARK,
  type Scene,
  SOURCE_MARK,
} from "../../protocol/scene";
import { boxColors, outline, radiusOf } from "./boxes";
import { LEGIBLE } from "./far-labels";
import type { Frame } from "./frame";
import type { BoxColors } from "./palette";
import { addBox, expandBox, type Pen, screenBox } from "./pen";

/** Letters on marks at a scale of 1; they are legible at any zoom. */
const LETTERS = 10.5;
const LEAST_SCALE = LEGIBLE / LETTERS;
/** How much wider bold letters are. */
const BOLD = 1.08;
/** How far outside of a box, and of a badge, the middle of its sign is: names begin at the border. */
const OUTSIDE = 5;
const OUTSIDE_BADGE = 7;
/** At a smaller zoom, signs would hide the boxes. */
const LEAST_SIGN = 0.3;

/**
 * Where a part is cut: above an op that reads an input, or below its source; below an output.
 * `border` 0 is the upper one.
 */
const BOUNDARY_MARKS = [
  { bit: INPUT_MARK, text: "in", down: 1, border: 0, color: "inputMark" },
  { bit: SOURCE_MARK, text: "in", down: 1, border: 1, color: "inputMark" },
  { bit: OUTPUT_MARK, text: "out", down: -1, border: 1, color: "outputMark" },
] as const;
/**
 * From the border of a box to the middle of such a mark: outside, since a colored box is full of
 * its two lines.
 */
const BOUNDARY_OUTSIDE = 7;
const BOUNDARY_HEIGHT = 16;

/**
 * The signs by what they say, of each the codes from 1 on: differences on the left border (`side`
 * 0), probes on the right.
 */
const SIGNS = [
  {
    field: "differs",
    side: 0,
    letters: "+~−→",
    colors: ["added", "changed", "removed", "renamed"],
  },
  { field: "probed", side: 1, letters: "✓!", colors: ["inputMark", "warned"] },
] as const;
const SIGN_RADIUS = 7;

/** Marks grow with the boxes, but stay legible when those are not. */
function markScale({ camera: { zoom } }: Frame): number {
  return Math.min(Math.max(zoom, LEAST_SCALE), 1.4);
}

export function drawOutlines(pen: Pen): void {
  const { frame, palette } = pen;
  for (const item of pen.items) {
    if (at(frame.paint.fresh, item) > 0 && item > 0) drawGlow(pen, item, palette.fresh);
    if (frame.warned.has(item) && item > 0) outline(pen, item, palette.warned, 2.5, 4);
  }
}

/** Strokes that fade outwards; the canvas's own shadows are too slow in software. */
function drawGlow(pen: Pen, item: number, color: string): void {
  const { ctx } = pen;
  for (const [gap, alpha] of [
    [4, 0.15],
    [2.5, 0.3],
    [1, 0.8],
  ] as const) {
    ctx.globalAlpha = alpha;
    outline(pen, item, color, 1.75, gap);
  }
  ctx.globalAlpha = 1;
}

/** "▼ in" or "▲ out". */
export function drawBoundaryMarks(pen: Pen): void {
  const { frame } = pen;
  for (const item of pen.items) {
    const bits = at(frame.paint.mark, item);
    if (bits === 0 || at(frame.scene.kind, item) === OPEN) continue;
    for (const mark of BOUNDARY_MARKS) if (bits & mark.bit) drawBoundaryMark(pen, item, mark);
  }
}

function drawBoundaryMark(
  pen: Pen,
  item: number,
  { text, down, border, color }: (typeof BOUNDARY_MARKS)[number],
): void {
  const { ctx, palette, frame } = pen;
  const scale = markScale(frame);
  const box = screenBox(pen, item);
  ctx.font = `600 ${LETTERS * scale}px ${palette.font}`;
  const width = ctx.measureText(text).width + 24 * scale;
  const height = BOUNDARY_HEIGHT * scale;
  const middle = box.y + border * box.height + (2 * border - 1) * BOUNDARY_OUTSIDE * scale;
  const x = box.x + Math.min(8 * scale, box.width / 2);
  const y = middle - height / 2;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, height / 2);
  ctx.fillStyle = palette[color];
  ctx.fill();
  ctx.strokeStyle = palette.background;
  ctx.lineWidth = 1.5;
  ctx.stroke();
  ctx.fillStyle = palette.onMark;
  addTriangle(ctx, x + 10 * scale, middle, 3.5 * scale, down);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(text, x + 16 * scale, middle + 0.5);
}

export function drawSigns(pen: Pen): void {
  const { scene, paint, camera } = pen.frame;
  if (camera.zoom < LEAST_SIGN) return;
  for (const item of pen.items) {
    if (item === 0 || at(scene.kind, item) === OPEN) continue;
    for (const signs of SIGNS) {
      const code = at(paint[signs.field], item);
      if (code === 0 || (signs.field === "differs" && isToldByReader(pen.frame, item))) continue;
      drawSign(pen, item, signs, code);
    }
  }
}

/** Whether an item is a badge that differs as the op does that reads it: one sign is enough. */
function isToldByReader({ scene, paint }: Frame, item: number): boolean {
  const reader = at(scene.parent, item);
  return at(scene.kind, item) === BADGE && at(paint.differs, item) === at(paint.differs, reader);
}

/** Half the width of a warning sign at a scale of 1, and of its rim beside it. */
const [WARNING, RIM] = [8.5, 3];
/** How far to the left of a box its middle is, where no letters are. */
const WARNING_OUTSIDE = 7;

/**
 * A warning sign on the lower left corner of what does more than compute, in a file that is not
 * trusted.
 */
export function drawEffectSigns(pen: Pen): void {
  const { ctx, frame, palette } = pen;
  if (frame.camera.zoom < LEAST_SIGN) return;
  for (const item of pen.items) {
    if (item === 0 || at(frame.scene.kind, item) === OPEN || at(frame.paint.effects, item) === 0)
      continue;
    const scale = markScale(frame);
    const box = screenBox(pen, item);
    const [x, y] = [box.x - WARNING_OUTSIDE * scale, box.y + box.height];
    for (const [half, color] of [
      [WARNING + RIM, palette.background],
      [WARNING, palette.outputMark],
    ] as const) {
      ctx.beginPath();
      ctx.fillStyle = color;
      addTriangle(ctx, x, y, half * scale, -1);
    }
    ctx.font = `700 ${LETTERS * scale}px ${palette.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillStyle = palette.onMark;
    ctx.fillText("!", x, y + 1.5 * scale);
  }
}

/** How far to the right of its border the sign of a box is. */
function outsideOf({ kind }: Scene, item: number, side: number): number {
  if (at(kind, item) === BADGE) return side === 0 ? -OUTSIDE_BADGE : 0;
  return (2 * side - 1) * OUTSIDE;
}

/** A letter in a circle. */
function drawSign(
  pen: Pen,
  item: number,
  { side, letters, colors }: (typeof SIGNS)[number],
  code: number,
): void {
  const { ctx, palette, frame } = pen;
  const color = colors[code - 1];
  if (!color) return;
  const scale = markScale(frame);
  const box = screenBox(pen, item);
  const x = box.x + side * box.width + outsideOf(frame.scene, item, side) * scale;
  const y = box.y + box.height / 2;
  ctx.beginPath();
  ctx.arc(x, y, SIGN_RADIUS * scale, 0, 2 * Math.PI);
  ctx.fillStyle = palette[color];
  ctx.fill();
  ctx.strokeStyle = palette.background;
  ctx.lineWidth = 1.5;
  ctx.stroke();
  ctx.font = `700 ${LETTERS * scale}px ${palette.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillStyle = palette.onMark;
  ctx.fillText(letters.charAt(code - 1), x, y + 0.5);
}

function addTriangle(
  ctx: CanvasRenderingContext2D,
  x: number,
  y: number,
  half: number,
  down: 1 | -1,
): void {
  ctx.beginPath();
  ctx.moveTo(x - half, y - 0.8 * half * down);
  ctx.lineTo(x + half, y - 0.8 * half * down);
  ctx.lineTo(x, y + 0.9 * half * down);
  ctx.closePath();
  ctx.fill();
}

// Ops that call a function have a second frame, and an arrow on their upper right corner;
// closed scopes that hold such ops have a small, quiet arrow.

const GAP = 3;
const SIZE = 15;

export function drawFunctionMarks(pen: Pen): void {
  const { frame, ctx } = pen;
  const zoom = frame.camera.zoom;
  if (zoom < 0.2) return;
  for (const item of pen.items) {
    const calls = at(frame.scene.calls, item);
    if (calls === 0) continue;
    const { border, text, fill, faint } = boxColors(pen, item);
    if (calls === 2) {
      if (zoom >= 0.35 && at(frame.scene.kind, item) === CLOSED)
        drawArrow(pen, item, { fill, border, text: faint }, 0.72);
      continue;
    }
    ctx.beginPath();
    addBox(
      pen,
      expandBox(screenBox(pen, item), -GAP * zoom - 0.5),
      Math.max(radiusOf(pen, item) - 1, 0),
    );
    ctx.strokeStyle = border;
    ctx.lineWidth = 1;
    ctx.stroke();
    if (zoom >= 0.35) drawArrow(pen, item, { fill, border, text });
  }
}

function drawArrow(pen: Pen, item: number, colors: Omit<BoxColors, "faint">, size = 1): void {
  const { ctx, frame } = pen;
  const scale = Math.min(frame.camera.zoom, 1.4) * size;
  const box = screenBox(pen, item);
  const half = (SIZE / 2) * scale;
  const x = box.x + box.width - 2 * scale;
  // The upper corner of a closed scope may have a number.
  const y = size === 1 ? box.y + 1 * scale : box.y + box.height - 2 * scale;
  ctx.beginPath();
  ctx.arc(x, y, half, 0, 2 * Math.PI);
  ctx.fillStyle = colors.fill;
  ctx.fill();
  ctx.strokeStyle = colors.border;
  ctx.lineWidth = 1;
  ctx.stroke();
  addArrow(ctx, x, y, 3 * scale);
  ctx.strokeStyle = colors.text;
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

// Small signs on boxes: the number of siblings in a group, a pin on boxes that the user moved.

const LEAST_ZOOM = 0.25;
/** The height of a number, and how much of it is above its box, so that it covers no name. */
const COUNT_HEIGHT = 15;
const COUNT_ABOVE = 11;

export function drawCountsAndPins(pen: Pen): void {
  const { frame } = pen;
  if (frame.camera.zoom < LEAST_ZOOM) return;
  for (const item of pen.items) {
    if (item === 0) continue;
    if (at(frame.scene.members, item) > 1 && at(frame.scene.kind, item) === CLOSED)
      drawNumber(pen, item);
    if (at(frame.scene.pinned, item) === 1) drawPin(pen, item);
  }
}

/** The places of the marks on a box that reach beyond it, in world coordinates. */
export function markBoxes(
  { scene, paint }: Frame,
  item: number,
  width: (text: string) => number,
): Box[] {
  const kind = at(scene.kind, item);
  if (item === 0 || kind === OPEN) return [];
  const { x, y, width: wide, height: high } = boxOf(scene.box, item);
  const boundaries = BOUNDARY_MARKS.filter(({ bit }) => at(paint.mark, item) & bit).map(
    ({ text, border }) => ({
      x: x + Math.min(8, wide / 2),
      y: y + border * high + (2 * border - 1) * BOUNDARY_OUTSIDE - BOUNDARY_HEIGHT / 2,
      width: width(text) * LETTERS * BOLD + 24,
      height: BOUNDARY_HEIGHT,
    }),
  );
  const signs = SIGNS.filter(({ field }) => at(paint[field], item) > 0).map(({ side }) => ({
    x: x + side * wide + outsideOf(scene, item, side) - SIGN_RADIUS,
    y: y + high / 2 - SIGN_RADIUS,
    width: 2 * SIGN_RADIUS,
    height: 2 * SIGN_RADIUS,
  }));
  const warning = {
    x: x - WARNING_OUTSIDE - WARNING,
    y: y + high - 0.9 * WARNING,
    width: 2 * WARNING,
    height: 1.7 * WARNING,
  };
  return [...boundaries, ...signs, ...(at(paint.effects, item) > 0 ? [warning] : [])];
}

/**
 * The place of "×8" in world coordinates; null without a number. `width` is that of a text at a
 * size of 1.
 */
export function countBox(scene: Scene, item: number, width: (text: string) => number): Box | null {
  const members = at(scene.members, item);
  if (members < 2 || at(scene.kind, item) !== CLOSED) return null;
  const [x, y, wide] = [0, 1, 2].map((i) => at(scene.box, 4 * item + i)) as [
    number,
    number,
    number,
  ];
  const across = width(`×${members}`) * LETTERS + 13;
  return { x: x + wide - across + 7, y: y - COUNT_ABOVE, width: across, height: COUNT_HEIGHT };
}

/** "×8" on the upper right corner. */
function drawNumber(pen: Pen, item: number): void {
  const { ctx, frame, palette } = pen;
  const scale = Math.min(Math.max(frame.camera.zoom, LEAST_SCALE), 1.3);
  const box = screenBox(pen, item);
  const text = `×${at(frame.scene.members, item)}`;
  const colors = boxColors(pen, item);
  ctx.font = `600 ${LETTERS * scale}px ${palette.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const width = (pen.typesetter.width(ctx, text) * LETTERS + 13) * scale;
  const height = COUNT_HEIGHT * scale;
  const x = box.x + box.width - width + 7 * scale;
  const y = box.y - COUNT_ABOVE * scale;
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, height / 2);
  ctx.fillStyle = palette.background;
  ctx.fill();
  ctx.strokeStyle = colors.border;
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
