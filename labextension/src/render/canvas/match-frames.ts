// The matches of a pattern in the drawing: a frame with its number around the ops of each. On a
// closed scope stands how many matches, or ops found, it holds.
import { at, type Box, boxOf, CLOSED, OPEN, type Scene, visibleItem } from "../../protocol/scene";
import type { Point } from "../camera/camera";
import { LEGIBLE } from "./far-labels";
import type { MatchFrame, MatchFrames } from "./frame";
import { addBox, expandBox, type Pen } from "./pen";

export const NO_MATCHES: MatchFrames = { frames: [], inside: new Map() };

/** A common frame has at most so many times the area of the boxes in it. */
const SPARSE = 8;
/** Around the boxes, in the scene. */
const GAP = 7;
const LETTERS = 11;
/** A frame of fewer pixels than this has no number. */
const LEAST = 14;

/** Where the matches are in a scene; `ops` are the names of the ops of each. */
export function matchFrames(scene: Scene, ops: readonly (readonly string[])[]): MatchFrames {
  if (ops.length === 0) return NO_MATCHES;
  const frames: MatchFrame[] = [];
  const inside = new Map<number, number>();
  for (const [k, names] of ops.entries()) {
    const all = new Set(names.map((name) => visibleItem(scene, name)));
    const items = [...all].filter((item) => item > 0 && at(scene.kind, item) !== OPEN);
    const drawn = items.filter((item) => at(scene.kind, item) !== CLOSED);
    for (const item of items)
      if (at(scene.kind, item) === CLOSED) inside.set(item, (inside.get(item) ?? 0) + 1);
    if (drawn.length > 0)
      frames.push({ number: k + 1, boxes: around(drawn.map((item) => boxOf(scene.box, item))) });
  }
  return { frames, inside };
}

function around(boxes: readonly Box[]): Box[] {
  const left = Math.min(...boxes.map(({ x }) => x));
  const top = Math.min(...boxes.map(({ y }) => y));
  const right = Math.max(...boxes.map(({ x, width }) => x + width));
  const bottom = Math.max(...boxes.map(({ y, height }) => y + height));
  const filled = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
  const whole = { x: left, y: top, width: right - left, height: bottom - top };
  const isSparse = whole.width * whole.height > SPARSE * filled;
  return (isSparse ? boxes : [whole]).map((box) => expandBox(box, GAP));
}

/** Draw the frames in view; `current` is the number of the match that is stepped to. */
export function drawMatches(pen: Pen, current: number): void {
  const { frame } = pen;
  if (frame.boxes !== frame.scene.box) return;
  for (const one of frame.matches.frames) drawFrame(pen, one, one.number === current);
}

/** Draw the numbers of the frames, and the counts on closed scopes, above all lines. */
export function drawMatchTags(pen: Pen, current: number): void {
  const { frame } = pen;
  const { frames, inside } = frame.matches;
  if (frame.boxes !== frame.scene.box) return;
  const tag = (item: number, text: string) => {
    const place = onScreen(pen, boxOf(frame.scene.box, item));
    if (place && place.height >= LEAST / 2) drawTag(pen, text, place, false);
  };
  for (const { number, boxes } of frames) {
    const place = boxes[0] && onScreen(pen, boxes[0]);
    if (place && Math.min(place.width, place.height) >= LEAST)
      drawTag(pen, String(number), place, number === current);
  }
  for (const [item, count] of inside)
    tag(item, count === 1 ? "1 match" : `${count.toLocaleString("en")} matches`);
  for (const [item, count] of frame.hitCounts) tag(item, `${count.toLocaleString("en")} found`);
}

function drawFrame(pen: Pen, { boxes }: MatchFrame, isCurrent: boolean): void {
  const { ctx, palette, frame } = pen;
  ctx.strokeStyle = palette.found;
  ctx.lineWidth = isCurrent ? 3 : 1.75;
  const places = boxes.map((box) => onScreen(pen, box));
  ctx.beginPath();
  for (const place of places) if (place) addBox(pen, place, Math.min(8, 6 * frame.camera.zoom + 2));
  ctx.stroke();
}

/** A box in CSS pixels; null if it is out of view. */
function onScreen({ frame: { camera }, viewport }: Pen, box: Box): Box | null {
  const x = (box.x - camera.x) * camera.zoom;
  const y = (box.y - camera.y) * camera.zoom;
  const [width, height] = [box.width * camera.zoom, box.height * camera.zoom];
  return x > viewport.width || y > viewport.height || x + width < 0 || y + height < 0
    ? null
    : { x, y, width, height };
}

/** A text on the upper left corner of a frame. */
function drawTag(pen: Pen, text: string, place: Point, isFilled: boolean): void {
  const { ctx, palette, frame } = pen;
  const scale = Math.min(Math.max(frame.camera.zoom, LEGIBLE / LETTERS), 1.2);
  ctx.font = `600 ${LETTERS * scale}px ${palette.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  // bold is wider than what the typesetter knows
  const width = ctx.measureText(text).width + 9 * scale;
  const height = 15 * scale;
  const [x, y] = [place.x - 4 * scale, place.y - height / 2];
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, height / 2);
  ctx.fillStyle = isFilled ? palette.found : palette.background;
  ctx.fill();
  ctx.strokeStyle = palette.found;
  ctx.lineWidth = 1.25;
  ctx.stroke();
  ctx.fillStyle = isFilled ? palette.background : palette.found;
  ctx.fillText(text, x + width / 2, y + height / 2 + 0.5);
}
