// All text that is drawn on boxes, at every zoom: its size, and how wide it is.
import { expect, test } from "vitest";
import {
  BADGE,
  CLOSED,
  decodePaint,
  decodeScene,
  OP,
  OPEN,
  type Scene,
} from "../../src/protocol/scene";
import { chipsGiveWay, overlap } from "../../src/render/canvas/far-labels";
import { drawLabels } from "../../src/render/canvas/labels";
import { drawBoundaryMarks, drawSigns } from "../../src/render/canvas/marks";
import type { Pen } from "../../src/render/canvas/pen";
import { Typesetter } from "../../src/render/canvas/typesetter";
import { packed, paintArrays, sceneArrays, texts } from "../example-graph";

const ZOOMS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.74, 0.75, 0.8, 0.9, 1, 1.5, 3];
const WIDTH = 0.6;
const CLOSED_SCOPE = 3;
/** Of its name, where that needs two. */
const SECOND_LINE = "a_long_name";

interface Text {
  readonly text: string;
  readonly size: number;
  readonly x: number;
  readonly y: number;
}

/** A closed scope beside an op with a badge in an open scope, with long and short names. */
function example(): Scene {
  const { fields, buffer } = packed(
    {
      ...sceneArrays(["", "input", "net", "net/a_layer_with_a_long_name", "net/relu"]),
      ...texts("label", ["", "", "", "", "w 64×64"]),
      kind: Uint8Array.from([OPEN, OP, OPEN, CLOSED, BADGE]),
      parent: Int32Array.from([-1, 0, 0, 2, 3]),
      // biome-ignore format: one box per line
      box: Float32Array.from([
        0, 0, 400, 500,
        50, 20, 80, 30,
        40, 100, 300, 300,
        60, 140, 120, 64,
        64, 185, 60, 15,
      ]),
    },
    { box: [5, 4], route: [5, 2] },
  );
  return decodeScene(fields, buffer);
}

function drawnAt(
  zoom: number,
  notes: readonly string[] = ["", "", "", "", ""],
  given?: Scene,
): Text[] {
  const scene = given ?? example();
  const arrays = {
    ...paintArrays(),
    mark: Uint8Array.from([0, 3, 0, 0, 0]),
    differs: Uint8Array.from([0, 1, 0, 2, 0]),
    ...texts("note", notes),
  };
  const painted = packed(arrays);
  const drawn: Text[] = [];
  const context = {
    font: "",
    measureText(text: string) {
      return { width: Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 100) * WIDTH * text.length };
    },
    fillText(text: string, x: number, y: number) {
      drawn.push({ text, x, y, size: Number(/([\d.]+)px/.exec(this.font)?.[1]) });
    },
  };
  const ctx = new Proxy(context as Record<string | symbol, unknown>, {
    get: (target, name) => (name in target ? target[name] : () => undefined),
  });
  const colors = { fill: "", border: "", text: "", faint: "" };
  const families = Array.from({ length: 16 }, () => colors);
  const palette = {
    box: families,
    quiet: families,
    chosen: families,
    levels: [colors],
    training: [colors],
    differs: [null, colors, colors],
  };
  const camera = { x: 0, y: 0, zoom };
  const frame = {
    scene,
    paint: decodePaint(painted.fields, painted.buffer, 5),
    boxes: scene.box,
    camera,
  };
  const pen = {
    ctx,
    frame,
    palette,
    ratio: 1,
    items: [1, 2, 3, 4],
    edges: [],
    typesetter: new Typesetter("sans"),
    viewport: { width: 1000, height: 1000 },
  };
  for (const _ of drawLabels(pen as unknown as Pen));
  if (given) return drawn;
  drawBoundaryMarks(pen as unknown as Pen);
  drawSigns(pen as unknown as Pen);
  return drawn;
}

test.each(ZOOMS)("no text is smaller than 9 pixels, at zoom %d", (zoom) => {
  for (const { text, size } of drawnAt(zoom)) expect(size, text).toBeGreaterThanOrEqual(9 - 1e-9);
});

test.each(ZOOMS)("ops and closed scopes have letters of one size, at zoom %d", (zoom) => {
  const names = drawnAt(zoom).filter(
    ({ text }) => /^(input|in.*…|a_l.*)$/.test(text) && text !== "in",
  );
  expect(new Set(names.map(({ size }) => size.toFixed(3))).size).toBeLessThanOrEqual(1);
});

test.each(ZOOMS)("no name is wider than its box, at zoom %d", (zoom) => {
  const [left, right] = [60 * zoom, 180 * zoom];
  for (const { text, size, x } of drawnAt(zoom).filter(({ text }) => text.startsWith("a_l"))) {
    expect(x - (text.length * WIDTH * size) / 2).toBeGreaterThanOrEqual(left - 1);
    expect(x + (text.length * WIDTH * size) / 2).toBeLessThanOrEqual(right + 1);
  }
});

test("from afar a name gives way to a shorter one, and then to none", () => {
  const nameAt = (zoom: number) =>
    drawnAt(zoom).find(({ text }) => text.startsWith("a_"))?.text ?? "";
  expect(nameAt(1.5)).toBe(nameAt(1));
  const lengths = [1.5, 1, 0.6, 0.5].map((zoom) => nameAt(zoom).length);
  expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
  expect(nameAt(0.5)).toContain("…");
  expect(nameAt(0.1)).toBe("");
});

