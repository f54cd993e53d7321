// Draws edges: polylines with rounded corners and arrow heads; the width shows the size and number
// of tensors.
import { at } from "../../protocol/scene";
import type { Point } from "../camera/camera";
import { HEADER } from "./far-labels";
import { chunksOf, groupBy, type Pen } from "./pen";

const CORNER = 10;
const ARROW = 6;
const BATCH = 150;
const WIDEST = 5;
/** Below this zoom corners are not rounded, which would not be visible. */
const ROUNDED = 0.25;

export interface Look {
  readonly color: string;
  readonly width: number;
  readonly dash: readonly number[];
  readonly alpha: number;
}

/** All edges in view, the palest first. */
export function* drawEdges(pen: Pen): Generator<void> {
  const { frame } = pen;
  if (frame.edgeAlpha === 0) return;
  const looks = new Map<string, Look>();
  const keyed = (edge: number) => {
    const look = lookOf(pen, edge);
    const key = `${look.alpha}${look.color}${look.width}${look.dash.length}`;
    if (!looks.has(key)) looks.set(key, look);
    return looks.get(key) as Look;
  };
  const shown = pen.edges.filter((edge) => frame.controls || at(frame.scene.tensors, edge) > 0);
  const groups = [...groupBy(shown, keyed)].sort(([a], [b]) => a.alpha - b.alpha);
  for (const [look, edges] of groups)
    for (const piece of chunksOf(edges, BATCH)) {
      drawLines(pen, piece, look);
      yield;
    }
}

/** Pixels at zoom 1: a byte more or less does not matter, ten times as many do. */
export function widthOf(bytes: number, tensors: number): number {
  const size = bytes > 0 ? Math.min(Math.max(Math.log10(bytes) - 3, 0), 6) * 0.55 : 0;
  const number = tensors > 1 ? Math.min(Math.log2(tensors) * 0.35, 1.4) : 0;
  return Math.min(Math.round((1.2 + size + number) * 2) / 2, WIDEST);
}

export function lookOf({ frame, palette }: Pen, edge: number): Look {
  const { scene, paint, camera } = frame;
  const tensors = at(scene.tensors, edge);
  const back = at(scene.back, edge) === 1;
  const inside = at(paint.selectedLine, edge) === 1;
  const scale = Math.min(camera.zoom, 1.5);
  const width = tensors > 0 ? widthOf(at(scene.bytes, edge), tensors) : 1;
  const distant = Math.min(1, 0.6 + 1.5 * camera.zoom);
  const calm =
    (hasNoEffect(frame, edge) ? 0.35 : paint.selecting && !inside ? 0.45 : 0.85) * distant;
  const plain = tensors > 0 ? palette.edge : palette.controlEdge;
  return {
    color: inside ? palette.selected : back ? palette.back : plain,
    width: Math.max(0.8, (back ? Math.max(width, 2) : width) * scale),
    dash: tensors > 0 ? [] : [4 * scale, 3 * scale],
    alpha: back ? 1 : tensors > 0 ? calm : calm * 0.8,
  };
}

/** Whether an edge begins or ends at an op that edits have left unused. */
function hasNoEffect({ scene, paint }: Pen["frame"], edge: number): boolean {
  return at(paint.unused, at(scene.source, edge)) + at(paint.unused, at(scene.target, edge)) > 0;
}

/** Lines of one look, and their heads. */
export function drawLines(pen: Pen, edges: readonly number[], look: Look): void {
  const { ctx, frame } = pen;
  ctx.globalAlpha = look.alpha * frame.edgeAlpha;
  ctx.strokeStyle = look.color;
  ctx.lineWidth = look.width;
  ctx.lineCap = "butt";
  ctx.lineJoin = "round";
  // Dashes shorter than a few pixels are slow and look like a paler line.
  ctx.setLineDash(frame.camera.zoom < ROUNDED ? [] : (look.dash as number[]));
  ctx.beginPath();
  for (const edge of edges) addRoute(pen, edge);
  ctx.stroke();
  ctx.setLineDash([]);
  if (frame.camera.zoom > 0.2) {
    ctx.fillStyle = look.color;
    ctx.beginPath();
    for (const edge of edges) addArrow(pen, edge, look.width);
    ctx.fill();
  }
  ctx.globalAlpha = 1;
}

function pointOf({ frame }: Pen, point: number): Point {
  const { scene, camera } = frame;
  return {
    x: (at(scene.route, 2 * point) - camera.x) * camera.zoom,
    y: (at(scene.route, 2 * point + 1) - camera.y) * camera.zoom,
  };
}

function addRoute(pen: Pen, edge: number): void {
  const { ctx, frame } = pen;
  const first = at(frame.scene.routeStart, edge);
  const last = at(frame.scene.routeStart, edge + 1) - 1;
  if (last <= first) return;
  let before = pointOf(pen, first);
  let here = pointOf(pen, first + 1);
  ctx.moveTo(before.x, startOf(pen, edge, before.y));
  const corner = frame.camera.zoom < ROUNDED ? 0 : CORNER * frame.camera.zoom;
  for (let point = first + 2; point <= last; point++) {
    const after = pointOf(pen, point);
    const radius =
      corner && Math.min(corner, distance(before, here) / 2, distance(here, after) / 2);
    if (radius < 1) ctx.lineTo(here.x, here.y);
    else ctx.arcTo(here.x, here.y, after.x, after.y, radius);
    before = here;
    here = after;
  }
  ctx.lineTo(here.x, here.y);
}

/**
 * A line from a scope's border into it starts below the header; drawn from the border on, it is one
 * with its outside.
 */
function startOf({ frame }: Pen, edge: number, y: number): number {
  const { scene, boxes, camera } = frame;
  const source = at(scene.source, edge);
  if (source === 0 || at(scene.parent, at(scene.target, edge)) !== source) return y;
  const top = (at(boxes, 4 * source + 1) - camera.y) * camera.zoom;
  return y - top <= (HEADER + 2) * camera.zoom ? Math.min(top, y) : y;
}

/**
 * A triangle at the end. A line that only reaches its own scope's border goes on outside, so it has
 * none.
 */
function addArrow(pen: Pen, edge: number, width: number): void {
  const { ctx, frame } = pen;
  const { scene, camera } = frame;
  const last = at(scene.routeStart, edge + 1) - 1;
  const source = at(scene.source, edge);
  if (last <= at(scene.routeStart, edge) || at(scene.parent, source) === at(scene.target, edge))
    return;
  const tip = pointOf(pen, last);
  const tail = pointOf(pen, last - 1);
  const length = distance(tip, tail) || 1;
  const along = { x: (tip.x - tail.x) / length, y: (tip.y - tail.y) / length };
  const size = Math.max(ARROW * camera.zoom, 1.2 * width);
  const half = Math.max(size * 0.55, 0.9 * width);
  const base = { x: tip.x - along.x * size, y: tip.y - along.y * size };
  ctx.moveTo(tip.x, tip.y);
  ctx.lineTo(base.x - along.y * half, base.y + along.x * half);
  ctx.lineTo(base.x + along.y * half, base.y - along.x * half);
  ctx.closePath();
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
