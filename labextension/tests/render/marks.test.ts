import { expect, test } from "vitest";
import { decodeScene, INPUT_MARK, OUTPUT_MARK } from "../../src/protocol/scene";
import { drawBoundaryMarks } from "../../src/render/canvas/marks";
import type { Pen } from "../../src/render/canvas/pen";
import { packed, sceneArrays } from "../example-graph";

/**
 * The top and the bottom of each sign that is drawn on the first op, whose box is (top, bottom).
 */
function signs(mark: number, zoom: number) {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4] });
  const scene = decodeScene(fields, buffer);
  const drawn: [number, number][] = [];
  const nothing = () => undefined;
  const ctx = {
    measureText: () => ({ width: 12 }),
    roundRect: (_x: number, y: number, _width: number, height: number) =>
      drawn.push([y, y + height]),
    ...Object.fromEntries(
      ["beginPath", "moveTo", "lineTo", "closePath", "fill", "stroke", "fillText"].map((name) => [
        name,
        nothing,
      ]),
    ),
  };
  const frame = {
    scene,
    boxes: scene.box,
    camera: { x: 0, y: 0, zoom },
    paint: { mark: [0, mark] },
  };
  drawBoundaryMarks({ ctx, frame, palette: {}, ratio: 1, items: [1] } as unknown as Pen);
  const [top = 0, height = 0] = [scene.box[5], scene.box[7]].map((value) => (value ?? 0) * zoom);
  return { drawn, box: [top, top + height] as const };
}

test.each([0.3, 1, 1.4])("marks leave a box its two lines, at zoom %d", (zoom) => {
  for (const mark of [INPUT_MARK, OUTPUT_MARK]) {
    const { drawn, box } = signs(mark, zoom);
    expect(drawn).toHaveLength(1);
    const [top = 0, bottom = 0] = drawn[0] ?? [];
    const within = Math.min(bottom, box[1]) - Math.max(top, box[0]);
    expect(within).toBeGreaterThan(0);
    expect(within).toBeLessThan(3);
  }
});
