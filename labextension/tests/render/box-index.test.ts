import { describe, expect, test } from "vitest";
import { boxIndex, searchBoxes } from "../../src/render/hit-testing/scene-index";

/**
 * The same made-up boxes each time: left, top, right, bottom, some of them huge, some without size.
 */
function boxes(count: number): Float32Array {
  let seed = 7;
  const next = () => {
    seed = (seed * 16_807) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  return Float32Array.from(
    Array.from({ length: count }, (_, i) => {
      const [x, y, size] = [
        next() * 9000 - 4000,
        next() * 5000,
        i % 50 === 0 ? 3000 : i % 3 === 0 ? 0 : 40,
      ];
      return [x, y, x + size, y + size / 2];
    }).flat(),
  );
}

describe("an index over boxes", () => {
  test.each([0, 1, 2, 16, 17, 256, 257, 5000])(
    "of %i boxes finds what looking at each one finds",
    (count) => {
      const all = boxes(count);
      const index = boxIndex(all);
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
        const area = { x: left, y: top, width: right - left, height: bottom - top };
        expect(searchBoxes(index, area).sort((a, b) => a - b)).toEqual(wanted);
      }
    },
  );

  test("asks about those in the area only", () => {
    const asked: number[] = [];
    const index = boxIndex(Float32Array.from([0, 0, 1, 1, 50, 50, 51, 51]));
    searchBoxes(index, { x: 0, y: 0, width: 10, height: 10 }, (box) => {
      asked.push(box);
      return false;
    });
    expect(asked).toEqual([0]);
  });

  test("boxes that all lie at one place are all found", () => {
    const index = boxIndex(new Float32Array(4 * 100));
    expect(searchBoxes(index, { x: 0, y: 0, width: 0, height: 0 })).toHaveLength(100);
  });
});
