// Drag gestures on the canvas: pan, pinch zoom, box or lasso selection (by tool or Shift), and
// moving a box by hand.
import type { Store, Tool } from "../../state/store";
import { type Point, panBy, toWorld, zoomedAt } from "../camera/camera";
import { extendRegion, type Region, type RegionCommand, type Shape } from "../hit-testing/region";
import type { Stage } from "../stage";
import { dropPoint, itemMoveTo, movableItem } from "./move-item";

export interface DragListener {
  hover(item: number, point: Point): void;
  /** A box or lasso was drawn and let go. */
  select(region: Region): void;
  /** The right button, without Shift, or a finger that rests. */
  contextMenu(item: number, point: Point): void;
  /**
   * An item was put elsewhere: its middle, in pixels of the whole drawing. Without it drags pan.
   */
  moved?(item: number, x: number, y: number): void;
}

type Keys = Pick<MouseEvent, "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** Pixels that the pointer may move during a click. */
const STILL = 4;
/** Pixels between the points of a lasso. */
const STEP = 3;
const MIDDLE_BUTTON = 1;
/**
 * Milliseconds until a finger that rests means the menu: a little more than browsers take to send a
 * right click for it, which Safari on a tablet never does.
 */
const REST = 650;

/** The region that a drag with these keys draws; null to pan. */
export function shapeOf(tool: Tool, keys: Keys): Shape | null {
  if (tool !== "pan") return tool;
  return keys.shiftKey ? "box" : null;
}

/** How the items of a region change the selection, with these keys at the end. */
export function regionCommandOf(keys: Keys): RegionCommand {
  if (keys.ctrlKey || keys.metaKey) return "add";
  return keys.altKey ? "remove" : "set";
}

/** Listens; returns whether the last press has moved, so was not a click. */
export function listenToDrags(stage: Stage, store: Store, drags: DragListener): () => boolean {
  const press = new Press(stage, store, drags);
  const { canvas } = stage;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 && event.button !== MIDDLE_BUTTON) return;
    press.begin(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => press.move(event));
  canvas.addEventListener("pointerup", (event) => press.end(event, true));
  canvas.addEventListener("pointercancel", (event) => press.end(event, false));
  canvas.addEventListener("contextmenu", () => press.endRest());
  return () => press.moved;
}

/** From the first button or finger down to the last one up. */
class Press {
  readonly #stage: Stage;
  readonly #store: Store;
  readonly #drags: DragListener;
  readonly #down = new Map<number, Point>();
  #way = 0;
  #shape: Shape | null = null;
  #start: Point = { x: 0, y: 0 };
  /** The item that was pressed and can be lifted, or -1. */
  #held = -1;
  #rest: ReturnType<typeof setTimeout> | undefined;

  constructor(stage: Stage, store: Store, drags: DragListener) {
    this.#stage = stage;
    this.#store = store;
    this.#drags = drags;
  }

  get moved(): boolean {
    return this.#way > STILL;
  }

  begin(event: PointerEvent): void {
    const point = pointOf(event);
    if (this.#down.size === 0) {
      this.#way = 0;
      this.#start = point;
      this.#shape = event.button === 0 ? shapeOf(this.#store.value.tool, event) : null;
      this.#held = event.button === 0 && !this.#shape ? this.#liftable(event, point) : -1;
      if (event.pointerType === "touch") this.#rest = setTimeout(() => this.#rested(point), REST);
    } else {
      // A second finger: to zoom is meant.
      this.#shape = null;
      this.#held = -1;
      this.endRest();
      this.#store.set({ region: null, itemMove: null });
    }
    this.#down.set(event.pointerId, point);
  }

  move(event: PointerEvent): void {
    const point = pointOf(event);
    const last = this.#down.get(event.pointerId);
    if (!last) this.#drags.hover(this.#stage.itemAt(point), point);
    else this.#drag(event, last, point);
  }

  /** The press moves, ends, or has its menu already. */
  endRest(): void {
    clearTimeout(this.#rest);
  }

  #rested(point: Point): void {
    this.#way = Number.POSITIVE_INFINITY; // what the browser makes of it then is not a click
    this.#shape = null;
    this.#drags.contextMenu(this.#stage.itemAt(point), point);
  }

  end(event: PointerEvent, meant: boolean): void {
    this.endRest();
    this.#down.delete(event.pointerId);
    if (this.#down.size > 0) return;
    this.#stage.canvas.classList.remove("tgw-dragging");
    this.#putDown(meant);
    const { region } = this.#store.value;
    if (!region) return;
    this.#store.set({ region: null });
    if (meant) this.#drags.select({ ...region, command: regionCommandOf(event) });
  }

  #drag(event: PointerEvent, last: Point, point: Point): void {
    const before = this.moved;
    this.#way += Math.hypot(point.x - last.x, point.y - last.y);
    this.#down.set(event.pointerId, point);
    if (!this.moved) return;
    this.endRest();
    if (!before) this.#drags.hover(-1, point);
    if (this.#shape) this.#draw(this.#shape, point, event, !before);
    else if (this.#held > 0) this.#lift(point, !before);
    else this.#pan(event.pointerId, before || this.#down.size > 1 ? last : this.#start, point);
  }

  #draw(shape: Shape, point: Point, event: PointerEvent, first: boolean): void {
    const { region, camera } = this.#store.value;
    const world = toWorld(camera, point.x, point.y);
    const start = toWorld(camera, this.#start.x, this.#start.y);
    const drawn = first ? { shape, points: [start], command: regionCommandOf(event) } : region;
    // Given up with Escape: the rest of the drag draws nothing.
    if (drawn)
      this.#store.set({
        region: extendRegion(drawn, world, regionCommandOf(event), STEP / camera.zoom),
      });
  }

  /** The item that a press here can move: none for touch, which needs the drag to pan. */
  #liftable(event: PointerEvent, point: Point): number {
    const { scene, camera } = this.#store.value;
    if (!scene || !this.#drags.moved || event.pointerType === "touch") return -1;
    const item = this.#stage.itemAt(point);
    return movableItem(scene, item, this.#stage.isInside(item, point), camera);
  }

  #lift(point: Point, first: boolean): void {
    const { camera, itemMove } = this.#store.value;
    this.#stage.canvas.classList.add("tgw-dragging");
    // Given up with Escape: the rest of the drag moves nothing.
    if (first || itemMove)
      this.#store.set({ itemMove: itemMoveTo(this.#held, this.#start, point, camera) });
  }

  #putDown(meant: boolean): void {
    const { itemMove, scene } = this.#store.value;
    if (!itemMove || !scene) return;
    this.#store.set({ itemMove: null });
    const { x, y } = dropPoint(scene, itemMove);
    if (meant) this.#drags.moved?.(itemMove.item, x, y);
  }

  #pan(pointer: number, last: Point, point: Point): void {
    const { camera } = this.#store.value;
    this.#stage.canvas.classList.add("tgw-dragging");
    const other = [...this.#down].find(([id]) => id !== pointer)?.[1];
    if (other) {
      const factor = distance(point, other) / Math.max(distance(last, other), 1);
      this.#stage.setCamera(zoomedAt(camera, factor, other));
    } else this.#stage.setCamera(panBy(camera, point.x - last.x, point.y - last.y));
  }
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

export function pointOf(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}
