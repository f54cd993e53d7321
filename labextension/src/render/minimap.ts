// The minimap: the whole drawing in a corner with a frame around the visible part. Dragging in it
// moves the camera. It is hidden from screen readers, because the arrow keys do the same.
import {
  at,
  BADGE,
  type Box,
  boxOf,
  OPEN,
  type Paint,
  type Scene,
  visibleItem,
} from "../protocol/scene";
import type { Store } from "../state/store";
import { type Camera, cameraHolding, inView, type Point, type Viewport } from "./camera/camera";
import { areaColors, boxColors } from "./canvas/boxes";
import type { Palette } from "./canvas/palette";
import { pointOf } from "./gestures/drag";
import type { Stage } from "./stage";

/** The size of the map, and what it takes at most of each side of a small view. */
const MOST: Viewport = { width: 180, height: 120 };
const SHARE = 0.24;
/** In a narrower view it would cover what the user looks at. */
const LEAST_HOST = 560;
const PADDING = 4;
/** The least side of a spot, in pixels of the map. */
const LEAST_SPOT = 5;

/** How a drawing fits into the map: pixels of the map are (world - origin) · scale. */
export interface Fit extends Viewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export function fitOf(whole: Box, most: Viewport = MOST): Fit {
  const room = { width: most.width - 2 * PADDING, height: most.height - 2 * PADDING };
  const scale = Math.min(
    room.width / Math.max(whole.width, 1),
    room.height / Math.max(whole.height, 1),
  );
  const width = Math.round(Math.max(whole.width * scale, 16)) + 2 * PADDING;
  const height = Math.round(Math.max(whole.height * scale, 16)) + 2 * PADDING;
  return { x: whole.x - PADDING / scale, y: whole.y - PADDING / scale, scale, width, height };
}

/** The largest map in a view. */
export function largestMap({ width, height }: Viewport): Viewport {
  return {
    width: Math.min(MOST.width, SHARE * width),
    height: Math.min(MOST.height, SHARE * height),
  };
}

/** The frame around what is in view, on the map and cut at its border. */
export function frameOf(fit: Fit, camera: Camera, viewport: Viewport): Box {
  const seen = inView(camera, viewport);
  const left = Math.max((seen.x - fit.x) * fit.scale, 0);
  const top = Math.max((seen.y - fit.y) * fit.scale, 0);
  const right = Math.min((seen.x + seen.width - fit.x) * fit.scale, fit.width);
  const bottom = Math.min((seen.y + seen.height - fit.y) * fit.scale, fit.height);
  return { x: left, y: top, width: Math.max(right - left, 0), height: Math.max(bottom - top, 0) };
}

/** Where some ops are on the map, or the closed scopes around them; large enough to be seen. */
export function spotsOf(scene: Scene, names: readonly string[], fit: Fit): Box[] {
  const items = new Set(names.map((name) => visibleItem(scene, name)).filter((item) => item > 0));
  return [...items].map((item) => {
    const { x, y, width, height } = boxOf(scene.box, item);
    const [wide, high] = [
      Math.max(width * fit.scale, LEAST_SPOT),
      Math.max(height * fit.scale, LEAST_SPOT),
    ];
    const [left, top] = [(x + width / 2 - fit.x) * fit.scale, (y + height / 2 - fit.y) * fit.scale];
    return { x: left - wide / 2, y: top - high / 2, width: wide, height: high };
  });
}

/** The camera with the world point under a point of the map in its middle. */
export function cameraAt(fit: Fit, { x, y }: Point, camera: Camera, viewport: Viewport): Camera {
  const world = { x: x / fit.scale + fit.x, y: y / fit.scale + fit.y };
  return cameraHolding(world, { x: viewport.width / 2, y: viewport.height / 2 }, camera.zoom);
}

/** The empty border of a drawing: with only that out of view, all is seen. */
const BORDER = 14;

/** Whether the minimap is useful: there is space for it, and something is out of view. */
export function isUseful(whole: Box, camera: Camera, viewport: Viewport): boolean {
  const seen = inView(camera, viewport);
  const slack = 1 / camera.zoom + BORDER;
  const all =
    seen.x <= whole.x + slack &&
    seen.y <= whole.y + slack &&
    seen.x + seen.width >= whole.x + whole.width - slack &&
    seen.y + seen.height >= whole.y + whole.height - slack;
  return viewport.width >= LEAST_HOST && !all;
}

