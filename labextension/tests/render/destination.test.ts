import { describe, expect, test } from "vitest";
import { type Box, boxOf, decodeScene, type Paint } from "../../src/protocol/scene";
import { inView } from "../../src/render/camera/camera";
import { destination, frameScope, selectedBox } from "../../src/render/camera/destination";
import { packed, sceneArrays } from "../example-graph";

const viewport = { width: 800, height: 600 };
const holds = (outer: Box, inner: Box) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

describe("a scope that was opened", () => {
  const camera = { x: 0, y: 0, zoom: 1 };

  test("stays where it is when all of it is in view", () => {
    expect(frameScope({ x: 100, y: 100, width: 300, height: 300 }, camera, viewport)).toEqual(
      camera,
    );
  });

  test("is brought into view as little as necessary, at the same zoom", () => {
    const box = { x: 600, y: 100, width: 400, height: 300 };
    const there = frameScope(box, camera, viewport);
    expect(there).toMatchObject({ y: 0, zoom: 1 });
    expect(holds(inView(there, viewport), box)).toBe(true);
  });

  test("is shown whole from a little farther away", () => {
    const box = { x: 0, y: 0, width: 1000, height: 700 };
    const there = frameScope(box, camera, viewport);
    expect(there.zoom).toBeLessThan(1);
    expect(there.zoom).toBeGreaterThan(0.6);
    expect(holds(inView(there, viewport), box)).toBe(true);
  });

  test("that would be too small to read shows its upper part, readable", () => {
    const there = frameScope({ x: 50, y: 90, width: 500, height: 9000 }, camera, viewport);
    expect(there.zoom).toBe(1);
    expect(there.y).toBeLessThan(90);
    expect(inView(there, viewport).x).toBeLessThan(50);
  });

  test("is not enlarged when it was opened from afar", () => {
    const far = { x: 0, y: 0, zoom: 0.3 };
    expect(frameScope({ x: 100, y: 100, width: 900, height: 300 }, far, viewport).zoom).toBe(0.3);
  });
});

describe("a copy", () => {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  const original = { x: 100, y: 0, width: 60, height: 40 };
  const arrival = { focus: "net", beside: original };

  test("that is in view with its original moves nothing", () => {
    const camera = { x: -10, y: -10, zoom: 1 };
    expect(destination(scene, camera, viewport, arrival)).toEqual(camera);
  });

  test("that is in view as far away as a first picture moves nothing either", () => {
    const camera = { x: -10, y: -10, zoom: 0.56 };
    expect(destination(scene, camera, viewport, arrival)).toEqual(camera);
  });

  test.each([2, 0.9, 0.3])("is shown together with its original, from zoom %f", (zoom) => {
    const screen = { width: 600, height: 500 };
    const there = destination(scene, { x: 700, y: 300, zoom }, screen, arrival);
    expect(holds(inView(there, screen), original)).toBe(true);
    const copy = boxOf(scene.box, scene.byKey.get("net") ?? scene.byKey.get("net/") ?? 0);
    expect(holds(inView(there, screen), copy)).toBe(true);
  });

  test("of what is not drawn is shown together with what was in view", () => {
    const camera = { x: 40, y: 0, zoom: 2 };
    const there = destination(
      scene,
      camera,
      { width: 600, height: 500 },
      { ...arrival, beside: null },
    );
    const seen = inView(there, { width: 600, height: 500 });
    expect(holds(seen, { x: 40, y: 0, width: 300, height: 250 })).toBe(true);
  });

  test("was made of what is selected", () => {
    const paint = {
      coverage: Uint8Array.from({ length: scene.length }, (_, item) => (item > 0 ? 2 : 1)),
    };
    const all = selectedBox(scene, paint as Paint);
    expect(all && holds(boxOf(scene.box, 0), all)).toBe(true);
    expect(selectedBox(scene, null)).toBeNull();
  });
});

test("a new layout is shown whole", () => {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  const there = destination(scene, { x: 5000, y: 5000, zoom: 3 }, viewport, { fit: true });
  expect(holds(inView(there, viewport), boxOf(scene.box, 0))).toBe(true);
});
