// The Canvas2D renderer: culls to what is in view and draws it in layers, areas first, badges last.
import type { Scene } from "../scene";
import { drawAreas, drawBoxes } from "./boxes";
import { inView, type Viewport } from "./camera";
import { drawDoors } from "./doors";
import { drawEdges } from "./edges";
import { drawLabels, Typesetter } from "./labels";
import { drawBadges, drawOutlines, drawSigns } from "./marks";
import type { Palette } from "./palette";
import { grown, type Pen } from "./pen";
import { Picker } from "./pick";
import type { Frame, Renderer } from "./renderer";

export class Canvas2D implements Renderer {
  readonly canvas = document.createElement("canvas");
  readonly #ctx: CanvasRenderingContext2D;
  #palette: Palette;
  #typesetter: Typesetter;
  #viewport: Viewport = { width: 0, height: 0 };
  #ratio = 1;
  #indexed: { scene: Scene; picker: Picker } | null = null;

  /** `software`: keep the canvas in main memory, which is faster than a GPU that is only emulated. */
  constructor(palette: Palette, software: boolean) {
    const ctx = this.canvas.getContext("2d", { alpha: false, willReadFrequently: software });
    if (!ctx) throw new Error("This browser cannot draw on a canvas.");
    this.#ctx = ctx;
    this.#palette = palette;
    this.#typesetter = new Typesetter(palette.font);
  }

  resize(viewport: Viewport, ratio: number): void {
    this.#viewport = viewport;
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
    if (this.#indexed?.scene !== scene) this.#indexed = { scene, picker: new Picker(scene) };
    return this.#indexed.picker;
  }

  draw(frame: Frame): void {
    const ctx = this.#ctx;
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    ctx.fillStyle = this.#palette.background;
    ctx.fillRect(0, 0, this.#viewport.width, this.#viewport.height);
    const pen = this.#pen(frame);
    drawAreas(pen);
    drawEdges(pen);
    drawBoxes(pen);
    drawDoors(pen);
    drawOutlines(pen);
    drawLabels(pen, this.#typesetter);
    drawBadges(pen);
    drawSigns(pen);
  }

  #pen(frame: Frame): Pen {
    const { scene, boxes, camera } = frame;
    const picker = this.picker(scene);
    const area = grown(inView(camera, this.#viewport), 24);
    // While boxes move they are not where the index has them.
    const moving = boxes !== scene.box;
    const items = moving
      ? Array.from({ length: scene.length }, (_, item) => item)
      : picker.itemsIn(area, 0.5 / camera.zoom);
    return {
      ctx: this.#ctx,
      frame,
      palette: this.#palette,
      viewport: this.#viewport,
      ratio: this.#ratio,
      items,
      // From afar, what spans a pixel or two is noise that takes most of the time.
      edges: picker.edgesIn(area, 3 / camera.zoom),
    };
  }
}
