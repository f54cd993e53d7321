// What is where: spatial indexes over a scene's boxes and edges, for picking and for drawing only what is in view.
import Flatbush from "flatbush";
import { at, type Box, boxOf, type Scene } from "../scene";

export class Picker {
  readonly #items: Flatbush;
  readonly #edges: Flatbush | null;
  /** The longer side of what an edge spans. */
  readonly #extent: Float32Array;

  constructor(scene: Scene) {
    this.#items = new Flatbush(Math.max(scene.length, 1), 16, Float32Array);
    for (let item = 0; item < Math.max(scene.length, 1); item++) {
      const { x, y, width, height } = boxOf(scene.box, item);
      this.#items.add(x, y, x + width, y + height);
    }
    this.#items.finish();
    this.#extent = new Float32Array(scene.edges);
    this.#edges = edgeIndex(scene, this.#extent);
  }

  /** The innermost item at a world point; the root (0) when there is nothing else, -1 outside of all. */
  at(x: number, y: number): number {
    // Parents come before their children, so the innermost item has the highest number.
    return this.#items.search(x, y, x, y).reduce((best, item) => Math.max(best, item), -1);
  }

  /** Items that touch the area and are at least `least` wide, parents before children. */
  itemsIn(area: Box, least = 0): number[] {
    const wide = (_: number, left: number, __: number, right: number) => right - left >= least;
    return search(this.#items, area, wide).sort((a, b) => a - b);
  }

  /** Edges in the area that span at least `least`. */
  edgesIn(area: Box, least = 0): number[] {
    if (!this.#edges) return [];
    return search(this.#edges, area, (edge) => at(this.#extent, edge) >= least).sort((a, b) => a - b);
  }

  /** Those of some edges that span at least `least`. */
  longest(edges: readonly number[], least: number): number[] {
    return edges.filter((edge) => at(this.#extent, edge) >= least);
  }
}

type Test = (index: number, left: number, top: number, right: number, bottom: number) => boolean;

function search(index: Flatbush, { x, y, width, height }: Box, test: Test): number[] {
  return index.search(x, y, x + width, y + height, test);
}

function edgeIndex(scene: Scene, extent: Float32Array): Flatbush | null {
  if (scene.edges === 0) return null;
  const index = new Flatbush(scene.edges, 16, Float32Array);
  for (let edge = 0; edge < scene.edges; edge++) {
    const bounds = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (let point = at(scene.routeStart, edge); point < at(scene.routeStart, edge + 1); point++) {
      const x = at(scene.route, 2 * point);
      const y = at(scene.route, 2 * point + 1);
      bounds.left = Math.min(bounds.left, x);
      bounds.right = Math.max(bounds.right, x);
      bounds.top = Math.min(bounds.top, y);
      bounds.bottom = Math.max(bounds.bottom, y);
    }
    extent[edge] = Math.max(bounds.right - bounds.left, bounds.bottom - bounds.top);
    index.add(bounds.left, bounds.top, bounds.right, bounds.bottom);
  }
  index.finish();
  return index;
}
