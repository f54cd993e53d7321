import { describe, expect, test } from "vitest";
import {
  at,
  boxOf,
  decodePaint,
  decodeScene,
  keyOf,
  labelOf,
  sizeText,
  visibleItem,
} from "../../src/protocol/scene";
import { NAMES, packed, paintArrays, sceneArrays } from "../example-graph";

function made(names: readonly string[] = NAMES, shift = 0) {
  const { fields, buffer } = packed(sceneArrays(names), { box: [5, 4], route: [5, 2] }, shift);
  return decodeScene(fields, buffer);
}

describe("decodeScene", () => {
  test("gives back what was packed", () => {
    const scene = made();
    expect(scene.length).toBe(5);
    expect(scene.names).toEqual(NAMES);
    expect(scene.types).toEqual(["", "Placeholder", "", "", "Identity"]);
    expect(boxOf(scene.box, 3)).toEqual({ x: 60, y: 140, width: 120, height: 46 });
    expect([...scene.depth]).toEqual([0, 1, 1, 2, 2]);
    expect([...scene.calls]).toEqual([0, 0, 0, 0, 1]);
    expect(at(scene.route, 9)).toBe(250);
  });

  test.each([1, 2, 3])("reads a buffer that starts at byte %i of its message", (shift) => {
    expect(boxOf(made(NAMES, shift).box, 3).width).toBe(120);
  });

  test("decodes names that are not ASCII", () => {
    const names = ["", "größe", "网", "网/層", "网"];
    expect(made(names).names).toEqual(names);
  });

  test("names the field that is missing", () => {
    const { parent: _, ...others } = sceneArrays();
    const { fields, buffer } = packed(others);
    expect(() => decodeScene(fields, buffer)).toThrow('no i4 field "parent"');
  });

  test("names the field that is cut off", () => {
    const { fields, buffer } = packed(sceneArrays());
    const half = new DataView(buffer.buffer, 0, buffer.byteLength - 8);
    expect(() => decodeScene(fields, half)).toThrow('"edge_label_bytes" is cut off');
  });
});

describe("decodePaint", () => {
  test("says whether anything is selected", () => {
    const some = packed(paintArrays([0, 0, 1, 2, 0]));
    const none = packed(paintArrays());
    expect(decodePaint(some.fields, some.buffer, 5).selecting).toBe(true);
    expect(decodePaint(none.fields, none.buffer, 5).selecting).toBe(false);
  });

  test("refuses a selection for another scene", () => {
    const { fields, buffer } = packed(paintArrays());
    expect(() => decodePaint(fields, buffer, 7)).toThrow("another drawing");
  });
});

describe("names", () => {
  test("a scope and the op of its name have different keys", () => {
    const scene = made();
    expect([keyOf(scene, 2), keyOf(scene, 4)]).toEqual(["net/", "net"]);
    expect([scene.byKey.get("net/"), scene.byKey.get("net")]).toEqual([2, 4]);
  });

  test("an op inside the scope of its own name is written in brackets", () => {
    const scene = made();
    expect([1, 2, 3, 4].map((item) => labelOf(scene, item))).toEqual([
      "input",
      "net",
      "dense",
      "(net)",
    ]);
  });

  test("what is hidden is found as the closed scope around it", () => {
    const scene = made();
    expect(visibleItem(scene, "net/dense/bias/read:0")).toBe(3);
    expect(visibleItem(scene, "^input")).toBe(1);
    expect(visibleItem(scene, "elsewhere")).toBe(-1);
  });

  test("sizes are singular and plural", () => {
    expect(sizeText(1, 0)).toBe("1 op");
    expect(sizeText(2046, 1)).toBe("2,046 ops · 1 variable");
  });
});
