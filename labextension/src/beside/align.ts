// The camera of one pane from that of the other: what is in the middle of one is at the same place
// of the other.
import { at, BADGE, OPEN, type Scene } from "../protocol/scene";
import type { Camera, Viewport } from "../render/camera/camera";
import type { Partners, Side } from "./partners";

/** The middles of boxes that both drawings have: x and y in the one, x and y in the other, … */
export type Anchors = Float64Array;

/** Of the diagonal of the canvas: boxes nearer than this have about the same say. */
const NEAR = 0.12;

/** The anchors of two drawings, from that of `side` to the other one; null if they have none. */
export function anchorsOf(
  from: Scene,
  to: Scene,
  side: Side,
  partners: Partners,
  isOpen = false,
): Anchors | null {
  const found: number[] = [];
  for (const [key, item] of from.byKey) {
    const kind = at(from.kind, item);
    if (item === 0 || kind === BADGE || (kind === OPEN) !== isOpen) continue;
    const name = partners.of(side, key);
    const partner = name === null ? undefined : to.byKey.get(name);
    if (partner === undefined || (at(to.kind, partner) === OPEN) !== isOpen) continue;
    found.push(...middle(from, item), ...middle(to, partner));
  }
  // Two drawings of which only open scopes match.
  if (found.length === 0 && !isOpen) return anchorsOf(from, to, side, partners, true);
  return found.length > 0 ? Float64Array.from(found) : null;
}

function middle({ box }: Scene, item: number): [number, number] {
  const [x, y, width, height] = [0, 1, 2, 3].map((k) => at(box, 4 * item + k)) as [
    number,
    number,
    number,
    number,
  ];
  return [x + width / 2, y + height / 2];
}

/**
 * The camera that shows what `camera` shows of the other drawing. Each anchor asks for a shift of
 * its own; the nearer it is to the middle of the canvas, the more it says, so that the shift
 * changes smoothly while the view is moved (D. Shepard, 1968).
 */
export function alignedCamera(camera: Camera, viewport: Viewport, anchors: Anchors): Camera {
  const x = camera.x + viewport.width / 2 / camera.zoom;
  const y = camera.y + viewport.height / 2 / camera.zoom;
  const near = (NEAR * Math.hypot(viewport.width, viewport.height)) / camera.zoom;
  let [sum, dx, dy] = [0, 0, 0];
  for (let k = 0; k < anchors.length; k += 4) {
    const [ax, ay] = [at(anchors, k), at(anchors, k + 1)];
    const square = (ax - x) ** 2 + (ay - y) ** 2;
    const weight = 1 / (square + near * near) ** 2;
    sum += weight;
    dx += weight * (at(anchors, k + 2) - ax);
    dy += weight * (at(anchors, k + 3) - ay);
  }
  return { x: camera.x + dx / sum, y: camera.y + dy / sum, zoom: camera.zoom };
}
