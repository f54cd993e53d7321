// Spatial indexes over the boxes and edges of a scene, for hit testing and for drawing only what is
// in view.
import Flatbush from "flatbush";
import { at, type Box, boxOf, type Scene } from "../../protocol/scene";

export class SceneIndex {
  readonly #items: BoxIndex;
  readonly #edges: BoxIndex;
  readonly #wide: Float32Array;
  /** The longer side of an edge's bounding box. */
  readonly #extent: Float32Array;

  constructor(scene: Scene) {
    const boxes = new Float32Array(4 * scene.length);
    this.#wide = new Float32Array(scene.length);
    for (let item = 0; item < scene.length; item++) {
      const { x, y, width, height } = boxOf(scene.box, item);
      boxes.set([x, y, x + width, y + height], 4 * item);
      this.#wide[item] = width;
    }
    this.#items = boxIndex(boxes);
    this.#extent = new Float32Array(scene.edges);
    this.#edges = edgeIndex(scene, this.#extent);
  }

  /**
   * The innermost item at a world point; the root (0) when there is nothing else, -1 outside of
   * all.
   */
  at(x: number, y: number): number {
    // Parents come before their children, so the innermost item has the highest number.
    return searchBoxes(this.#items, { x, y, width: 0, height: 0 }).reduce(
      (best, item) => Math.max(best, item),
      -1,
    );
  }

  /** Items that touch the area and are at least `least` wide, parents before children. */
  itemsIn(area: Box, least = 0): number[] {
    return searchBoxes(this.#items, area, (item) => at(this.#wide, item) >= least).sort(
      (a, b) => a - b,
    );
  }

  /** Edges in the area that span at least `least`. */
  edgesIn(area: Box, least = 0): number[] {
    return searchBoxes(this.#edges, area, (edge) => at(this.#extent, edge) >= least).sort(
      (a, b) => a - b,
    );
  }

  /** Those of some edges that span at least `least`. */
  longest(edges: readonly number[], least: number): number[] {
    return edges.filter((edge) => at(this.#extent, edge) >= least);
  }
}

/**
 * The edge nearest to a world point, at most `reach` away, among `candidates`; -1 if there is none.
 */
export function nearestEdge(
  scene: Scene,
  candidates: readonly number[],
  { x, y }: Pick<Box, "x" | "y">,
  reach: number,
): number {
  let [best, least] = [-1, reach];
  for (const edge of candidates) {
    const last = at(scene.routeStart, edge + 1) - 1;
    for (let point = at(scene.routeStart, edge); point < last; point++) {
      const [ax, ay] = [at(scene.route, 2 * point), at(scene.route, 2 * point + 1)];
      const [dx, dy] = [at(scene.route, 2 * point + 2) - ax, at(scene.route, 2 * point + 3) - ay];
      const along = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1);
      const part = Math.min(Math.max(along, 0), 1);
      const away = Math.hypot(x - ax - part * dx, y - ay - part * dy);
      if (away <= least) [best, least] = [edge, away];
    }
  }
  return best;
}

/**
 * Whether one of some edges runs through an area; slanted parts are taken for the box around them.
 */
export function runsThrough(
  scene: Scene,
  edges: readonly number[],
  { x, y, width, height }: Box,
): boolean {
  const isIn = (a: number, b: number, start: number, length: number) =>
    Math.min(a, b) < start + length && Math.max(a, b) > start;
  return edges.some((edge) => {
    const last = at(scene.routeStart, edge + 1) - 1;
    for (let point = at(scene.routeStart, edge); point < last; point++) {
      const [ax, ay] = [at(scene.route, 2 * point), at(scene.route, 2 * point + 1)];
      const [bx, by] = [at(scene.route, 2 * point + 2), at(scene.route, 2 * point + 3)];
      if (isIn(ax, bx, x, width) && isIn(ay, by, y, height)) return true;
    }
    return false;
  });
}

/** A packed R-tree; null over no boxes, which flatbush does not take. */
export type BoxIndex = Flatbush | null;

/** An index over boxes that do not move: left, top, right, bottom of each. */
export function boxIndex(boxes: Float32Array): BoxIndex {
  if (boxes.length === 0) return null;
  const index = new Flatbush(boxes.length / 4, 16, Float32Array);
  for (let i = 0; i < boxes.length; i += 4)
    index.add(at(boxes, i), at(boxes, i + 1), at(boxes, i + 2), at(boxes, i + 3));
  index.finish();
  return index;
}

/** The numbers of the boxes that touch an area and pass a test, in no order. */
export function searchBoxes(
  index: BoxIndex,
  { x, y, width, height }: Box,
  test?: (box: number) => boolean,
): number[] {
  return index?.search(x, y, x + width, y + height, test) ?? [];
}

function edgeIndex(scene: Scene, extent: Float32Array): BoxIndex {
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
  return boxIndex(boxes);
}
