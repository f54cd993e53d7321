// Translates mouse and touch events on the canvas into gestures: hover, click, double click, zoom;
// see drag.ts.
import type { Store } from "../../state/store";
import { type Point, zoomedAt } from "../camera/camera";
import type { Stage } from "../stage";
import { type DragListener, listenToDrags, pointOf } from "./drag";

export interface Gestures extends DragListener {
  click(item: number, event: MouseEvent): void;
  doubleClick(item: number, point: Point): void;
  /** Whether a turn of the wheel zooms; else it scrolls what is around. */
  wheelZooms(event: WheelEvent): boolean;
}

const RIGHT_BUTTON = 2;

/**
 * If it is Shift and the right button, show the menu of the application around, as without Shift
 * elsewhere, or else the browser's; whether it is. `above` is outside of what takes a right click
 * itself.
 */
export function showHostMenu(event: MouseEvent, above: EventTarget | null): boolean {
  if (!event.shiftKey || event.button !== RIGHT_BUTTON) return false;
  const { clientX, clientY, screenX, screenY, button } = event;
  const init = {
    clientX,
    clientY,
    screenX,
    screenY,
    button,
    bubbles: true,
    cancelable: true,
    view: window,
  };
  const isTaken = above !== null && !above.dispatchEvent(new MouseEvent("contextmenu", init));
  if (isTaken) event.preventDefault();
  return true;
}

export function listenToPointer(stage: Stage, store: Store, gestures: Gestures): void {
  const { canvas } = stage;
  listenToWheel(stage, store, gestures);
  const moved = listenToDrags(stage, store, gestures);
  canvas.addEventListener("click", (event) => {
    // The second click of a double click would undo what the first one did; with Ctrl there is no
    // double click.
    if (!moved() && (event.detail < 2 || hasControl(event)))
      gestures.click(stage.itemAt(pointOf(event)), event);
  });
  canvas.addEventListener("dblclick", (event) => {
    event.stopPropagation();
    if (!moved() && !hasControl(event))
      gestures.doubleClick(stage.itemAt(pointOf(event)), pointOf(event));
  });
  canvas.addEventListener("contextmenu", (event) => {
    event.stopPropagation();
    if (showHostMenu(event, canvas.parentElement)) return;
    event.preventDefault();
    gestures.contextMenu(stage.itemAt(pointOf(event)), pointOf(event));
  });
  canvas.addEventListener("pointerleave", (event) => gestures.hover(-1, pointOf(event)));
}

/** Ctrl, or Cmd on a Mac. */
export function hasControl(event: Pick<MouseEvent, "ctrlKey" | "metaKey">): boolean {
  return event.ctrlKey || event.metaKey;
}

const PER_LINE = 16;
const PER_PAGE = 400;
const WHEEL_SPEED = 0.0018;
const PINCH_SPEED = 0.01;
const MOST_PIXELS = 240;
const MOST_PINCH = 0.25;

/**
 * How much a turn of the wheel enlarges the drawing. A pinch on a touchpad arrives as a wheel with
 * Ctrl and small steps, a notch of a wheel with Ctrl as one large step: that zooms about as far as
 * a notch without.
 */
export function zoomFactor({
  deltaY,
  deltaMode,
  ctrlKey,
}: Pick<WheelEvent, "deltaY" | "deltaMode" | "ctrlKey">): number {
  const pixels = deltaY * ([1, PER_LINE, PER_PAGE][deltaMode] ?? 1);
  const within = (value: number, most: number) => Math.min(Math.max(value, -most), most);
  return Math.exp(
    -(ctrlKey
      ? within(pixels * PINCH_SPEED, MOST_PINCH)
      : within(pixels, MOST_PIXELS) * WHEEL_SPEED),
  );
}

function listenToWheel(stage: Stage, store: Store, gestures: Gestures): void {
  stage.canvas.addEventListener(
    "wheel",
    (event) => {
      if (!gestures.wheelZooms(event)) return;
      event.preventDefault();
      event.stopPropagation();
      stage.setCamera(zoomedAt(store.value.camera, zoomFactor(event), pointOf(event)));
    },
    { passive: false },
  );
}
