// What the canvas draws at a zoom of 1 is what a saved picture has:
// tests/scene/test_display_list.py writes the file.
import { expect, test } from "vitest";
import { at } from "../../src/protocol/scene";
import { decoded, drawnByCanvas, drawnOf, pictures, type Shape } from "./recorder";

/** Rounded, as text, so that two lists can be compared in any order. */
function keysOf(shapes: readonly Shape[], kind: string, names: readonly string[]): string[] {
  const plain = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === "number") return Math.round(value * 10) / 10 + 0;
    if (typeof value !== "string") return value;
    const parts = /^rgb\((\d+),(\d+),(\d+)\)$/.exec(value);
    if (!parts) return value;
    return `#${parts
      .slice(1)
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("")}`;
  };
  return shapes
    .filter((shape) => shape.kind === kind)
    .map((shape) => JSON.stringify(names.map((name) => plain(shape[name]))))
    .sort();
}

test.each(pictures)("a saved picture has the texts of the screen: $name, $theme", (picture) => {
  const names = ["text", "size", "bold", "upright", "color", "y"];
  const saved = keysOf(picture.shapes[picture.theme] ?? [], "text", names);
  expect(saved).toEqual(keysOf(drawnByCanvas(picture), "text", names));
  expect(saved.length).toBeGreaterThan(8);
});

test.each(pictures)("a saved picture has the boxes of the screen: $name, $theme", (picture) => {
  const drawn = drawnByCanvas(picture);
  const boxes = (picture.shapes[picture.theme] ?? []).filter(({ kind }) => kind === "box");
  const filled = boxes.filter(({ fill }) => fill).map((box) => ({ ...box, kind: "fill" }));
  expect(keysOf(filled, "fill", ["place", "fill"])).toEqual(
    keysOf(drawn, "fill", ["place", "fill"]),
  );
  const bordered = boxes.filter(({ line }) => line).map((box) => ({ ...box, kind: "border" }));
  const look = ["place", "line", "thick", "dash", "alpha"];
  expect(keysOf(bordered, "border", look)).toEqual(keysOf(drawn, "border", look));
});

test.each(pictures)("a saved picture has the lines of the screen: $name, $theme", (picture) => {
  // Hatching is clipped on the screen, and cut in a saved picture.
  const lines = (shapes: readonly Shape[]) =>
    keysOf(
      shapes.filter(({ alpha }) => alpha !== 0.3),
      "line",
      ["ends", "line", "thick", "dash", "alpha"],
    );
  expect(lines(picture.shapes[picture.theme] ?? [])).toEqual(lines(drawnByCanvas(picture)));
});

test.each(pictures.filter(({ theme }) => theme === "light"))(
  "the frame of what a refusal names does not run through the number of a group: $name",
  (picture) => {
    const { scene, paint } = decoded(picture);
    const grouped = Array.from({ length: scene.length }, (_, item) => item).filter(
      (item) => at(scene.members, item) > 1,
    );
    const plain = drawnOf(scene, paint);
    const drawn = drawnOf(scene, paint, "light", new Set(grouped));
    expect(drawn.length).toBeGreaterThan(plain.length);
    const number = drawn.findIndex(({ text }) => text === "×4");
    const rest = plain.slice(plain.findIndex(({ text }) => text === "×4"));
    expect(drawn.slice(number)).toEqual(rest);
  },
);
