// The stage: the canvas in the page, its size, the camera's moves, and when to draw.
import { at, type Box, boxOf, keyOf, OPEN, type Scene, visibleItem } from "../scene";
import type { Store } from "../store";
import { type Anchor, type Arrival, destination, firstLook } from "./arrival";
import {
  between,
  type Camera,
  fitted,
  type Point,
  resized,
  toScreen,
  toWorld,
  towards,
  type Viewport,
  zoomedAt,
} from "./camera";
import { Canvas2D } from "./canvas2d";
import { HEADER } from "./labels";
import { eased, mixedBoxes, startingBoxes } from "./morph";
import { type Palette, readPalette, watchTheme } from "./palette";
import { boundsOf, type Region, type Taken, takenBy } from "./region";
import type { Frame } from "./renderer";

const DURATION = 200;
/** Moving more boxes than this would stutter. */
const TOO_MANY = 4000;

interface Move {
  readonly from: Camera;
  readonly to: Camera;
  readonly boxes: Float32Array | null;
  readonly start: number;
}

export class Stage {
  readonly canvas: HTMLCanvasElement;
  readonly #host: HTMLElement;
  readonly #store: Store;
  readonly #renderer: Canvas2D;
  readonly #stop: (() => void)[] = [];
  #viewport: Viewport = { width: 0, height: 0 };
  #ratio = 1;
  #move: Move | null = null;
  #placed = false;
  #marked = false;
  #scheduled = 0;
  #between = new Float32Array(0);
  #palette: Palette;
  #refused: ReadonlyMap<string, string> | null = null;

