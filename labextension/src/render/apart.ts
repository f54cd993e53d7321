// While boxes glide: a pen for those, and one for what stands in its place already, above them.
import { at } from "../scene";
import { inView } from "./camera";
import { grown, type Pen } from "./pen";

export function apart(pen: Pen, glides: Uint8Array): [Pen, Pen] {
  const { frame, picker, viewport } = pen;
  const { scene, camera } = frame;
  const glide = (item: number) => at(glides, item) === 1;
  const moves = (edge: number) => glide(at(scene.source, edge)) || glide(at(scene.target, edge));
  const still = { ...frame, boxes: scene.box, edgeAlpha: 1, glides: null };
  const area = grown(inView(camera, viewport), 24 / Math.min(camera.zoom, 1));
  return [
    { ...pen, items: pen.items.filter(glide), edges: pen.edges.filter(moves) },
    {
      ...pen,
      frame: still,
      items: picker.itemsIn(area, 0.5 / camera.zoom).filter((item) => !glide(item)),
      edges: pen.edges.filter((edge) => !moves(edge)),
    },
  ];
}
