// Translates mouse and touch events on the canvas into gestures: hover, click, double click, zoom; see drag.ts.
import type { Store } from "../../state/store";
import { type Point, zoomedAt } from "../camera/camera";
import type { Stage } from "../stage";
import { type DragListener, listenToDrags, pointOf } from "./drag";

export interface Gestures extends DragListener {
  click(item: number, event: MouseEvent): void;
  doubleClick(item: number, point: Point): void;
  /** The right button, without Shift. */
  contextMenu(item: number, point: Point): void;
  /** Whether a turn of the wheel zooms; else it scrolls what is around. */
  wheelZooms(event: WheelEvent): boolean;
}

const RIGHT_BUTTON = 2;

/** Shift and the right button: the menu of the application around, as without Shift elsewhere; else the browser's. */
function showHostMenu(event: MouseEvent): void {
  const { clientX, clientY, screenX, screenY, button } = event;
  const init = { clientX, clientY, screenX, screenY, button, bubbles: true, cancelable: true, view: window };
  // Sent from above the canvas, which would take it for its own.
  const above = event.target instanceof Element ? event.target.parentElement : null;
  const isTaken = above !== null && !above.dispatchEvent(new MouseEvent("contextmenu", init));
  if (isTaken) event.preventDefault();
}

export function listenToPointer(stage: Stage, store: Store, gestures: Gestures): void {
  const { canvas } = stage;
  listenToWheel(stage, store, gestures);
  const moved = listenToDrags(stage, store, gestures);
  canvas.addEventListener("click", (event) => {
    // The second click of a double click would undo what the first one did; with Ctrl there is no double click.
    if (!moved() && (event.detail < 2 || hasControl(event)))
      gestures.click(stage.itemAt(pointOf(event)), event);
  });
  canvas.addEventListener("dblclick", (event) => {
    event.stopPropagation();
    if (!moved() && !hasControl(event)) gestures.doubleClick(stage.itemAt(pointOf(event)), pointOf(event));
  });
  canvas.addEventListener("contextmenu", (event) => {
    event.stopPropagation();
    if (event.shiftKey && event.button === RIGHT_BUTTON) return showHostMenu(event);
    event.preventDefault();
    gestures.contextMenu(stage.itemAt(pointOf(event)), pointOf(event));
  });
  canvas.addEventListener("pointerleave", (event) => gestures.hover(-1, pointOf(event)));
}

/** Ctrl, or Cmd on a Mac. */
export function hasControl(event: Pick<MouseEvent, "ctrlKey" | "metaKey">): boolean {
  return event.ctrlKey || event.metaKey;
}

function listenToWheel(stage: Stage, store: Store, gestures: Gestures): void {
  const perLine = 16;
  const perPage = 400;
  stage.canvas.addEventListener(
    "wheel",
    (event) => {
      if (!gestures.wheelZooms(event)) return;
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
