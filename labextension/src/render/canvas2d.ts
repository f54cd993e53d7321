// The Canvas2D renderer. A drawing that is quick to draw is drawn anew in every frame; a larger one is put together from
// tiles, and made of them beside the gestures.
import { boxOf, type Scene } from "../scene";
import { type Camera, inView, type Viewport } from "./camera";
import { drawOver } from "./over";
import type { Palette } from "./palette";
import { grown, type Pen } from "./pen";
import { Picker } from "./pick";
import { paintAtOnce, paintPicture } from "./picture";
import type { Frame, Renderer } from "./renderer";
import { Typesetter } from "./text";
import { Tiles } from "./tiles";
import { aligned, cameraOf, type Spot, TILE } from "./tiling";

/** Milliseconds of drawing that a gesture does not notice, and those below which tiles are not worth their while. */
const SLOW = 9;
const QUICK = 4;
/** A drawing of more items than this is not even tried without tiles. */
const LARGE = 2500;
/** Lines in one tile or view; of more the longest are drawn, the others would be a blur. */
const MOST_LINES = 6000;

export class Canvas2D implements Renderer {
  readonly canvas = document.createElement("canvas");
  readonly #ctx: CanvasRenderingContext2D;
  readonly #tiles: Tiles;
  #palette: Palette;
  #typesetter: Typesetter;
  #viewport: Viewport = { width: 0, height: 0 };
  #ratio = 1;
  #indexed: { scene: Scene; picker: Picker } | null = null;
  #tiled = false;
  #pictured: readonly unknown[] = [];
  /** What was on the canvas before there were tiles of this drawing, and where the camera was. */
  #still: { canvas: HTMLCanvasElement; camera: Camera } | null = null;
  #last: Camera | null = null;

  /** `software`: keep the canvas in main memory, which is faster than a GPU that is only emulated. */
  constructor(palette: Palette, software: boolean) {
    const ctx = this.canvas.getContext("2d", { alpha: false, willReadFrequently: software });
    if (!ctx) throw new Error("This browser cannot draw on a canvas.");
    this.#ctx = ctx;
    this.#tiles = new Tiles(software);
    this.#palette = palette;
    this.#typesetter = new Typesetter(palette.font);
  }