test.each(ZOOMS)("the value or shape in a chip is whole or left out, at zoom %d", (zoom) => {
  const chips = drawnAt(zoom).filter(({ text }) => text.startsWith("w"));
  expect(["", "w", "w 64×64"]).toContain(chips.map(({ text }) => text).join());
});

test.each(ZOOMS)("a chip has text, or gives way to name and size of its box, at %d", (zoom) => {
  const scene = example();
  const painted = packed(paintArrays());
  const paint = decodePaint(painted.fields, painted.buffer, 5);
  const frame = { scene, paint, camera: { x: 0, y: 0, zoom } };
  const texts = drawnAt(zoom);
  expect(texts.some(({ text }) => text.startsWith("w"))).toBe(!chipsGiveWay(frame, CLOSED_SCOPE));
  // The size of a scope gives way to a name that needs its line.
  const below = texts.find(({ text }) => ["4 ops", "4 ops · 2 vars", SECOND_LINE].includes(text));
  expect(below !== undefined).toBe(zoom >= 0.4);
  // A chip that is marked, while its box is not, stays.
  const marked = { ...paint, mark: Uint8Array.from([0, 0, 0, 0, 1]) };
  expect(chipsGiveWay({ ...frame, paint: marked }, CLOSED_SCOPE)).toBe(false);
});

test("each colored box has its number where it has room, from afar the large ones alone", () => {
  const notes = ["", "12 MFLOP", "", "3.1 GFLOP", ""];
  const numbersAt = (zoom: number) =>
    drawnAt(zoom, notes).flatMap(({ text }) => (/^[\d.]+ [MG]/.test(text) ? [text] : []));
  for (const zoom of [1, 1.5, 3]) expect(numbersAt(zoom).sort()).toEqual(["12 MFLOP", "3.1 GFLOP"]);
  // The op's box is 80 × 30, the scope's 120 × 64.
  for (const zoom of [0.6, 0.5])
    expect(numbersAt(zoom), `at ${zoom}`).toEqual([expect.stringMatching(/^3.1 G/)]);
  expect(numbersAt(0.1)).toEqual([]);
});

test("an open scope has its number at 40 % too, and from afar, where its header has room", () => {
  const numberAt = (zoom: number, note: string) =>
    drawnAt(zoom, ["", "", note, "", ""]).some(({ text }) => text === note);
  for (const zoom of [1, 0.6, 0.4, 0.25]) expect(numberAt(zoom, "9 G"), `at ${zoom}`).toBe(true);
  expect(numberAt(0.4, "123.5 GFLOP in each of all its many layers")).toBe(false);
});

test("from afar the number of a scope gives way to one without its unit, and then to none", () => {
  const numberAt = (zoom: number, note: string) =>
    drawnAt(zoom, ["", "", "", note, ""]).find(({ text }) => text.startsWith("123"))?.text ?? "";
  expect(numberAt(0.6, "123.5 GFLOP")).toBe("123.5 GFLOP");
  expect(numberAt(0.5, "123.5 GFLOP")).toBe("123.5 G");
  expect(numberAt(0.5, "123.5 KFLOP")).toBe("123.5 K");
  expect(numberAt(0.5, "1234.5 seconds")).toBe("");
  expect(numberAt(0.3, "123.5 GFLOP")).toBe("");
});

test("from afar the chips of a colored box give way to its number, if it has one", () => {
  const textsAt = (zoom: number, note: string) =>
    drawnAt(zoom, ["", "", "", note, ""]).map(({ text }) => text.replace(/^a_l.*/, "name"));
  expect(textsAt(1, "1.8 MFLOP")).toEqual(expect.arrayContaining(["name", "1.8 MFLOP", "w 64×64"]));
  for (const zoom of [0.4, 0.5]) {
    const texts = textsAt(zoom, "8 FLOP");
    expect(texts).toEqual(expect.arrayContaining(["name", "8 FLOP"]));
    expect(texts).not.toContain("w 64×64");
    expect(texts).not.toContain("w");
  }
});

test("from afar the numbers of open scopes lie on no other text", () => {
  const { fields, buffer } = packed(
    {
      ...sceneArrays(["", "net", "net/inner", "net/inner/most", "x"]),
      kind: Uint8Array.from([OPEN, OPEN, OPEN, OPEN, OP]),
      parent: Int32Array.from([-1, 0, 1, 2, 0]),
      // biome-ignore format: one box per line
      box: Float32Array.from([
        0, 0, 400, 500,
        40, 40, 340, 400,
        50, 62, 320, 360,
        60, 84, 300, 320,
        60, 460, 60, 14,
      ]),
    },
    { box: [5, 4], route: [5, 2] },
  );
  const scene = decodeScene(fields, buffer);
  for (const zoom of [0.15, 0.2, 0.25, 0.29]) {
    const texts = drawnAt(zoom, ["", "4.5 M", "3.6 M", "1.8 M", ""], scene);
    expect(texts.some(({ text }) => text.endsWith(" M"))).toBe(true);
    const boxes = texts.map(({ text, size, x, y }) => {
      const width = text.length * WIDTH * size;
      return { x: x - width / 2, y: y - size / 2, width, height: size };
    });
    for (const [k, one] of boxes.entries())
      for (const other of boxes.slice(k + 1)) expect(overlap(one, other), `${zoom}`).toBe(false);
  }
});
