// What is where: spatial indexes over a scene's boxes and edges, for picking and for drawing only what is in view.
import Flatbush from "flatbush";
import { at, type Box, boxOf, type Scene } from "../scene";

export class Picker {
  readonly #items: Flatbush;
  readonly #edges: Flatbush | null;

  constructor(scene: Scene) {
    this.#items = new Flatbush(Math.max(scene.length, 1), 16, Float32Array);
    for (let item = 0; item < Math.max(scene.length, 1); item++) {
      const { x, y, width, height } = boxOf(scene.box, item);
      this.#items.add(x, y, x + width, y + height);
    }
    this.#items.finish();
    this.#edges = edgeIndex(scene);
  }

  /** The innermost item at a world point; the root (0) when there is nothing else, -1 outside of all. */
  at(x: number, y: number): number {
    // Parents come before their children, so the innermost item has the highest number.
    return this.#items.search(x, y, x, y).reduce((best, item) => Math.max(best, item), -1);
  }

  /** Items that touch the area, parents before children. */
  itemsIn(area: Box): number[] {
    return search(this.#items, area).sort((a, b) => a - b);
  }

  edgesIn(area: Box): number[] {
    return this.#edges ? search(this.#edges, area) : [];
  }
}

function search(index: Flatbush, { x, y, width, height }: Box): number[] {
  return index.search(x, y, x + width, y + height);
}

function edgeIndex(scene: Scene): Flatbush | null {
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
    index.add(bounds.left, bounds.top, bounds.right, bounds.bottom);
  }
  index.finish();
  return index;
}