  resize(viewport: Viewport, ratio: number): void {
    this.#viewport = viewport;
    if (ratio !== this.#ratio) this.#pictured = [];
    this.#ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(viewport.width * ratio));
    this.canvas.height = Math.max(1, Math.round(viewport.height * ratio));
  }

  recolour(palette: Palette): void {
    if (palette.font !== this.#palette.font) this.#typesetter = new Typesetter(palette.font);
    this.#palette = palette;
  }

  /** The spatial index over a scene, made once. */
  picker(scene: Scene): Picker {
    if (this.#indexed?.scene !== scene) {
      this.#indexed = { scene, picker: new Picker(scene) };
      this.#tiled = scene.length > LARGE;
    }
    return this.#indexed.picker;
  }

  draw(given: Frame): boolean {
    const ctx = this.#ctx;
    const frame = { ...given, camera: aligned(given.camera, this.#ratio) };
    this.picker(frame.scene);
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const moved = frame.boxes !== frame.scene.box;
    const complete = this.#tiled && !moved ? this.#compose(frame) : this.#drawAnew(frame, moved);
    this.#last = frame.camera;
    drawOver(this.#pen(ctx, frame, frame.camera, this.#viewport, false));
    return complete;
  }

  work(deadline: number): boolean {
    return this.#tiled && this.#tiles.work(deadline);
  }

  #drawAnew(frame: Frame, moved: boolean): boolean {
    const start = performance.now();
    paintAtOnce(this.#pen(this.#ctx, frame, frame.camera, this.#viewport));
    // What was drawn is only recorded until somebody looks at it.
    this.#ctx.getImageData(0, 0, 1, 1);
    if (!moved && performance.now() - start > SLOW) this.#tiled = true;
    return true;
  }

  /** Put the frame together from tiles; whether they are those that belong there. */
  #compose(frame: Frame): boolean {
    this.#renew(frame);
    const screen = { ...this.#viewport, camera: frame.camera, ratio: this.#ratio };
    const goal = { ...screen, camera: aligned(frame.goal, this.#ratio) };
    const there = this.#tiles.want(goal, frame.moving, boxOf(frame.scene.box, 0));
    const ctx = this.#ctx;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.fillStyle = this.#palette.background;
    ctx.fillRect(0, 0, this.canvas.width, this.canvas.height);
    // Smoothing a whole screen takes longer than a frame; what moves need not be smooth.
    ctx.imageSmoothingEnabled = !frame.moving;
    if (there) this.#still = null;
    if (this.#still) this.#showStill(this.#still, frame.camera);
    else this.#tiles.blit(ctx, screen);
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const complete = there && !frame.moving;
    if (complete && this.#tiles.cost(screen) < QUICK && frame.scene.length <= LARGE) this.#tiled = false;
    return complete;
  }

  /** Tiles show one picture: when anything about it is another they are made anew. */
  #renew(frame: Frame): void {
    const { scene, paint, warned, barred, controls } = frame;
    const picture = [scene, this.#ratio, this.#palette, paint, warned, barred, controls];
    if (picture.every((part, i) => part === this.#pictured[i])) return;
    const standIn = scene === this.#pictured[0] && this.#ratio === this.#pictured[1];
    this.#pictured = picture;
    if (!standIn) this.#keepStill();
    this.#tiles.renew((ctx, spot) => this.#paintTile(ctx, spot, frame), standIn);
  }

  #keepStill(): void {
    if (!this.#last) return;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: this.canvas.width, height: this.canvas.height });
    canvas.getContext("2d", { alpha: false })?.drawImage(this.canvas, 0, 0);
    this.#still = { canvas, camera: this.#last };
  }

  /** Half of the old drawing and half of the new one would be neither. */
  #showStill({ canvas, camera: then }: { canvas: HTMLCanvasElement; camera: Camera }, now: Camera): void {
    const scale = now.zoom / then.zoom;
    const x = (then.x - now.x) * now.zoom * this.#ratio;
    const y = (then.y - now.y) * now.zoom * this.#ratio;
    this.#ctx.drawImage(canvas, x, y, canvas.width * scale, canvas.height * scale);
  }

  #paintTile(ctx: CanvasRenderingContext2D, spot: Spot, frame: Frame): Iterator<void> {
    const side = TILE / this.#ratio;
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const camera = cameraOf(spot, this.#ratio);
    return paintPicture(this.#pen(ctx, { ...frame, camera }, camera, { width: side, height: side }));
  }

  #pen(ctx: CanvasRenderingContext2D, frame: Frame, camera: Camera, viewport: Viewport, filled = true): Pen {
    const picker = this.picker(frame.scene);
    const area = grown(inView(camera, viewport), 24 / Math.min(camera.zoom, 1));
    // While boxes move they are not where the index has them.
    const moving = frame.boxes !== frame.scene.box;
    const all = () => Array.from({ length: frame.scene.length }, (_, item) => item);
    return {
      ctx,
      frame,
      palette: this.#palette,
      viewport,
      ratio: this.#ratio,
      picker,
      typesetter: this.#typesetter,
      items: !filled ? [] : moving ? all() : picker.itemsIn(area, 0.5 / camera.zoom),
      edges: filled ? linesIn(picker, area, camera.zoom) : [],
    };
  }
}

function linesIn(picker: Picker, area: Parameters<Picker["edgesIn"]>[0], zoom: number): number[] {
  let least = 1.2 / zoom;
  let lines = picker.edgesIn(area, least);
  while (lines.length > MOST_LINES) {
    least *= 1.6;
    lines = picker.longest(lines, least);
  }
  return lines;
}
