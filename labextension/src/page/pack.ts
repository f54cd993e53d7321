// Children that no line touches stand in a block of their own; once some are open, they are put into rows anew.
import type { Box } from "./borders";

export interface Block {
  /** Where the block was drawn. */
  readonly box: Box;
  /** Per child of it, where it stands now from the block's upper left corner; how large the block is now. */
  readonly places: ReadonlyMap<number, readonly [x: number, y: number]>;
  readonly width: number;
  readonly height: number;
}

const GAP = 16;
const ASPECT = 1.6;

/**
 * The block of the children that are `loose`, or null when they do not stand apart: none of `others` may overlap it. Their
 * sizes now are `width` and `height` per child.
 */
export function packed(
  boxes: readonly Box[],
  loose: readonly number[],
  others: readonly Box[],
  width: readonly number[],
  height: readonly number[],
): Block | null {
  if (loose.length < 2) return null;
  const box = around(loose.map((child) => boxes[child] as Box));
  if (others.some((other) => overlaps(box, other))) return null;
  const order = [...loose].sort((a, b) => compared(boxes[a] as Box, boxes[b] as Box));
  const sizes = order.map((child) => [width[child] ?? 0, height[child] ?? 0] as const);
  const area = sizes.reduce((sum, [w, h]) => sum + (w + GAP) * (h + GAP), 0);
  const limit = Math.max(Math.sqrt(area * ASPECT), ...sizes.map(([w]) => w));
  const { places, extent } = rows(sizes, limit);
  return {
    box,
    places: new Map(order.map((child, k) => [child, places[k] ?? [0, 0]])),
    width: extent[0],
    height: extent[1],
  };
}

/** From left to right while there is room, then below the tallest; the largest width and height reached. */
function rows(sizes: readonly (readonly [number, number])[], limit: number) {
  const places: [number, number][] = [];
  let [x, y, tallest, widest] = [0, 0, 0, 0];
  for (const [w, h] of sizes) {
    if (x > 0 && x + w > limit) [x, y, tallest] = [0, y + tallest + GAP, 0];
    places.push([x, y]);
    widest = Math.max(widest, x + w);
    tallest = Math.max(tallest, h);
    x += w + GAP;
  }
  return { places, extent: [widest, y + tallest] as const };
}

function compared(a: Box, b: Box): number {
  const sameRow = a.y < b.y + b.height && b.y < a.y + a.height;
  return sameRow ? a.x - b.x : a.y - b.y;
}

function around(boxes: readonly Box[]): Box {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

function overlaps(a: Box, b: Box): boolean {
  const beside = a.x + a.width <= b.x || b.x + b.width <= a.x;
  return !beside && a.y < b.y + b.height && b.y < a.y + a.height;
}
