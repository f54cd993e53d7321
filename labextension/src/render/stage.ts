// The stage: the canvas in the page, its size, the camera's moves, and when to draw.
import { at, type Box, boxOf, keyOf, type Scene, visibleItem } from "../scene";
import { isCalm } from "../settings";
import type { Store } from "../store";
import { type Anchor, type Arrival, destination, firstLook } from "./arrival";
import {
  type Camera,
  fitted,
  type Point,
  resized,
  toWorld,
  towards,
  type Viewport,
  zoomedAt,
} from "./camera";
import { Canvas2D } from "./canvas2d";
import { type Start, startingBoxes } from "./morph";
import { Motion, type Step } from "./motion";
import { Named } from "./named";
import { type Palette, readPalette, watchTheme } from "./palette";
import { boundsOf, type Region, type Taken, takenBy } from "./region";
import type { Frame } from "./renderer";
import { handleOf, isBelowHeader } from "./where";

/** Moving more boxes than this would stutter. */
const TOO_MANY = 2500;
/** Milliseconds after which a hand that does not move the camera any more rests. */
const REST = 90;
/** Milliseconds a frame may spend on what it lacks: during a gesture, and when nobody waits for the next one. */
const MOVING_BUDGET = 6;
const REST_BUDGET = 24;

export class Stage {
  readonly canvas: HTMLCanvasElement;
  readonly #host: HTMLElement;
  readonly #store: Store;
  readonly #renderer: Canvas2D;
  readonly #stop: (() => void)[] = [];
  #viewport: Viewport = { width: 0, height: 0 };
  #ratio = 1;
  readonly #motion = new Motion();
  #movedAt = Number.NEGATIVE_INFINITY;
  #placed = false;
  #marked: Scene | null = null;
  #scheduled = 0;
  #idle = 0;
  #palette: Palette;
  #refused: ReadonlyMap<string, string> | null = null;
  readonly #named = new Named();

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
      () => clearTimeout(this.#idle),
      watchTheme(() => this.#recolour()),
    );
    store.watch(["camera", "hover", "picked", "paint", "scene", "warned", "controls", "hitNames"], () =>
      this.schedule(),
    );
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
    const alike = this.#placed && before && !entrance && scene.length <= TOO_MANY ? before : null;
    this.#store.set({ ...change, scene, hover: -1, drawn: false });
    if (!this.#placed) {
      this.#place();
      return;
    }
    const made = arrival.focus
      ? at(this.#store.value.paint?.fresh ?? [], visibleItem(scene, arrival.focus))
      : 0;
    const to = destination(scene, camera, this.#viewport, { ...arrival, beside: made === 1 });
    // Between rooms nothing moves; the new one comes a little nearer, or, on the way out, goes a little away. What opens
    // is there at once, so the camera is, too: only what was there before glides to where it is seen from there.
    const from = entrance
      ? zoomedAt(to, entrance.inward ? 0.85 : 1.15, this.middle)
      : alike && !arrival.focus
        ? to
        : camera;
    this.#start(to, from, alike && startingBoxes(alike, scene, camera, from));
  }

  /** The middle of the canvas. */
  get middle(): Point {
    return { x: this.#viewport.width / 2, y: this.#viewport.height / 2 };
  }

  fit(): void {
    const { scene } = this.#store.value;
    if (scene) this.#start(fitted(boxOf(scene.box, 0), this.#viewport));
  }

  /** Fly to what is visible of an op, tensor or scope. */
  flyTo(name: string): void {
    const { scene, camera } = this.#store.value;
    const item = scene ? visibleItem(scene, name) : -1;
    if (scene && item > 0) this.#start(towards(boxOf(scene.box, item), this.#viewport, camera));
  }

  /** The camera at once where it is told, as while panning; ends any move. */
  setCamera(camera: Camera): void {
    this.#motion.stop();
    this.#placed = true;
    this.#movedAt = performance.now();
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
    return scene !== null && isBelowHeader(scene, item, toWorld(camera, point.x, point.y));
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
    return handleOf(scene, item, camera, this.#viewport);
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

  #start(to: Camera, from = this.#store.value.camera, boxes: Start | null = null): void {
    const calm = isCalm();
    if (calm) this.#motion.stop();
    else this.#motion.start(from, to, boxes);
    this.#store.set({ ...(calm ? { camera: to } : {}), drawn: false });
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
    const step = this.#advance(scene, now);
    const moving = this.#motion.goal !== null || now - this.#movedAt < REST;
    const complete = this.#renderer.draw(this.#picture(scene, step, moving));
    // What is new stands complete where it belongs, whatever still glides around it.
    if (
      complete &&
      scene !== this.#marked &&
      this.#store.value.camera === (this.#motion.goal ?? this.#store.value.camera)
    ) {
      performance.mark("tfgraphwidget:drawn");
      this.#marked = scene;
    }
    clearTimeout(this.#idle);
    if (this.#motion.goal || !complete) {
      this.#renderer.work(performance.now() + (moving ? MOVING_BUDGET : REST_BUDGET));
      this.schedule();
      return;
    }
    this.#think();
    if (this.#store.value.drawn) return;
    this.#store.set({ drawn: true });
  }

  /** While nothing happens, make ready for what may come. */
  #think(): void {
    this.#idle = window.setTimeout(() => {
      if (this.#scheduled === 0 && this.#renderer.work(performance.now() + MOVING_BUDGET)) this.#think();
    }, MOVING_BUDGET);
  }

  /** One step of the move under way; where everything is now. */
  #advance(scene: Scene, now: number): Step | null {
    const step = this.#motion.advance(scene, now, this.#viewport);
    if (!step) return null;
    const scheduled = this.#scheduled;
    this.#store.set({ camera: step.camera });
    // The camera was set for the frame that is being drawn: it needs no other.
    if (scheduled === 0 && this.#scheduled !== 0) {
      cancelAnimationFrame(this.#scheduled);
      this.#scheduled = 0;
    }
    return step;
  }

  #picture(scene: Scene, step: Step | null, moving: boolean): Frame {
    const { paint, camera, hover, picked, controls } = this.#store.value;
    if (!paint) throw new Error("There is no selection to draw yet.");
    return {
      scene,
      paint,
      boxes: step?.boxes ?? scene.box,
      edgeAlpha: step?.alpha ?? 1,
      glides: step?.glides ?? null,
      camera,
      goal: this.#motion.goal ?? camera,
      moving,
      hover,
      picked: scene.byKey.get(picked) ?? -1,
      controls,
      ...this.#named.items(scene, this.#store.value.warned, this.#refused, this.#store.value.hitNames),
    };
  }

  #resize(): void {
    const before = this.#viewport;
    this.#measure();
    const { scene, camera } = this.#store.value;
    if (!this.#placed) this.#place();
    else if (scene) {
      const seenBy = (old: Camera) => resized(old, boxOf(scene.box, 0), before, this.#viewport);
      if (this.#motion.goal) this.#motion.redirect(seenBy);
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
