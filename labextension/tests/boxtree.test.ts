import { describe, expect, test } from "vitest";
import { BoxTree } from "../src/render/boxtree";

/** The same made-up boxes each time: left, top, right, bottom, some of them huge, some without size. */
function boxes(count: number): Float32Array {
  let seed = 7;
  const next = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  return Float32Array.from(
    Array.from({ length: count }, (_, i) => {
      const [x, y, size] = [next() * 9000 - 4000, next() * 5000, i % 50 === 0 ? 3000 : i % 3 === 0 ? 0 : 40];
      return [x, y, x + size, y + size / 2];
    }).flat(),
  );
}

describe("BoxTree", () => {
  test.each([0, 1, 2, 16, 17, 256, 257, 5000])(
    "of %i boxes finds what looking at each one finds",
    (count) => {
      const all = boxes(count);
      const tree = new BoxTree(all);
      for (const [left, top, right, bottom] of [
        [-100, 100, 500, 900],
        [-9999, -9999, 9999, 9999],
        [3000, 2000, 3000, 2000],
        [20_000, 0, 30_000, 10],
      ] as const) {
        const wanted = Array.from({ length: count }, (_, i) => i).filter((i) => {
          const [l = 0, t = 0, r = 0, b = 0] = all.subarray(4 * i, 4 * i + 4);
          return l <= right && r >= left && t <= bottom && b >= top;
        });
        expect(tree.search(left, top, right, bottom).sort((a, b) => a - b)).toEqual(wanted);
      }
    },
  );

  test("asks about those in the area only", () => {
    const asked: number[] = [];
    new BoxTree(Float32Array.from([0, 0, 1, 1, 50, 50, 51, 51])).search(0, 0, 10, 10, (box) => {
      asked.push(box);
      return false;
    });
    expect(asked).toEqual([0]);
  });

  test("boxes that all lie at one place are all found", () => {
    expect(new BoxTree(new Float32Array(4 * 100)).search(0, 0, 0, 0)).toHaveLength(100);
  });
});
