// Draws the layer that changes with the pointer: the hovered and the inspected item, their edges
// and neighbors, search hits, and the headers of scopes that the left border cuts.
import { at, OPEN } from "../../protocol/scene";
import { areaColors, outline } from "./boxes";
import { drawEdgeLabels } from "./edge-labels";
import { drawLines, lookOf } from "./edges";
import { HEADER, LEGIBLE, NOMINAL } from "./far-labels";
import { drawHeader } from "./labels";
import { drawBoundaryMarks, drawCountsAndPins } from "./marks";
import { drawMatches, drawMatchTags } from "./match-frames";
import { type Pen, screenBox } from "./pen";
import { routesOf, tensorRoute } from "./tensor-route";

export function drawHoverLayer(pen: Pen): void {
  const { frame, palette } = pen;
  drawStickyHeaders(pen);
  const pointed = [frame.picked, frame.hover];
  const outlined = new Set([...drawHits(pen), ...frame.alike, ...frame.edited, ...pointed]);
  drawMatches(pen, frame.match);
  for (const item of frame.alike) outline(pen, item, palette.found, 1.5, 2);
  for (const item of frame.edited) if (item > 0) outline(pen, item, palette.fresh, 3, 3.5);
  const still = frame.boxes === frame.scene.box;
  const neighbors = still ? [...new Set(pointed)].flatMap((item) => drawNeighbors(pen, item)) : [];
  for (const item of neighbors) outlined.add(item);
  if (still && frame.hoverEdge >= 0) drawTensor(pen, frame.hoverEdge);
  if (frame.barred.has(frame.hover)) outline(pen, frame.hover, palette.warned, 1.5, 1);
  else if (frame.hover > 0 && frame.hover !== frame.picked)
    outline(pen, frame.hover, palette.edge, 1.5, 1);
  if (frame.picked > 0) outline(pen, frame.picked, palette.text, 1.75, 1.5);
  // No frame runs through a number.
  drawCountsAndPins({ ...pen, items: [...outlined].filter((item) => item > 0) });
  drawBoundaryMarks({ ...pen, items: pointed.filter((item) => item > 0) });
  drawMatchTags(pen, frame.match);
}

/**
 * A ring around each hit in view, which are returned; it has a gap, so that no other outline looks
 * like it.
 */
function drawHits(pen: Pen): number[] {
  const { frame, sceneIndex, viewport } = pen;
  if (frame.hits.size === 0 || frame.boxes !== frame.scene.box) return [];
  const { x, y, zoom } = frame.camera;
  const view = { x, y, width: viewport.width / zoom, height: viewport.height / zoom };
  const isMatch = frame.matches.frames.length + frame.matches.inside.size > 0;
  const found = sceneIndex.itemsIn(view).filter((item) => item > 0 && frame.hits.has(item));
  for (const item of found) outline(pen, item, pen.palette.found, 2, isMatch ? 1 : 4);
  return found;
}

/**
 * Lines that come to an item are dashed in one color, those that leave it solid in another; so are
 * their other ends, which are returned.
 */
function drawNeighbors(pen: Pen, item: number): number[] {
  const { frame, palette } = pen;
  const { scene } = frame;
  if (item <= 0) return [];
  const routes = routesOf(scene, item, (edge) => frame.controls || at(scene.tensors, edge) > 0);
  const scale = Math.min(Math.max(frame.camera.zoom, 0.5), 1.2);
  const dash = [9 * scale, 3 * scale];
  return [
    ...drawSide(pen, routes.arriving, routes.producers, palette.upstream, dash),
    ...drawSide(pen, routes.leaving, routes.consumers, palette.downstream, []),
  ];
}

/** What the edge under the pointer carries, from its producer to all consumers beyond it. */
function drawTensor(pen: Pen, edge: number): void {
  const { frame, palette } = pen;
  const { edges, producers, consumers } = tensorRoute(frame.scene, edge);
  drawBold(pen, edges, palette.downstream, []);
  for (const _ of drawEdgeLabels({ ...pen, edges }));
  for (const item of producers) if (item > 0) outline(pen, item, palette.upstream, 1.75, 1.5);
  for (const item of consumers) if (item > 0) outline(pen, item, palette.downstream, 1.75, 1.5);
}

function drawSide(
  pen: Pen,
  lines: readonly number[],
  ends: readonly number[],
  color: string,
  dash: readonly number[],
): number[] {
  const { ctx } = pen;
  drawBold(pen, lines, color, dash);
  // Draw the edge labels again, above the edges.
  for (const _ of drawEdgeLabels({ ...pen, edges: lines }));
  ctx.setLineDash(dash as number[]);
  const items = ends.filter((other) => other > 0);
  for (const other of items) outline(pen, other, color, 1.75, 1.5);
  ctx.setLineDash([]);
  drawBoundaryMarks({ ...pen, items }); // again, or the lines would lie over them
  return items;
}

/** Lines in one color, a little wider; one of control inputs only stays dashed. */
function drawBold(
  pen: Pen,
  lines: readonly number[],
  color: string,
  dash: readonly number[],
): void {
  for (const edge of lines) {
    const look = lookOf(pen, edge);
    const dashes = dash.length > 0 ? dash : look.dash;
    drawLines(pen, [edge], { color, dash: dashes, alpha: 1, width: look.width + 1 });
  }
}

/** An open scope's name stays in view while any of the scope does. */
function drawStickyHeaders(pen: Pen): void {
  const { frame, sceneIndex, ctx, typesetter, viewport } = pen;
  const { scene, camera, boxes } = frame;
  if (NOMINAL * camera.zoom < LEGIBLE || boxes !== scene.box) return;
  const border = { x: camera.x, y: camera.y, width: 0, height: viewport.height / camera.zoom };
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.textRendering = "geometricPrecision";
  for (const item of sceneIndex.itemsIn(border)) {
    if (item === 0 || at(scene.kind, item) !== OPEN) continue;
    const box = screenBox(pen, item);
    if (box.x > -2 || box.x + box.width < 60) continue;
    ctx.fillStyle = areaColors(pen, item).fill;
    ctx.fillRect(0, box.y + 2, Math.min(box.x + box.width - 8, 400), HEADER * camera.zoom - 6);
    ctx.font = `600 ${NOMINAL * camera.zoom}px ${typesetter.font}`;
    drawHeader(pen, item, true);
  }
}
