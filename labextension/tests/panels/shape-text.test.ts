import { expect, test } from "vitest";
import { withDrawnShapes } from "../../src/panels/shape-text";

test.each([
  ["float32 (None, 28, 28, 1)", "float32 ?×28×28×1"],
  ["(2, 3)", "2×3"],
  ["int64 (7,)", "int64 7"],
  ["float32 ()", "float32 scalar"],
  ["float32 unknown", "float32 unknown"],
  ["a variant of f(x)", "a variant of f(x)"],
])("the panel writes %s as the drawing does", (sent, shown) => {
  expect(withDrawnShapes(sent)).toBe(shown);
});
