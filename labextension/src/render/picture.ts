// The picture in layers, areas first, signs last; in steps, so that it can be made beside a gesture.
import { apart } from "./apart";
import { drawAreas, drawBoxes, FILL_ONLY } from "./boxes";
import { drawDoors } from "./doors";
import { drawEdges } from "./edges";
import { drawInscriptions } from "./inscriptions";
import { drawLabels } from "./labels";
import { drawBadges, drawOutlines, drawSigns } from "./marks";
import type { Pen } from "./pen";
import { drawPills } from "./pills";

/** All that does not depend on the pointer; between two steps it may wait. */
export function* paintPicture(pen: Pen): Generator<void> {
  const { ctx, palette, viewport } = pen;
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, viewport.width, viewport.height);
  yield* paintItems(pen);
}

/** The same on what is there already. */
function* paintItems(pen: Pen): Generator<void> {
  const { frame } = pen;
  yield* drawAreas(pen);
  yield* drawEdges(pen);
  yield* drawBoxes(pen);
  if (frame.camera.zoom > FILL_ONLY) {
    drawDoors(pen);
    drawPills(pen);
  }
  drawOutlines(pen);
  yield* drawInscriptions(pen);
  yield* drawLabels(pen);
  drawBadges(pen);
  drawSigns(pen);
}

/** The picture without pausing; what stands in its place already is above what glides there. */
export function paintAtOnce(pen: Pen): void {
  const { glides } = pen.frame;
  if (!glides) {
    for (const _ of paintPicture(pen));
    return;
  }
  const [below, above] = apart(pen, glides);
  for (const _ of paintPicture(below));
  for (const _ of paintItems(above));
}
