import { describe, expect, test } from "vitest";
import { zoomFactor } from "../../src/render/gestures/pointer";

const turned = (deltaY: number, ctrlKey = false, deltaMode = 0) =>
  zoomFactor({ deltaY, deltaMode, ctrlKey });

describe("the wheel", () => {
  test("zooms in and back by the same", () => {
    for (const ctrlKey of [false, true])
      expect(turned(-100, ctrlKey) * turned(100, ctrlKey)).toBeCloseTo(1);
    expect(turned(-100)).toBeCloseTo(1.2, 1);
    expect(turned(3, false, 1)).toBe(turned(48));
  });

  test("zooms by a notch with Ctrl about as far as by one without", () => {
    for (const pixels of [53, 100, 120]) {
      expect(turned(-pixels, true)).toBeLessThan(1.3);
      expect(turned(-pixels, true)).toBeGreaterThan(turned(-pixels));
    }
  });

  test("follows a pinch, whose steps are small", () => {
    expect(turned(-2, true)).toBeCloseTo(1.02, 3);
    expect(turned(-2)).toBeLessThan(1.005);
  });
});
