// The stage: the canvas in the page, its size, camera moves, and when to draw.
import {
  at,
  type Box,
  boxOf,
  CLOSED,
  keyOf,
  OPEN,
  type Scene,
  visibleItem,
} from "../protocol/scene";
import { prefersStill } from "../state/preferences";
import type { Screen, Store } from "../state/store";
import { CameraAnimation, type GlideStart, initialBoxes, type Step } from "./camera/animation";
import {
  type Camera,
  cameraAfterResize,
  cameraTowards,
  fitBox,
  isWithin,
  NO_SIZE,
  type Point,
  toScreen,
  toWorld,
  type Viewport,
  zoomedAt,
} from "./camera/camera";
import {
  type Anchor,
  type Arrival,
  destination,
  firstLook,
  selectedBox,
} from "./camera/destination";
import { CanvasRenderer } from "./canvas/canvas-renderer";
import { HEADER } from "./canvas/far-labels";
import type { Frame } from "./canvas/frame";
import { matchFrames, NO_MATCHES } from "./canvas/match-frames";
import { type Palette, readPalette, watchTheme } from "./canvas/palette";
import { boundsOf, itemsInRegion, type Region, type RegionItems } from "./hit-testing/region";
import { nearestEdge, runsThrough } from "./hit-testing/scene-index";

/** Moving more boxes than this would stutter. */
const TOO_MANY = 2500;
/** Milliseconds without camera movement after which a gesture has ended. */
const REST = 90;
/** Milliseconds per frame for painting missing parts: during a gesture, and at rest. */
const MOVING_BUDGET = 6;
const REST_BUDGET = 24;
/** Milliseconds for which the first drawing waits for the size of the page. */
const PATIENCE = 50;
/** Pixels by which an item may move in an edit before the camera follows it. */
const STILL = 24;
/** Pixels beside an edge at which it is hit. */
const EDGE_REACH = 5;
/** Pixels of the warnings that lie in the margin above the drawing. */
const IN_MARGIN = 12;

/** What the canvas shows. */
const DRAWN_FIELDS = [
  "camera",
  "hover",
  "hoverEdge",
  "picked",
  "paint",
  "scene",
  "warned",
  "edited",
  "controls",
  "hitNames",
  "hitOps",
  "hitCounts",
  "hit",
] as const;

export class Stage {
  readonly canvas: HTMLCanvasElement;
  readonly #host: HTMLElement;
  readonly #store: Store;
  readonly #renderer: CanvasRenderer;
  readonly #stop: (() => void)[] = [];
  #viewport: Viewport = NO_SIZE;
  #covered = 0;
  #ratio = 1;
  readonly #motion = new CameraAnimation();
  #movedAt = Number.NEGATIVE_INFINITY;
  #placed = false;
  #untouched = false;
  #marked: Scene | null = null;
  #scheduled = 0;
  #idle = 0;
  #palette: Palette;
  #refused: ReadonlyMap<string, string> | null = null;
  readonly #namedItems = new NamedItems();

