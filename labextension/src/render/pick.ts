// What is where: spatial indexes over a scene's boxes and edges, for picking and for drawing only what is in view.
import { at, type Box, boxOf, type Scene } from "../scene";
import { BoxTree } from "./boxtree";

export class Picker {
  readonly #items: BoxTree;
  readonly #edges: BoxTree;
  readonly #wide: Float32Array;
  /** The longer side of what an edge spans. */
  readonly #extent: Float32Array;

  constructor(scene: Scene) {
    const boxes = new Float32Array(4 * scene.length);
    this.#wide = new Float32Array(scene.length);
    for (let item = 0; item < scene.length; item++) {
      const { x, y, width, height } = boxOf(scene.box, item);
      boxes.set([x, y, x + width, y + height], 4 * item);
      this.#wide[item] = width;
    }
    this.#items = new BoxTree(boxes);
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
    return search(this.#items, area, (item) => at(this.#wide, item) >= least).sort((a, b) => a - b);
  }

  /** Edges in the area that span at least `least`. */
  edgesIn(area: Box, least = 0): number[] {
    return search(this.#edges, area, (edge) => at(this.#extent, edge) >= least).sort((a, b) => a - b);
  }

  /** Those of some edges that span at least `least`. */
  longest(edges: readonly number[], least: number): number[] {
    return edges.filter((edge) => at(this.#extent, edge) >= least);
  }
}

function search(index: BoxTree, { x, y, width, height }: Box, test: (box: number) => boolean): number[] {
  return index.search(x, y, x + width, y + height, test);
}

function edgeIndex(scene: Scene, extent: Float32Array): BoxTree {
  const boxes = new Float32Array(4 * scene.edges);
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
    boxes.set([bounds.left, bounds.top, bounds.right, bounds.bottom], 4 * edge);
  }
  return new BoxTree(boxes);
}