export class Minimap {
  readonly canvas = document.createElement("canvas");
  readonly #picture = document.createElement("canvas");
  readonly #stage: Stage;
  readonly #store: Store;
  #scheduled = 0;
  #pictured: readonly unknown[] = [];

  constructor(stage: Stage, store: Store) {
    this.#stage = stage;
    this.#store = store;
    this.canvas.className = "tgw-minimap";
    this.canvas.hidden = true;
    this.canvas.setAttribute("aria-hidden", "true");
    store.watch(["camera", "scene", "paint", "minimap", "drawn", "edited"], () => {
      if (this.#scheduled === 0) this.#scheduled = requestAnimationFrame(() => this.#frame());
    });
    this.#listen();
  }

  #listen(): void {
    const go = (event: PointerEvent) => {
      const { scene, camera } = this.#store.value;
      if (!scene) return;
      const fit = fitOf(boxOf(scene.box, 0), largestMap(this.#stage.viewport));
      this.#stage.setCamera(cameraAt(fit, pointOf(event), camera, this.#stage.viewport));
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.canvas.hasPointerCapture(event.pointerId)) go(event);
    });
  }

  #frame(): void {
    this.#scheduled = 0;
    const { scene, paint, camera, minimap, edited } = this.#store.value;
    const { viewport, palette } = this.#stage;
    this.canvas.hidden =
      !scene || !paint || !minimap || !isUseful(boxOf(scene.box, 0), camera, viewport);
    if (!scene || !paint || this.canvas.hidden) return;
    const fit = fitOf(boxOf(scene.box, 0), largestMap(this.#stage.viewport));
    this.#paint(scene, paint, palette, fit);
    const ctx = this.canvas.getContext("2d");
    if (!ctx) return;
    const ratio = devicePixelRatio;
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.drawImage(this.#picture, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    // What an edit changed, which may be out of view.
    ctx.fillStyle = palette.fresh;
    for (const box of spotsOf(scene, edited, fit))
      ctx.fillRect(box.x, box.y, box.width, box.height);
    const { x, y, width, height } = frameOf(fit, camera, viewport);
    ctx.fillStyle = palette.selected;
    ctx.globalAlpha = 0.12;
    ctx.fillRect(x, y, width, height);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = palette.selected;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(x + 0.75, y + 0.75, Math.max(width - 1.5, 3), Math.max(height - 1.5, 3));
  }

  /** The drawing without the frame, when it is another one. */
  #paint(scene: Scene, paint: Paint, palette: Palette, fit: Fit): void {
    const ratio = devicePixelRatio;
    const picture = [scene, paint, palette, ratio, fit.width, fit.height];
    if (picture.every((part, i) => part === this.#pictured[i])) return;
    this.#pictured = picture;
    for (const canvas of [this.canvas, this.#picture]) {
      canvas.width = Math.round(fit.width * ratio);
      canvas.height = Math.round(fit.height * ratio);
    }
    Object.assign(this.canvas.style, { width: `${fit.width}px`, height: `${fit.height}px` });
    const ctx = this.#picture.getContext("2d", { alpha: false, willReadFrequently: true });
    if (ctx) drawMap(ctx, scene, paint, palette, { ...fit, scale: fit.scale * ratio });
  }
}

/**
 * Open scopes as areas, boxes as specks of at least a pixel; what would be much smaller is left
 * out.
 */
function drawMap(
  ctx: CanvasRenderingContext2D,
  scene: Scene,
  paint: Paint,
  palette: Palette,
  { x, y, scale }: Fit,
): void {
  ctx.fillStyle = palette.background;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  for (let item = 1; item < scene.length; item++) {
    const kind = at(scene.kind, item);
    const box = boxOf(scene.box, item);
    const [width, height] = [box.width * scale, box.height * scale];
    if (kind === BADGE || width < 0.4) continue;
    const colors = (kind === OPEN ? areaColors : boxColors)(
      { frame: { scene, paint }, palette },
      item,
    );
    ctx.fillStyle = colors.fill;
    ctx.fillRect((box.x - x) * scale, (box.y - y) * scale, Math.max(width, 1), Math.max(height, 1));
  }
}
