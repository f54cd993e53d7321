// Draws with a context that keeps what is drawn: the scenes of tests/golden/pictures.json, at a
// zoom of 1.
import { readFileSync } from "node:fs";
import { vi } from "vitest";
import type { Field } from "../../src/protocol/messages";
import { decodePaint, decodeScene, type Paint, type Scene } from "../../src/protocol/scene";
import { drawHoverLayer } from "../../src/render/canvas/hover-layer";
import { paintAtOnce } from "../../src/render/canvas/layers";
import { NO_MATCHES } from "../../src/render/canvas/match-frames";
import { type Palette, readPalette } from "../../src/render/canvas/palette";
import type { Pen } from "../../src/render/canvas/pen";
import { Typesetter } from "../../src/render/canvas/typesetter";
import { SceneIndex } from "../../src/render/hit-testing/scene-index";

export type Shape = Record<string, unknown> & { kind: string };

interface Golden {
  themes: Record<string, [string, string]>;
  widths: Record<string, number>;
  cases: { name: string; fields: Field[]; buffer: string; shapes: Record<string, Shape[]> }[];
}

const golden: Golden = JSON.parse(
  readFileSync(new URL("../../../tests/golden/pictures.json", import.meta.url), "utf8"),
);
export const pictures = golden.cases.flatMap(({ name, ...rest }) =>
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
    const look = {
      line: this.strokeStyle,
      thick: this.lineWidth,
      dash: this.#dash,
      alpha: this.globalAlpha,
    };
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

export type Picture = (typeof pictures)[number];

/** The scene and the paint of a picture. */
export function decoded(picture: Picture): { scene: Scene; paint: Paint } {
  const bytes = Uint8Array.from(atob(picture.buffer), (letter) => letter.charCodeAt(0));
  const scene = decodeScene(picture.fields, new DataView(bytes.buffer));
  return { scene, paint: decodePaint(picture.fields, new DataView(bytes.buffer), scene.length) };
}

/** What the canvas draws of a picture. */
export function drawnByCanvas(picture: Picture): Shape[] {
  const { scene, paint } = decoded(picture);
  return drawnOf(scene, paint, picture.theme);
}

/** The colors of a theme. */
export function paletteOf(theme: string): Palette {
  const [backgroundColor, color] = (golden.themes[theme] ?? []).map(computed);
  vi.stubGlobal("getComputedStyle", () => ({ backgroundColor, color, fontFamily: "sans" }));
  return readPalette({} as Element);
}

/** What the canvas draws of a scene. */
export function drawnOf(
  scene: Scene,
  paint: Paint,
  theme = "light",
  warned: ReadonlySet<number> = new Set(),
): Shape[] {
  return record(scene, paint, theme, { warned }, paintAtOnce);
}

/** What the canvas draws above it for the inspected op, and the op and the edge at the pointer. */
export function drawnAbove(
  scene: Scene,
  paint: Paint,
  theme: string,
  at: { picked?: number; hover?: number; hoverEdge?: number },
): Shape[] {
  return record(
    scene,
    paint,
    theme,
    { picked: -1, hover: -1, hoverEdge: -1, ...at },
    drawHoverLayer,
  );
}

function record(
  scene: Scene,
  paint: Paint,
  theme: string,
  state: object,
  draw: (pen: Pen) => void,
): Shape[] {
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
    alike: none,
    barred: none,
    hits: none,
    hitCounts: new Map(),
    matches: NO_MATCHES,
    match: 0,
    ...state,
  };
  draw({
    ctx: recorder as unknown as CanvasRenderingContext2D,
    frame,
    palette: paletteOf(theme),
    viewport: { width: 4000, height: 4000 },
    ratio: 1e6,
    sceneIndex: new SceneIndex(scene),
    typesetter: new Typesetter("sans"),
    items: Array.from({ length: scene.length }, (_, item) => item),
    edges: Array.from({ length: scene.edges }, (_, edge) => edge),
  } as unknown as Pen);
  return recorder.drawn;
}