  constructor(host: HTMLElement, store: Store, software: boolean) {
    this.#host = host;
    this.#store = store;
    this.#palette = this.#readPalette();
    this.#renderer = new Canvas2D(this.#palette, software);
    this.canvas = this.#renderer.canvas;
    host.append(this.canvas);
    const size = new ResizeObserver(() => this.#resize());
    size.observe(host);
    this.#stop.push(
      () => size.disconnect(),
      () => cancelAnimationFrame(this.#scheduled),
      watchTheme(() => this.#recolour()),
    );
    store.watch(["camera", "hover", "picked", "paint", "scene", "warned"], () => this.schedule());
    store.watch(["aim"], ({ aim }) => this.#bar(aim?.refused ?? null));
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  get viewport(): Viewport {
    return this.#viewport;
  }

  get palette(): Palette {
    return this.#palette;
  }

  /** Make a decoded scene what the screen shows. `change` is stored with it, in one step. */
  show(scene: Scene, change: Parameters<Store["set"]>[0], arrival: Arrival = {}): void {
    const { scene: before, camera } = this.#store.value;
    const { entrance } = arrival;
    const still = this.#placed && before && !entrance ? startingBoxes(before, scene) : null;
    this.#store.set({ ...change, scene, hover: -1, drawn: false });
    if (!this.#placed) {
      this.#place();
      return;
    }
    const to = destination(scene, camera, this.#viewport, arrival);
    // Between rooms nothing moves; the new one comes a little nearer, or, on the way out, goes a little away.
    const from = entrance ? zoomedAt(to, entrance.inward ? 0.85 : 1.15, this.middle) : camera;
    this.#start(to, still && scene.length <= TOO_MANY ? still : null, from);
  }

  /** The middle of the canvas. */
  get middle(): Point {
    return { x: this.#viewport.width / 2, y: this.#viewport.height / 2 };
  }

  fit(): void {
    const { scene } = this.#store.value;
    if (scene) this.#start(fitted(boxOf(scene.box, 0), this.#viewport), null);
  }

  /** Fly to what is visible of an op, tensor or scope. */
  flyTo(name: string): void {
    const { scene, camera } = this.#store.value;
    const item = scene ? visibleItem(scene, name) : -1;
    if (scene && item > 0) this.#start(towards(boxOf(scene.box, item), this.#viewport, camera), null);
  }

  /** The camera at once where it is told, as while panning; ends any move. */
  setCamera(camera: Camera): void {
    this.#move = null;
    this.#placed = true;
    this.#store.set({ camera });
  }

  /** The innermost item at a point of the canvas; 0 on the background. */
  itemAt(point: Point): number {
    const { scene, camera } = this.#store.value;
    if (!scene) return -1;
    const world = toWorld(camera, point.x, point.y);
    return Math.max(0, this.#renderer.picker(scene).at(world.x, world.y));
  }

  /** What a box or lasso takes. */
  taken(region: Region): Taken {
    const { scene } = this.#store.value;
    if (!scene) return { items: [], ops: [], scopes: [] };
    return takenBy(region, scene, this.#renderer.picker(scene).itemsIn(boundsOf(region)));
  }

  /** Whether a point in an open scope is below its header. */
  isInside(item: number, point: Point): boolean {
    const { scene, camera } = this.#store.value;
    if (!scene || at(scene.kind, item) !== OPEN) return false;
    return toWorld(camera, point.x, point.y).y > boxOf(scene.box, item).y + HEADER;
  }

  anchorAt(item: number, point?: Point): Anchor | undefined {
    const { scene } = this.#store.value;
    if (!scene) return undefined;
    const handle = this.handle(item);
    return { key: keyOf(scene, item), screen: point ?? handle };
  }

  /** The middle of an op or closed scope, the middle of what is in view of an open scope's header; on the canvas. */
  handle(item: number): Box {
    const { scene, camera } = this.#store.value;
    if (!scene) return { x: 0, y: 0, width: 0, height: 0 };
    const { x, y, width, height } = boxOf(scene.box, item);
    const open = at(scene.kind, item) === OPEN;
    const corner = toScreen(camera, x, y);
    const left = open ? Math.max(corner.x, 0) : corner.x;
    const right = corner.x + width * camera.zoom;
    const end = open ? Math.min(right, this.#viewport.width) : right;
    return {
      x: end > left ? (left + end) / 2 : corner.x + (width * camera.zoom) / 2,
      y: corner.y + ((open ? Math.min(HEADER, height) : height) * camera.zoom) / 2,
      width: width * camera.zoom,
      height: height * camera.zoom,
    };
  }

  schedule(): void {
    if (this.#scheduled === 0) this.#scheduled = requestAnimationFrame((now) => this.#frame(now));
  }

  /** Grey out the ops that cannot read what is dragged. */
  #bar(refused: ReadonlyMap<string, string> | null): void {
    if (refused === this.#refused) return;
    this.#refused = refused;
    this.schedule();
  }

  #start(to: Camera, boxes: Float32Array | null, from = this.#store.value.camera): void {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (calm) {
      this.#move = null;
      this.#store.set({ camera: to, drawn: false });
    } else {
      this.#move = { from, to, boxes, start: performance.now() };
      this.#store.set({ drawn: false });
    }
    this.schedule();
  }

  /** The first camera of a view, as soon as there are both a scene and a size. */
  #place(): void {
    const { scene } = this.#store.value;
    if (this.#placed || !scene || this.#viewport.width === 0) return;
    this.#placed = true;
    this.#store.set({ camera: firstLook(scene, this.#viewport) });
  }

  #frame(now: number): void {
    cancelAnimationFrame(this.#scheduled);
    this.#scheduled = 0;
    if (this.#ratio !== devicePixelRatio) this.#measure();
    const { scene, paint } = this.#store.value;
    if (!scene || !paint || this.#viewport.width === 0) return;
    const boxes = this.#advance(scene, now);
    this.#renderer.draw(this.#picture(scene, boxes));
    if (this.#move) this.schedule();
    else if (!this.#store.value.drawn) {
      if (!this.#marked) performance.mark("tfgraphwidget:drawn");
      this.#marked = true;
      this.#store.set({ drawn: true });
    }
  }

  /** One step of the move under way; the boxes as they are now. */
  #advance(scene: Scene, now: number): Float32Array {
    if (!this.#move) return scene.box;
    const { from, to, boxes, start } = this.#move;
    const t = Math.min(Math.max((now - start) / DURATION, 0), 1);
    const way = eased(t);
    if (t === 1) this.#move = null;
    const scheduled = this.#scheduled;
    this.#store.set({ camera: t === 1 ? to : between(from, to, way, this.#viewport) });
    // The camera was set for the frame that is being drawn: it needs no other.
    if (scheduled === 0 && this.#scheduled !== 0) {
      cancelAnimationFrame(this.#scheduled);
      this.#scheduled = 0;
    }
    if (!boxes || t === 1 || boxes.length !== scene.box.length) return scene.box;
    if (this.#between.length !== boxes.length) this.#between = new Float32Array(boxes.length);
    return mixedBoxes(boxes, scene.box, way, this.#between);
  }

  #picture(scene: Scene, boxes: Float32Array): Frame {
    const { paint, camera, hover, picked, warned } = this.#store.value;
    if (!paint) throw new Error("There is no selection to draw yet.");
    return {
      scene,
      paint,
      boxes,
      edgeAlpha: boxes === scene.box ? 1 : 0,
      camera,
      hover,
      picked: scene.byKey.get(picked) ?? -1,
      warned: new Set(warned.map((name) => visibleItem(scene, name))),
      barred: new Set([...(this.#refused?.keys() ?? [])].map((name) => scene.byKey.get(name) ?? -1)),
    };
  }

  #resize(): void {
    const before = this.#viewport;
    this.#measure();
    const { scene, camera } = this.#store.value;
    if (!this.#placed) this.#place();
    else if (scene) {
      const seenBy = (old: Camera) => resized(old, boxOf(scene.box, 0), before, this.#viewport);
      if (this.#move) this.#move = { ...this.#move, to: seenBy(this.#move.to) };
      else this.#store.set({ camera: seenBy(camera) });
    }
    this.#frame(performance.now());
  }

  /** Size and resolution, which changes when the window goes to another screen. */
  #measure(): void {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (width === 0 || height === 0) return;
    this.#viewport = { width, height };
    this.#ratio = devicePixelRatio;
    this.#renderer.resize(this.#viewport, this.#ratio);
  }

  #recolour(): void {
    this.#palette = this.#readPalette();
    this.#renderer.recolour(this.#palette);
    this.schedule();
  }

  /** The colours of the theme; theme.css wants to know as well whether it is a dark one. */
  #readPalette(): Palette {
    const palette = readPalette(this.#host);
    const theme = palette.dark ? "dark" : "light";
    this.#host.closest(".tfgraphwidget")?.setAttribute("data-theme", theme);
    return palette;
  }
}
