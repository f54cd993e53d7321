// Mouse and touch on the canvas, as gestures: hover, click, double click, pan, zoom.

import type { Store } from "../store";
import { type Point, panned, zoomedAt } from "./camera";
import type { Stage } from "./stage";

export interface Gestures {
  click(item: number, event: MouseEvent): void;
  doubleClick(item: number, point: Point): void;
  hover(item: number, point: Point): void;
}

/** Pixels that a hand may shake while it clicks. */
const STILL = 4;

export function listen(stage: Stage, store: Store, gestures: Gestures): void {
  const { canvas } = stage;
  listenToWheel(stage, store);
  const moved = listenToDrag(stage, store, gestures);
  canvas.addEventListener("click", (event) => {
    // The second click of a double click would undo what the first one did.
    if (!moved() && event.detail < 2) gestures.click(stage.itemAt(pointOf(event)), event);
  });
  canvas.addEventListener("dblclick", (event) => {
    event.stopPropagation();
    if (!moved()) gestures.doubleClick(stage.itemAt(pointOf(event)), pointOf(event));
  });
  canvas.addEventListener("pointerleave", (event) => gestures.hover(-1, pointOf(event)));
}

function listenToWheel(stage: Stage, store: Store): void {
  const perLine = 16;
  const perPage = 400;
  stage.canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      event.stopPropagation();
      const unit = [1, perLine, perPage][event.deltaMode] ?? 1;
      // A pinch on a touchpad arrives as a wheel with Ctrl and small steps.
      const speed = event.ctrlKey ? 0.01 : 0.0018;
      const factor = Math.exp(-Math.min(Math.max(event.deltaY * unit, -240), 240) * speed);
      stage.setCamera(zoomedAt(store.value.camera, factor, pointOf(event)));
    },
    { passive: false },
  );
}

/** Dragging pans, two fingers zoom as well. Returns whether the last press has moved, so was no click. */
function listenToDrag(stage: Stage, store: Store, gestures: Gestures): () => boolean {
  const { canvas } = stage;
  const down = new Map<number, Point>();
  let way = 0;
  const release = (event: PointerEvent) => {
    down.delete(event.pointerId);
    if (down.size === 0) canvas.classList.remove("tgw-dragging");
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    if (down.size === 0) way = 0;
    down.set(event.pointerId, pointOf(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = pointOf(event);
    const last = down.get(event.pointerId);
    if (!last) return gestures.hover(stage.itemAt(point), point);
    way += Math.hypot(point.x - last.x, point.y - last.y);
    if (way <= STILL) return;
    canvas.classList.add("tgw-dragging");
    gestures.hover(-1, point);
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    down.set(event.pointerId, point);
    if (other) {
      const factor = distance(point, other) / Math.max(distance(last, other), 1);
      stage.setCamera(zoomedAt(store.value.camera, factor, other));
    } else stage.setCamera(panned(store.value.camera, point.x - last.x, point.y - last.y));
  });
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  return () => way > STILL;
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function pointOf(event: MouseEvent): Point {
  return { x: event.offsetX, y: event.offsetY };
}
