// The Canvas2D renderer. It redraws a simple drawing in every frame, and composes a complex one
// from tiles, which it paints between gestures.
import { boxOf, type Scene } from "../../protocol/scene";
import { type Camera, inView, type Viewport } from "../camera/camera";
import { SceneIndex } from "../hit-testing/scene-index";
import { TileCache } from "../tiles/tile-cache";
import { alignToPixels, cameraOf, type Spot, TILE } from "../tiles/tile-grid";
import type { Frame, Renderer } from "./frame";
import { drawHoverLayer } from "./hover-layer";
import { paintAtOnce, paintPicture } from "./layers";
import type { Palette } from "./palette";
import { expandBox, type Pen } from "./pen";
import { Typesetter } from "./typesetter";

/**
 * Milliseconds of drawing that a gesture does not notice, and those below which tiles are not worth
 * their while.
 */
const SLOW = 9;
const QUICK = 4;
/** A drawing of more items than this is not even tried without tiles. */
const LARGE = 2500;
/** Lines in one tile or view; of more the longest are drawn, the others would be a blur. */
const MOST_LINES = 6000;

export class CanvasRenderer implements Renderer {
  readonly canvas = document.createElement("canvas");
  readonly #ctx: CanvasRenderingContext2D;
  readonly #tiles: TileCache;
  #palette: Palette;
  #typesetter: Typesetter;
  #viewport: Viewport = { width: 0, height: 0 };
  #ratio = 1;
  #index: { scene: Scene; picker: SceneIndex } | null = null;
  #tiled = false;
  #pictured: readonly unknown[] = [];
  /** The canvas before this drawing had tiles, and its camera. */
  #snapshot: { canvas: HTMLCanvasElement; camera: Camera } | null = null;
  #last: Camera | null = null;

