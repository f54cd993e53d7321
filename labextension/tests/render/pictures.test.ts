// What the canvas draws at a zoom of 1 is what a saved picture has: tests/scene/test_display_list.py writes the file.
import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import type { Field } from "../../src/protocol/messages";
import { decodePaint, decodeScene } from "../../src/protocol/scene";
import { paintAtOnce } from "../../src/render/canvas/layers";
import { readPalette } from "../../src/render/canvas/palette";
import type { Pen } from "../../src/render/canvas/pen";
import { Typesetter } from "../../src/render/canvas/typesetter";
import { SceneIndex } from "../../src/render/hit-testing/scene-index";

type Shape = Record<string, unknown> & { kind: string };

interface Golden {
  themes: Record<string, [string, string]>;
  widths: Record<string, number>;
  cases: { name: string; fields: Field[]; buffer: string; shapes: Record<string, Shape[]> }[];
}

const golden: Golden = JSON.parse(
  readFileSync(new URL("../../../tests/golden/pictures.json", import.meta.url), "utf8"),
);
const pictures = golden.cases.flatMap(({ name, ...rest }) =>
  Object.keys(golden.themes).map((theme) => ({ name, theme, ...rest })),
);

/** A context that keeps what is drawn: texts, rectangles and lines with their colors. */
class Recorder {
  font = "";
  fillStyle = "";
  strokeStyle = "";
  lineWidth = 1;
  globalAlpha = 1;
  readonly drawn: Shape[] = [];
  #dash: number[] = [];
  #at = [0, 0];
  #upright = false;
  #rects: number[][] = [];
  #lines: number[][] = [];
  readonly #saved: [number, number[], boolean][] = [];

  measureText(text: string) {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1]);
    const bold = this.font.startsWith("600") ? 1.08 : 1;
    return { width: (golden.widths[text] ?? 0.6 * text.length) * size * bold };
  }
  setLineDash(dash: number[]) {
    this.#dash = dash;
  }
  save() {
    this.#saved.push([this.globalAlpha, this.#at, this.#upright]);
  }
  restore() {
    [this.globalAlpha, this.#at, this.#upright] = this.#saved.pop() ?? [1, [0, 0], false];
  }
  translate(x: number, y: number) {
    this.#at = [x, y];
  }
  rotate() {
    this.#upright = true;
  }
  beginPath() {
    [this.#rects, this.#lines] = [[], []];
  }
  rect(...place: number[]) {
    this.#rects.push(place.slice(0, 4));
  }
  roundRect(...place: number[]) {
    this.rect(...place);
  }
  arc(x: number, y: number, radius: number, from: number, to: number) {
    if (to - from > 6) this.rect(x - radius, y - radius, 2 * radius, 2 * radius);
    else {
      const ends = [from, to].flatMap((angle) => [
        x + radius * Math.cos(angle),
        y + radius * Math.sin(angle),
      ]);
      this.#lines.push(ends);
    }
  }
  moveTo(x: number, y: number) {
    this.#lines.push([x, y, x, y]);
  }
  lineTo(x: number, y: number) {
    this.#lines.at(-1)?.splice(2, 2, x, y);
  }
  arcTo() {}
  closePath() {}
  clip() {}
  fillRect() {}
  strokeText() {}
  fill() {
    for (const place of this.#rects) this.drawn.push({ kind: "fill", place, fill: this.fillStyle });
  }
  stroke() {
    const look = { line: this.strokeStyle, thick: this.lineWidth, dash: this.#dash, alpha: this.globalAlpha };
    for (const place of this.#rects) this.drawn.push({ kind: "border", place, ...look });
    for (const ends of this.#lines) this.drawn.push({ kind: "line", ends, ...look });
  }
  fillText(text: string, x: number, y: number) {
    const size = Number(/([\d.]+)px/.exec(this.font)?.[1]);
    const bold = /^[67]00/.test(this.font);
    const [left, top] = [x + (this.#at[0] ?? 0), y + (this.#at[1] ?? 0)];
    const place = { x: left, y: top, upright: this.#upright };
    this.drawn.push({ kind: "text", text, size, bold, color: this.fillStyle, ...place });
  }
}

function computed(hex: string): string {
  return `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(", ")})`;
}

function drawnByCanvas(picture: (typeof pictures)[number]): Shape[] {
  const bytes = Uint8Array.from(atob(picture.buffer), (letter) => letter.charCodeAt(0));
  const scene = decodeScene(picture.fields, new DataView(bytes.buffer));
  const paint = decodePaint(picture.fields, new DataView(bytes.buffer), scene.length);
  const [backgroundColor, color] = (golden.themes[picture.theme] ?? []).map(computed);
  vi.stubGlobal("getComputedStyle", () => ({ backgroundColor, color, fontFamily: "sans" }));
  const recorder = new Recorder();
  const none = new Set<number>();
  const frame = {
    scene,
    paint,
    boxes: scene.box,
    edgeAlpha: 1,
    glides: null,
    camera: { x: 0, y: 0, zoom: 1 },
    controls: true,
    warned: none,
    edited: none,
    barred: none,
  };
  paintAtOnce({
    ctx: recorder as unknown as CanvasRenderingContext2D,
    frame,
    palette: readPalette({} as Element),
    viewport: { width: 4000, height: 4000 },
    ratio: 1e6,
    sceneIndex: new SceneIndex(scene),
    typesetter: new Typesetter("sans"),
    items: Array.from({ length: scene.length }, (_, item) => item),
    edges: Array.from({ length: scene.edges }, (_, edge) => edge),
  } as unknown as Pen);
  return recorder.drawn;
}

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
  expect(keysOf(filled, "fill", ["place", "fill"])).toEqual(keysOf(drawn, "fill", ["place", "fill"]));
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
