// The legend, as far as it needs no page.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { extentOf, opsText, options } from "../../src/panels/controls/legend";

describe("the ways to color", () => {
  test("begin with families of ops, and hold what is shown although nobody proposed it", () => {
    expect(options(["type", "dtype"], "")).toEqual(["", "type", "dtype"]);
    expect(options(["type", "dtype"], "dtype")).toEqual(["", "type", "dtype"]);
    expect(options(["type", "dtype"], "readers")).toEqual(["", "type", "dtype", "readers"]);
  });
});

test("another coloring unfolds its colors and no marks, and op families fold them again", () => {
  expect(extentOf("folded", "FLOPs")).toBe("colors");
  expect(extentOf("colors", "type")).toBe("colors");
  expect(extentOf("colors", "")).toBe("folded");
  expect([extentOf("all", "type"), extentOf("all", "")]).toEqual(["all", "all"]);
});

test("one op is not several", () => {
  expect([0, 1, 1234].map(opsText)).toEqual(["0 ops", "1 op", "1,234 ops"]);
});

test("Python and the canvas mix the same colors", () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const colors = (text: string, from: string, to: string) =>
    text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from))).match(/#[0-9a-f]{6}/g);
  const python = read("../tfgraphwidget/scene/coloring/palette.py");
  const canvas = read("src/render/canvas/palette.ts");
  expect(colors(python, "TINTS: tuple", "RAMP_STEPS")).toHaveLength(30);
  expect(colors(canvas, "const TINTS", "const RAMP_START")).toEqual(
    colors(python, "TINTS: tuple", "RAMP_STEPS"),
  );
});
