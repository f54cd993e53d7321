// Draws the picture in layers, areas first, signs last; in steps, so that a gesture can interrupt
// it.
import { at } from "../../protocol/scene";
import { inView } from "../camera/camera";
import { drawAreas, drawBoxes, FILL_ONLY } from "./boxes";
import { drawEdgeLabels } from "./edge-labels";
import { drawEdges } from "./edges";
import { drawLabels } from "./labels";
import {
  drawBoundaryMarks,
  drawCountsAndPins,
  drawEffectSigns,
  drawFunctionMarks,
  drawOutlines,
  drawSigns,
} from "./marks";
import { expandBox, type Pen } from "./pen";

/** All that does not depend on the pointer; between two steps it may wait. */
export function* paintPicture(pen: Pen): Generator<void> {
  const { ctx, palette, viewport } = pen;
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, viewport.width, viewport.height);
  yield* paintItems(pen);
}

/** The items only, without the background. */
function* paintItems(pen: Pen): Generator<void> {
  const { frame } = pen;
  yield* drawAreas(pen);
  yield* drawEdges(pen);
  yield* drawBoxes(pen);
  drawOutlines(pen); // no outline runs through a number
  if (frame.camera.zoom > FILL_ONLY) {
    drawFunctionMarks(pen);
    drawCountsAndPins(pen);
  }
  yield* drawEdgeLabels(pen);
  yield* drawLabels(pen);
  drawBoundaryMarks(pen);
  drawSigns(pen);
  drawEffectSigns(pen);
}

/** The picture without pauses; items in their final place are drawn above moving ones. */
export function paintAtOnce(pen: Pen): void {
  const { glides } = pen.frame;
  if (!glides) {
    for (const _ of paintPicture(pen));
    return;
  }
  const [below, above] = splitGliding(pen, glides);
  for (const _ of paintPicture(below));
  for (const _ of paintItems(above));
}

// While boxes move: a pen for those, and one for the items in their final place, which are drawn
// above them.

function splitGliding(pen: Pen, glides: Uint8Array): [Pen, Pen] {
  const { frame, sceneIndex, viewport } = pen;
  const { scene, camera } = frame;
  const glide = (item: number) => at(glides, item) === 1;
  const moves = (edge: number) => glide(at(scene.source, edge)) || glide(at(scene.target, edge));
  const still = { ...frame, boxes: scene.box, edgeAlpha: 1, glides: null };
  const area = expandBox(inView(camera, viewport), 24 / Math.min(camera.zoom, 1));
  return [
    { ...pen, items: pen.items.filter(glide), edges: pen.edges.filter(moves) },
    {
      ...pen,
      frame: still,
      items: sceneIndex.itemsIn(area, 0.5 / camera.zoom).filter((item) => !glide(item)),
      edges: pen.edges.filter((edge) => !moves(edge)),
    },
  ];
}
