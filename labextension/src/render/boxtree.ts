// A spatial index over boxes that do not move: a packed R-tree. Neighbours in the plane are neighbours in its lowest level.
import { at } from "../scene";

/** Boxes, or nodes, in one node. */
const FAN = 16;
const CELLS = 65_535;

export class BoxTree {
  /** Left, top, right, bottom of all entries, level by level, the boxes first. */
  readonly #bounds: Float32Array;
  /** The box that each of the lowest entries is. */
  readonly #order: Uint32Array;
  /** Where each level starts, and where the last ends. */
  readonly #starts: number[] = [0];

  /** `boxes`: left, top, right, bottom of each. */
  constructor(boxes: Float32Array) {
    const count = boxes.length / 4;
    const starts = this.#starts;
    for (let size = count; size > 0; size = size > 1 ? Math.ceil(size / FAN) : 0)
      starts.push(at(starts, starts.length - 1) + size);
    this.#order = inOrder(boxes, count);
    this.#bounds = new Float32Array(4 * at(starts, starts.length - 1));
    for (let entry = 0; entry < count; entry++) {
      const box = 4 * at(this.#order, entry);
      this.#bounds.set(boxes.subarray(box, box + 4), 4 * entry);
    }
    for (let level = 1; level + 1 < starts.length; level++) this.#gather(level);
  }

  #gather(level: number): void {
    const bounds = this.#bounds;
    const [below, first, end] = [level - 1, level, level + 1].map((i) => at(this.#starts, i));
    for (let node = first ?? 0; node < (end ?? 0); node++) {
      const start = (below ?? 0) + (node - (first ?? 0)) * FAN;
      bounds.set(bounds.subarray(4 * start, 4 * start + 4), 4 * node);
      for (let entry = start + 1; entry < Math.min(start + FAN, first ?? 0); entry++) {
        for (const side of [0, 1]) {
          bounds[4 * node + side] = Math.min(at(bounds, 4 * node + side), at(bounds, 4 * entry + side));
          bounds[4 * node + side + 2] = Math.max(
            at(bounds, 4 * node + side + 2),
            at(bounds, 4 * entry + side + 2),
          );
        }
      }
    }
  }

  /** The numbers of the boxes that touch an area and pass a test, in no order. */
  search(
    left: number,
    top: number,
    right: number,
    bottom: number,
    test?: (box: number) => boolean,
  ): number[] {
    const found: number[] = [];
    const [bounds, starts] = [this.#bounds, this.#starts];
    const beside = (i: number) =>
      at(bounds, i) > right ||
      at(bounds, i + 2) < left ||
      at(bounds, i + 1) > bottom ||
      at(bounds, i + 3) < top;
    const visit = (level: number, from: number, to: number) => {
      for (let entry = from; entry < to; entry++) {
        if (beside(4 * entry)) continue;
        const start = at(starts, level - 1) + (entry - at(starts, level)) * FAN;
        const box = at(this.#order, entry);
        if (level > 0) visit(level - 1, start, Math.min(start + FAN, at(starts, level)));
        else if (!test || test(box)) found.push(box);
      }
    };
    const highest = starts.length - 2;
    if (highest >= 0) visit(highest, at(starts, highest), at(starts, highest + 1));
    return found;
  }
}

/** The boxes along a curve that fills the plane (Morton's), by their middles. */
function inOrder(boxes: Float32Array, count: number): Uint32Array {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < boxes.length; i += 4) {
    left = Math.min(left, at(boxes, i));
    top = Math.min(top, at(boxes, i + 1));
    right = Math.max(right, at(boxes, i + 2));
    bottom = Math.max(bottom, at(boxes, i + 3));
  }
  const [wide, high] = [CELLS / Math.max(right - left, 1e-9), CELLS / Math.max(bottom - top, 1e-9)];
  // The place on the curve and the number of the box in one: numbers up to 2^52 are exact, and sort natively.
  const keys = new Float64Array(count);
  for (let box = 0; box < count; box++) {
    const x = ((at(boxes, 4 * box) + at(boxes, 4 * box + 2)) / 2 - left) * wide;
    const y = ((at(boxes, 4 * box + 1) + at(boxes, 4 * box + 3)) / 2 - top) * high;
    keys[box] = (spread(x) + 2 * spread(y)) * 2 ** 20 + box;
  }
  return Uint32Array.from(keys.sort(), (key) => key % 2 ** 20);
}

/** The 16 bits of a whole number, each followed by a zero. */
function spread(value: number): number {
  let bits = Math.min(Math.max(value, 0), CELLS) & CELLS;
  bits = (bits | (bits << 8)) & 0x00ff00ff;
  bits = (bits | (bits << 4)) & 0x0f0f0f0f;
  bits = (bits | (bits << 2)) & 0x33333333;
  return (bits | (bits << 1)) & 0x55555555;
}