  constructor(host: HTMLElement, store: Store, software: boolean) {
    this.#host = host;
    this.#store = store;
    this.#palette = this.#readPalette();
    this.#renderer = new CanvasRenderer(this.#palette, software);
    this.canvas = this.#renderer.canvas;
    host.append(this.canvas);
    const size = new ResizeObserver(() => this.#resize());
    size.observe(host);
    this.#stop.push(
      () => size.disconnect(),
      () => cancelAnimationFrame(this.#scheduled),
      () => clearTimeout(this.#idle),
      watchTheme(() => this.#onThemeChange()),
      store.watch(DRAWN_FIELDS, () => this.schedule()),
      store.watch(["connecting"], ({ connecting }) =>
        this.#setRefused(connecting?.refused ?? null),
      ),
    );
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

  /** Show a decoded scene. `change` is stored with it, in one step. */
  show(scene: Scene, change: Parameters<Store["set"]>[0], arrival: Arrival = {}): void {
    const { scene: before, camera } = this.#store.value;
    const { graphEntry } = arrival;
    const alike = this.#placed && before && !graphEntry && scene.length <= TOO_MANY ? before : null;
    const anchor = arrival.anchor ?? this.#anchorOf(scene, arrival);
    this.#store.set({ ...change, scene, hover: -1, hoverEdge: -1, drawn: false });
    if (!this.#placed) {
      this.#place();
      return;
    }
    const refit = this.#looksAgain(arrival);
    const isFresh = arrival.focus
      ? at(this.#store.value.paint?.fresh ?? [], visibleItem(scene, arrival.focus))
      : 0;
    const beside = isFresh === 1 ? selectedBox(scene, this.#store.value.paint) : undefined;
    const to = destination(scene, camera, this.#lookAt(), { ...arrival, anchor, beside, refit });
    // A change to another graph zooms in a little, or out on the way back; boxes do not move. An
    // opened scope is in place at once, and so is the camera: only boxes that were there before
    // move.
    const from = graphEntry
      ? zoomedAt(to, graphEntry.inward ? 0.85 : 1.15, this.middle)
      : alike && !arrival.focus && !arrival.fit && !refit
        ? to
        : camera;
    this.#start(to, from, alike && initialBoxes(alike, scene, camera, from));
  }

  /** Whether a new drawing is looked at as for the first time because the old one was not moved. */
  #looksAgain({ refit = false, graphEntry }: Arrival): boolean {
    const again = this.#untouched && refit;
    this.#untouched = again || (graphEntry !== undefined && !graphEntry.camera);
    return again;
  }

  /**
   * The size of the canvas once it has one; 0 × 0 if it gets none soon, as in a hidden tab.
   */
  async size(): Promise<Viewport> {
    const deadline = performance.now() + PATIENCE;
    while (this.#host.clientWidth === 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 0));
    const { clientWidth, clientHeight } = this.#host;
    return clientWidth > 0 ? { width: clientWidth, height: clientHeight } : NO_SIZE;
  }

  /** Whether the camera is where the first look put it, and no other drawing was shown since. */
  get untouched(): boolean {
    return this.#untouched;
  }

  /** The middle of the canvas. */
  get middle(): Point {
    return { x: this.#viewport.width / 2, y: this.#viewport.height / 2 };
  }

  fit(): void {
    const { scene } = this.#store.value;
    this.#untouched = false;
    if (scene) this.#start(fitBox(boxOf(scene.box, 0), this.#lookAt()));
  }

  /** The viewport, with what warnings cover of it now. */
  #lookAt(): Viewport {
    const warnings = this.#host.querySelector(".tgw-warnings");
    this.#covered = Math.max((warnings?.clientHeight ?? 0) - IN_MARGIN, 0);
    return { ...this.#viewport, covered: this.#covered };
  }

  /** Move the camera to an op, tensor or scope, or to the closed scope around it. */
  flyTo(name: string): void {
    const { scene, camera } = this.#store.value;
    const item = scene ? visibleItem(scene, name) : -1;
    this.#untouched = false;
    if (scene && item > 0)
      this.#start(cameraTowards(boxOf(scene.box, item), this.#lookAt(), camera));
  }

  /** Set the camera immediately, as while panning; ends an animation. */
  setCamera(camera: Camera): void {
    this.#motion.stop();
    this.#placed = true;
    this.#untouched = false;
    this.#movedAt = performance.now();
    this.#store.set({ camera });
  }

  /** The innermost item at a point of the canvas; 0 on the background. */
  itemAt(point: Point): number {
    const { scene, camera } = this.#store.value;
    if (!scene) return -1;
    const world = toWorld(camera, point.x, point.y);
    return Math.max(0, this.#renderer.sceneIndex(scene).at(world.x, world.y));
  }

  /** The edge at a point of the canvas, or -1; control edges count while they are drawn. */
  edgeAt(point: Point): number {
    const { scene, camera } = this.#store.value;
    if (!scene) return -1;
    const world = toWorld(camera, point.x, point.y);
    const reach = EDGE_REACH / camera.zoom;
    const area = { x: world.x - reach, y: world.y - reach, width: 2 * reach, height: 2 * reach };
    return nearestEdge(scene, this.#drawnEdges(scene, area), world, reach);
  }

  /** Ops and closed scopes within some pixels of a point, the last drawn first. */
  itemsNear({ x, y }: Point, reach: number): number[] {
    return this.boxesIn({ x: x - reach, y: y - reach, width: 2 * reach, height: 2 * reach });
  }

  /** Ops and closed scopes in a rectangle of the canvas, the last drawn first. */
  boxesIn(box: Box): number[] {
    const { scene } = this.#store.value;
    if (!scene) return [];
    const touched = this.#renderer.sceneIndex(scene).itemsIn(this.#worldBox(box));
    return touched.filter((item) => at(scene.kind, item) !== OPEN).reverse();
  }

  /** Whether an edge runs through a rectangle of the canvas. */
  hasLineIn(box: Box): boolean {
    const { scene } = this.#store.value;
    if (!scene) return false;
    const area = this.#worldBox(box);
    return runsThrough(scene, this.#drawnEdges(scene, area), area);
  }

  #worldBox({ x, y, width, height }: Box): Box {
    const { camera } = this.#store.value;
    return { ...toWorld(camera, x, y), width: width / camera.zoom, height: height / camera.zoom };
  }

  #drawnEdges(scene: Scene, area: Box): number[] {
    const { controls } = this.#store.value;
    const near = this.#renderer.sceneIndex(scene).edgesIn(area);
    return near.filter((edge) => controls || at(scene.tensors, edge) > 0);
  }

  /** The box of an item in pixels of the canvas. */
  screenBox(item: number): Box {
    const { scene, camera } = this.#store.value;
    const { x, y, width, height } = boxOf(scene?.box ?? new Float32Array(), item);
    const corner = toScreen(camera, x, y);
    return { ...corner, width: width * camera.zoom, height: height * camera.zoom };
  }

  /** The items in a region. */
  itemsIn(region: Region): RegionItems {
    const { scene } = this.#store.value;
    if (!scene) return { items: [], ops: [], scopes: [] };
    return itemsInRegion(region, scene, this.#renderer.sceneIndex(scene).itemsIn(boundsOf(region)));
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

  /**
   * Where the item in the inspector is on the screen, if an edit has moved it and nothing else is
   * to be shown.
   */
  #anchorOf(scene: Scene, { still, focus, fit }: Arrival): Anchor | undefined {
    const { scene: shown } = this.#store.value;
    if (!still || focus || fit || !shown) return undefined;
    // An op that was moved into a closed scope is in there.
    const [before, after] = [shown.byKey.get(still.before), visibleItem(scene, still.after)];
    if (!before || after <= 0 || at(scene.kind, after) === OPEN || at(shown.kind, before) === OPEN)
      return undefined;
    const screen = this.handle(before);
    const isSeen = isWithin({ ...screen, width: 0, height: 0 }, { x: 0, y: 0, ...this.#viewport });
    const [item, there] = this.#held(scene, still.before, after, screen);
    const isMoved = Math.hypot(there.x - screen.x, there.y - screen.y) > STILL;
    return isSeen && isMoved ? { key: keyOf(scene, item), screen } : undefined;
  }

  /**
   * What is held at a point, and where it would be else: of an op and one that was made beside it,
   * which the layout may have put into another column, the one that was there before, if the other
   * is in view then.
   */
  #held(scene: Scene, name: string, made: number, point: Point): [item: number, there: Box] {
    const { camera } = this.#store.value;
    const there = handleOf(scene, made, camera, this.#viewport);
    const item = scene.byKey.get(name) ?? made;
    const own = handleOf(scene, item, camera, this.#viewport);
    const { width, height } = there;
    const x = there.x + point.x - own.x - width / 2;
    const y = there.y + point.y - own.y - height / 2;
    const isInView = isWithin({ x, y, width, height }, { x: 0, y: 0, ...this.#viewport });
    return isInView ? [item, own] : [made, there];
  }

  /**
   * The middle of an op or closed scope, the middle of what is in view of an open scope's header;
   * on the canvas.
   */
  handle(item: number): Box {
    const { scene, camera } = this.#store.value;
    if (!scene) return { x: 0, y: 0, width: 0, height: 0 };
    return handleOf(scene, item, camera, this.#viewport);
  }

  schedule(): void {
    if (this.#scheduled === 0) this.#scheduled = requestAnimationFrame((now) => this.#frame(now));
  }

  /** Gray out the ops that cannot be connected to the dragged tensor. */
  #setRefused(refused: ReadonlyMap<string, string> | null): void {
    if (refused === this.#refused) return;
    this.#refused = refused;
    this.schedule();
  }

  #start(to: Camera, from = this.#store.value.camera, boxes: GlideStart | null = null): void {
    const calm = prefersStill();
    if (calm) this.#motion.stop();
    else this.#motion.start(from, to, boxes);
    this.#store.set({ ...(calm ? { camera: to } : {}), drawn: false });
    this.schedule();
  }

  /** The first camera of a view, as soon as there are both a scene and a size. */
  #place(): void {
    const { scene } = this.#store.value;
    if (this.#placed || !scene || this.#viewport.width === 0) return;
    this.#placed = this.#untouched = true;
    this.#store.set({ camera: firstLook(scene, this.#lookAt()) });
  }

  #frame(now: number): void {
    cancelAnimationFrame(this.#scheduled);
    this.#scheduled = 0;
    if (this.#ratio !== devicePixelRatio) this.#adapt();
    const { scene, paint } = this.#store.value;
    if (!scene || !paint || this.#viewport.width === 0) return;
    const step = this.#advance(scene, now);
    const moving = this.#motion.goal !== null || now - this.#movedAt < REST;
    const complete = this.#renderer.draw(this.#picture(scene, step, moving));
    // New items are complete and in place, although others may still be moving.
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
    this.#scheduleIdleWork();
    if (this.#store.value.drawn) return;
    this.#store.set({ drawn: true });
  }

  /** While nothing happens, make ready for what may come. */
  #scheduleIdleWork(): void {
    this.#idle = window.setTimeout(() => {
      if (this.#scheduled === 0 && this.#renderer.work(performance.now() + MOVING_BUDGET))
        this.#scheduleIdleWork();
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
    const { paint, camera, hover, hoverEdge, picked, controls } = this.#store.value;
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
      hoverEdge,
      picked: scene.byKey.get(picked) ?? -1,
      controls,
      match: this.#store.value.hitOps.length > 0 ? this.#store.value.hit + 1 : 0,
      ...this.#namedItems.items(scene, this.#store.value, this.#refused),
    };
  }

  #resize(): void {
    this.#adapt();
    this.#frame(performance.now());
  }

  /** Adapt the camera to a new size or resolution. */
  #adapt(): void {
    const [before, ratio] = [{ ...this.#viewport, covered: this.#covered }, this.#ratio];
    this.#measure();
    // Notebook 7 puts a widget on the page after it was made: it had no style until now.
    if (this.#palette.font === "" && this.#host.isConnected) this.#onThemeChange();
    const { scene, camera } = this.#store.value;
    if (!this.#placed) this.#place();
    else if (this.#ratio !== ratio)
      this.#untouched = false; // the browser's zoom enlarges it, too
    else if (scene) {
      const seenBy = (old: Camera) =>
        this.#untouched
          ? firstLook(scene, this.#lookAt())
          : cameraAfterResize(old, boxOf(scene.box, 0), before, this.#lookAt());
      if (this.#motion.goal) this.#motion.redirect(seenBy);
      else this.#store.set({ camera: seenBy(camera) });
    }
  }

  /** Size and resolution, which changes when the window goes to another screen. */
  #measure(): void {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (width === 0 || height === 0) return;
    this.#viewport = { width, height };
    this.#ratio = devicePixelRatio;
    this.#renderer.resize(this.#viewport, this.#ratio);
  }

  #onThemeChange(): void {
    this.#palette = this.#readPalette();
    this.#renderer.setPalette(this.#palette);
    this.#store.set({ drawn: false }); // nor is the minimap, which has these colors too
    this.schedule();
  }

  /** The colors of the theme; theme.css wants to know as well whether it is a dark one. */
  #readPalette(): Palette {
    const palette = readPalette(this.#host);
    const theme = palette.dark ? "dark" : "light";
    this.#host.closest(".tfgraphwidget")?.setAttribute("data-theme", theme);
    return palette;
  }
}

// The items named in messages: the same sets for the same messages, so that nothing is redrawn
// without need.

type Items = Pick<
  Frame,
  "warned" | "edited" | "alike" | "barred" | "hits" | "hitCounts" | "matches"
>;
type Named = Pick<Screen, "warned" | "edited" | "details" | "hitNames" | "hitOps" | "hitCounts">;
type Refused = ReadonlyMap<string, string> | null;

class NamedItems {
  #by: readonly unknown[] = [];
  #items: Items = {
    warned: new Set(),
    edited: new Set(),
    alike: new Set(),
    barred: new Set(),
    hits: new Set(),
    hitCounts: new Map(),
    matches: NO_MATCHES,
  };

  /**
   * `warned`: ops named in a refusal; `edited`: by an edit; `details`: of what others are like;
   * `refused`: they cannot be connected;
   * `hitNames`: found.
   */
  items(
    scene: Scene,
    { warned, edited, details, hitNames, hitOps, hitCounts }: Named,
    refused: Refused,
  ): Items {
    const by = [scene, warned, edited, details, refused, hitNames, hitOps, hitCounts];
    if (by.every((part, i) => part === this.#by[i])) return this.#items;
    this.#by = by;
    const held =
      hitOps.length > 0
        ? []
        : hitCounts.map(([name, count]) => [drawnItem(scene, name), count] as const);
    this.#items = {
      warned: new Set(warned.map((name) => visibleItem(scene, name))),
      edited: new Set(edited.map((name) => visibleItem(scene, name))),
      // One in a closed scope is not lit: that scope is not like this.
      alike: new Set((details?.alike ?? []).flatMap((name) => scene.byKey.get(name) ?? [])),
      barred: new Set([...(refused?.keys() ?? [])].map((name) => scene.byKey.get(name) ?? -1)),
      hits: new Set([
        ...closedItems(scene, hitOps.length > 0 ? hitOps.flat() : hitNames),
        ...held.map(([item]) => item),
      ]),
      hitCounts: new Map(held.filter(([item]) => at(scene.kind, item) === CLOSED)),
      matches: matchFrames(scene, hitOps),
    };
    return this.#items;
  }
}

/** The item of a closed scope or group; of a variable's it is the badge. */
function drawnItem(scene: Scene, name: string): number {
  return scene.byKey.get(`${name}/`) ?? scene.byKey.get(name) ?? -1;
}

/** The ops and closed scopes that represent some ops; those in a closed group have none. */
function closedItems(scene: Scene, names: readonly string[]): number[] {
  return names
    .map((name) => visibleItem(scene, name))
    .filter((item) => at(scene.kind, item) !== OPEN);
}

// The position of an item on the canvas, where it can be clicked.

/**
 * The middle of an op or closed scope, the middle of what is in view of an open scope's header; and
 * the whole size.
 */
function handleOf(scene: Scene, item: number, camera: Camera, viewport: Viewport): Box {
  const { x, y, width, height } = boxOf(scene.box, item);
  const open = at(scene.kind, item) === OPEN;
  const corner = toScreen(camera, x, y);
  const left = open ? Math.max(corner.x, 0) : corner.x;
  const right = corner.x + width * camera.zoom;
  const end = open ? Math.min(right, viewport.width) : right;
  return {
    x: end > left ? (left + end) / 2 : corner.x + (width * camera.zoom) / 2,
    y: corner.y + ((open ? Math.min(HEADER, height) : height) * camera.zoom) / 2,
    width: width * camera.zoom,
    height: height * camera.zoom,
  };
}

/** Whether a world point in an open scope is below its header. */
function isBelowHeader(scene: Scene, item: number, point: Point): boolean {
  return at(scene.kind, item) === OPEN && point.y > boxOf(scene.box, item).y + HEADER;
}
