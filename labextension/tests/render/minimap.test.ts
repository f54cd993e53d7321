import { describe, expect, test } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import { fitBox, inView } from "../../src/render/camera/camera";
import { cameraAt, fitOf, frameOf, isUseful, largestMap, spotsOf } from "../../src/render/minimap";
import { packed, sceneArrays } from "../example-graph";

const whole = { x: -100, y: 50, width: 4000, height: 2000 };
const viewport = { width: 900, height: 600 };
const camera = { x: 900, y: 350, zoom: 0.9 };

describe("the minimap", () => {
  test("holds the whole drawing within its bounds", () => {
    for (const box of [whole, { ...whole, width: 40 }, { ...whole, height: 90_000 }]) {
      const fit = fitOf(box);
      expect(fit.width).toBeLessThanOrEqual(180);
      expect(fit.height).toBeLessThanOrEqual(120);
      expect((box.x + box.width - fit.x) * fit.scale).toBeLessThanOrEqual(fit.width);
      expect((box.y + box.height - fit.y) * fit.scale).toBeLessThanOrEqual(fit.height);
    }
  });

  test("takes a quarter of each side of a small view at most", () => {
    expect(largestMap(viewport)).toEqual({ width: 180, height: 120 });
    const { width, height } = largestMap({ width: 500, height: 400 });
    expect(width).toBeLessThanOrEqual(125);
    expect(height).toBeLessThanOrEqual(100);
    const fit = fitOf(whole, { width, height });
    expect(fit.width).toBeLessThanOrEqual(width + 1);
  });

  test("a click brings what is below it to the middle of the view", () => {
    const fit = fitOf(whole);
    const frame = frameOf(fit, camera, viewport);
    const middle = { x: frame.x + frame.width / 2, y: frame.y + frame.height / 2 };
    const there = cameraAt(fit, middle, camera, viewport);
    expect(there.x).toBeCloseTo(camera.x);
    expect(there.y).toBeCloseTo(camera.y);
    expect(cameraAt(fit, { x: 0, y: 0 }, camera, viewport).x).toBeLessThan(whole.x);
  });

  test("the frame is cut where the view goes beyond the drawing", () => {
    const fit = fitOf(whole);
    const frame = frameOf(fit, { x: 3500, y: -900, zoom: 0.5 }, viewport);
    expect(frame.y).toBe(0);
    expect(frame.x + frame.width).toBe(fit.width);
  });

  test("what an edit changed is a spot that can be seen, at the closed scope around it", () => {
    const { fields, buffer } = packed(sceneArrays());
    const scene = decodeScene(fields, buffer);
    const fit = fitOf({ x: 0, y: 0, width: 90_000, height: 90_000 });
    const [spot, ...others] = spotsOf(scene, ["net/dense/MatMul", "net/dense/bias", "gone"], fit);
    expect(others).toEqual([]);
    expect(spot).toMatchObject({ width: 5, height: 5 });
  });

  test("is there only when something is out of view and there is room", () => {
    expect(isUseful(whole, camera, viewport)).toBe(true);
    expect(isUseful(whole, fitBox(whole, viewport), viewport)).toBe(false);
    expect(isUseful(whole, camera, { width: 400, height: 600 })).toBe(false);
    const fits = { x: whole.x + 12, y: whole.y + 12, zoom: 1 };
    // the rest is an empty border
    expect(isUseful(whole, fits, { width: 3980, height: 1980 })).toBe(false);
    expect(isUseful(whole, fits, { width: 3960, height: 1980 })).toBe(true);
    expect(inView(camera, viewport).width).toBe(1000);
  });
});