  /**
   * `software`: keep the canvas in main memory, which is faster than a GPU that is only emulated.
   */
  constructor(palette: Palette, software: boolean) {
    const ctx = this.canvas.getContext("2d", { alpha: false, willReadFrequently: software });
    if (!ctx) throw new Error("This browser cannot draw on a canvas.");
    this.#ctx = ctx;
    this.#tiles = new TileCache(software);
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

  setPalette(palette: Palette): void {
    if (palette.font !== this.#palette.font) this.#typesetter = new Typesetter(palette.font);
    this.#palette = palette;
  }

  /** The spatial index over a scene, made once. */
  sceneIndex(scene: Scene): SceneIndex {
    if (this.#index?.scene !== scene) {
      this.#index = { scene, picker: new SceneIndex(scene) };
      this.#tiled = scene.length > LARGE;
    }
    return this.#index.picker;
  }

  draw(given: Frame): boolean {
    const ctx = this.#ctx;
    const frame = { ...given, camera: alignToPixels(given.camera, this.#ratio) };
    this.sceneIndex(frame.scene);
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const moved = frame.boxes !== frame.scene.box;
    const complete =
      this.#tiled && !moved ? this.#compose(frame) : this.#drawDirectly(frame, moved);
    this.#last = frame.camera;
    drawHoverLayer(this.#pen(ctx, frame, frame.camera, this.#viewport, false));
    return complete;
  }

  work(deadline: number): boolean {
    return this.#tiled && this.#tiles.work(deadline);
  }

  #drawDirectly(frame: Frame, moved: boolean): boolean {
    const start = performance.now();
    paintAtOnce(this.#pen(this.#ctx, frame, frame.camera, this.#viewport));
    // Drawing is only recorded until a pixel is read.
    this.#ctx.getImageData(0, 0, 1, 1);
    if (!moved && performance.now() - start > SLOW) this.#tiled = true;
    return true;
  }

  /** Put the frame together from tiles; whether they are those that belong there. */
  #compose(frame: Frame): boolean {
    this.#renew(frame);
    const screen = { ...this.#viewport, camera: frame.camera, ratio: this.#ratio };
    const goal = { ...screen, camera: alignToPixels(frame.goal, this.#ratio) };
    const there = this.#tiles.want(goal, frame.moving, boxOf(frame.scene.box, 0));
    const ctx = this.#ctx;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.fillStyle = this.#palette.background;
    ctx.fillRect(0, 0, this.canvas.width, this.canvas.height);
    // Smoothing a whole screen takes longer than a frame; what moves need not be smooth.
    ctx.imageSmoothingEnabled = !frame.moving;
    if (there) this.#snapshot = null;
    if (this.#snapshot) this.#showSnapshot(this.#snapshot, frame.camera);
    else this.#tiles.blit(ctx, screen);
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const complete = there && !frame.moving;
    if (complete && this.#tiles.cost(screen) < QUICK && frame.scene.length <= LARGE)
      this.#tiled = false;
    return complete;
  }

  /** Tiles show one picture: when anything in it changes, they are painted again. */
  #renew(frame: Frame): void {
    const { scene, paint, warned, barred, controls } = frame;
    const picture = [scene, this.#ratio, this.#palette, paint, warned, barred, controls];
    if (picture.every((part, i) => part === this.#pictured[i])) return;
    const standIn = scene === this.#pictured[0] && this.#ratio === this.#pictured[1];
    this.#pictured = picture;
    if (!standIn) this.#keepSnapshot();
    this.#tiles.renew((ctx, spot) => this.#paintTile(ctx, spot, frame), standIn);
  }

  #keepSnapshot(): void {
    if (!this.#last) return;
    const canvas = document.createElement("canvas");
    Object.assign(canvas, { width: this.canvas.width, height: this.canvas.height });
    canvas.getContext("2d", { alpha: false })?.drawImage(this.canvas, 0, 0);
    this.#snapshot = { canvas, camera: this.#last };
  }

  /** Half of the old drawing and half of the new one would be neither. */
  #showSnapshot(
    { canvas, camera: then }: { canvas: HTMLCanvasElement; camera: Camera },
    now: Camera,
  ): void {
    const scale = now.zoom / then.zoom;
    const x = (then.x - now.x) * now.zoom * this.#ratio;
    const y = (then.y - now.y) * now.zoom * this.#ratio;
    this.#ctx.drawImage(canvas, x, y, canvas.width * scale, canvas.height * scale);
  }

  #paintTile(ctx: CanvasRenderingContext2D, spot: Spot, frame: Frame): Iterator<void> {
    const side = TILE / this.#ratio;
    ctx.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    const camera = cameraOf(spot, this.#ratio);
    return paintPicture(
      this.#pen(ctx, { ...frame, camera }, camera, { width: side, height: side }),
    );
  }

  #pen(
    ctx: CanvasRenderingContext2D,
    frame: Frame,
    camera: Camera,
    viewport: Viewport,
    filled = true,
  ): Pen {
    const sceneIndex = this.sceneIndex(frame.scene);
    const area = expandBox(inView(camera, viewport), 24 / Math.min(camera.zoom, 1));
    // While boxes move they are not where the index has them.
    const moving = frame.boxes !== frame.scene.box;
    const all = () => Array.from({ length: frame.scene.length }, (_, item) => item);
    return {
      ctx,
      frame,
      palette: this.#palette,
      viewport,
      ratio: this.#ratio,
      sceneIndex,
      typesetter: this.#typesetter,
      items: !filled ? [] : moving ? all() : sceneIndex.itemsIn(area, 0.5 / camera.zoom),
      edges: filled ? linesIn(sceneIndex, area, camera.zoom) : [],
    };
  }
}

function linesIn(
  picker: SceneIndex,
  area: Parameters<SceneIndex["edgesIn"]>[0],
  zoom: number,
): number[] {
  let least = 1.2 / zoom;
  let lines = picker.edgesIn(area, least);
  while (lines.length > MOST_LINES) {
    least *= 1.6;
    lines = picker.longest(lines, least);
  }
  return lines;
}
