import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { boxOf, decodePaint, decodeScene } from "../../src/protocol/scene";

// Written by Python (tests/test_golden.py), which reads the same from it.
const golden = JSON.parse(
  readFileSync(new URL("../../../tests/golden/drawn.json", import.meta.url), "utf8"),
);

test("a reply that Python wrote reads as Python says", () => {
  const bytes = Uint8Array.from(atob(golden.buffer), (letter) => letter.charCodeAt(0));
  const scene = decodeScene(golden.message.fields, new DataView(bytes.buffer));
  const paint = decodePaint(golden.message.fields, new DataView(bytes.buffer), scene.length);
  expect(scene.names).toEqual(golden.expected.names);
  expect(scene.types).toEqual(golden.expected.types);
  expect(scene.calls.length).toBe(scene.names.length);
  expect([...paint.coverage]).toEqual(golden.expected.coverage);
  expect([...paint.mark]).toEqual(golden.expected.mark);
  const boxes = scene.names.map((_, item) => Object.values(boxOf(scene.box, item)));
  expect(boxes).toEqual(golden.expected.box);
});
