// Edges: polylines with rounded corners and arrow heads; their width says how many tensors they stand for.
import { at } from "../scene";
import type { Point } from "./camera";
import { HEADER } from "./labels";
import type { Pen } from "./pen";

const CORNER = 10;
const ARROW = 6;
const BATCH = 150;

interface Look {
  readonly colour: string;
  readonly width: number;
  readonly dash: readonly number[];
  readonly alpha: number;
}

/** All edges in view, then those of the hovered and the picked item above them. */
export function drawEdges(pen: Pen): void {
  if (pen.frame.edgeAlpha === 0) return;
  const groups = new Map<string, { look: Look; edges: number[] }>();
  for (const edge of pen.edges) {
    const look = lookOf(pen, edge);
    const key = `${look.alpha}${look.colour}${look.width}${look.dash.length}`;
    const group = groups.get(key);
    if (group) group.edges.push(edge);
    else groups.set(key, { look, edges: [edge] });
  }
  const inOrder = [...groups.values()].sort((a, b) => a.look.alpha - b.look.alpha);
  for (const { look, edges } of inOrder) {
    for (let start = 0; start < edges.length; start += BATCH)
      drawBatch(pen, edges.slice(start, start + BATCH), look);
  }
}

function lookOf({ frame, palette }: Pen, edge: number): Look {
  const { scene, paint, hover, picked, camera } = frame;
  const source = at(scene.source, edge);
  const target = at(scene.target, edge);
  const tensors = at(scene.tensors, edge);
  const touched = isEnd(hover, source, target) || isEnd(picked, source, target);
  const chosen = (item: number) =>
    at(paint.coverage, item) > 0 || (paint.selecting && at(paint.mark, item) > 0);
  const inside = chosen(source) && chosen(target);
  const weight = tensors > 0 ? Math.min(Math.round(Math.log2(tensors) * 2) / 2, 4) : 0;
  const width = Math.max(0.6, (1.2 + 0.55 * weight + (touched ? 0.8 : 0)) * Math.min(camera.zoom, 1.5));
  const distant = Math.min(1, 0.3 + 2 * camera.zoom);
  const calm = (paint.selecting && !inside ? 0.45 : 0.85) * distant;
  return {
    colour: touched || inside ? palette.selected : tensors > 0 ? palette.edge : palette.controlEdge,
    width,
    dash: tensors > 0 ? [] : [4 * camera.zoom, 3 * camera.zoom],
    alpha: touched ? 1 : tensors > 0 ? calm : calm * 0.8,
  };
}

function isEnd(item: number, source: number, target: number): boolean {
  return item > 0 && (item === source || item === target);
}

function drawBatch(pen: Pen, edges: readonly number[], look: Look): void {
  const { ctx, frame } = pen;
  ctx.globalAlpha = look.alpha * frame.edgeAlpha;
  ctx.strokeStyle = look.colour;
  ctx.lineWidth = look.width;
  ctx.lineCap = "butt";
  ctx.lineJoin = "round";
  ctx.setLineDash(look.dash as number[]);
  ctx.beginPath();
  for (const edge of edges) addRoute(pen, edge);
  ctx.stroke();
  ctx.setLineDash([]);
  if (frame.camera.zoom > 0.2) {
    ctx.fillStyle = look.colour;
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
  for (let point = first + 2; point <= last; point++) {
    const after = pointOf(pen, point);
    const radius = Math.min(
      CORNER * frame.camera.zoom,
      distance(before, here) / 2,
      distance(here, after) / 2,
    );
    if (radius < 1) ctx.lineTo(here.x, here.y);
    else ctx.arcTo(here.x, here.y, after.x, after.y, radius);
    before = here;
    here = after;
  }
  ctx.lineTo(here.x, here.y);
}

/** A line from a scope's border into it starts below the header; drawn from the border on, it is one with its outside. */
function startOf({ frame }: Pen, edge: number, y: number): number {
  const { scene, boxes, camera } = frame;
  const source = at(scene.source, edge);
  if (source === 0 || at(scene.parent, at(scene.target, edge)) !== source) return y;
  const top = (at(boxes, 4 * source + 1) - camera.y) * camera.zoom;
  return y - top <= (HEADER + 2) * camera.zoom ? Math.min(top, y) : y;
}

/** A triangle at the end. A line that only reaches its own scope's border goes on outside, so it has none. */
function addArrow(pen: Pen, edge: number, width: number): void {
  const { ctx, frame } = pen;
  const { scene, camera } = frame;
  const last = at(scene.routeStart, edge + 1) - 1;
  const source = at(scene.source, edge);
  if (last <= at(scene.routeStart, edge) || at(scene.parent, source) === at(scene.target, edge)) return;
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
