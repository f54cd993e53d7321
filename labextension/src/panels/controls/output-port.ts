// The output port: a handle at the lower border of the op under the pointer. Drag it to another op,
// or click it and then the other op, to connect that op to the tensor.
import type { DragConnect } from "../../interaction/drag-connect";
import { canEdit, type Parts } from "../../interaction/parts";
import { at, OP } from "../../protocol/scene";
import type { Point } from "../../render/camera/camera";
import { element } from "../dom";
import type { Tooltip } from "./tooltip";

/** Lower ops, in pixels, have no port: it would be where one clicks. */
const LEAST = 20;
/** Milliseconds that it stays after the pointer has left the op, so that it can be reached. */
const LINGER = 250;
/** Pixels that the pointer may move during a click. */
const STILL = 4;

export function createOutputPort(
  parts: Parts,
  dragConnect: DragConnect,
  tooltip: Tooltip,
): HTMLElement {
  const { store, stage } = parts;
  const port = handle();
  let item = -1;
  let leaving = 0;
  const hide = () => {
    clearTimeout(leaving);
    item = -1;
    port.hidden = true;
  };
  const show = (hovered: number) => {
    clearTimeout(leaving);
    item = hovered;
    const { x, y, height } = stage.handle(item);
    port.hidden = false;
    port.style.transform = `translate(${x}px, ${y + height / 2}px)`;
  };
  store.watch(["hover", "camera", "scene", "connecting"], ({ hover, scene, connecting }) => {
    if (connecting) return;
    const fits =
      scene !== null &&
      canEdit(parts) &&
      hover > 0 &&
      at(scene.kind, hover) === OP &&
      stage.handle(hover).height >= LEAST;
    if (fits) show(hover);
    else if (hover > 0) hide();
    else if (!port.hidden) {
      clearTimeout(leaving);
      leaving = window.setTimeout(hide, LINGER);
    }
  });
  port.addEventListener("pointerenter", () => clearTimeout(leaving));
  port.addEventListener("pointerleave", () => {
    if (!dragConnect.active) hide();
  });
  // It lies where the line begins: a right click means what is below it in the drawing.
  port.addEventListener("contextmenu", (event) => {
    event.stopPropagation();
    hide();
    if (!stage.canvas.dispatchEvent(new MouseEvent(event.type, event))) event.preventDefault();
  });
  listenToDrag(port, {
    begin: (point) => void dragConnect.begin(store.value.scene?.names[item] ?? "", point),
    move: (point) => {
      dragConnect.move(point);
      const over = stage.itemAt(point);
      store.set({ hover: over });
      tooltip.move(over, point);
    },
    drop: (point) => {
      hide();
      void dragConnect.drop(point);
    },
    cancel: () => dragConnect.cancel(),
  });
  port.addEventListener("wheel", (event) => {
    // What is below zooms, or lets the notebook scroll.
    if (!stage.canvas.dispatchEvent(new WheelEvent("wheel", event))) event.preventDefault();
  });
  return port;
}

function handle(): HTMLElement {
  return element("div", {
    class: "tgw-port",
    hidden: true,
    title: "Drag to a new consumer",
    "aria-hidden": "true", // the pencils of the inspector do the same
  });
}

interface Drag {
  begin(point: Point): void;
  move(point: Point): void;
  drop(point: Point): void;
  cancel(): void;
}

function listenToDrag(port: HTMLElement, drag: Drag): void {
  let start: Point | null = null;
  let moved = false;
  port.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    port.setPointerCapture(event.pointerId);
    port.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
    start = pointIn(port, event);
    moved = false;
    drag.begin(start);
  });
  port.addEventListener("pointermove", (event) => {
    if (!start) return;
    const point = pointIn(port, event);
    moved ||= Math.hypot(point.x - start.x, point.y - start.y) > STILL;
    if (moved) drag.move(point);
  });
  port.addEventListener("pointerup", (event) => {
    // A mere click leaves the line at the pointer: the next click lets go.
    if (start && moved) drag.drop(pointIn(port, event));
    start = null;
  });
  port.addEventListener("pointercancel", () => {
    if (start) drag.cancel();
    start = null;
  });
}

/** Where a pointer is on the stage. */
function pointIn(port: HTMLElement, event: PointerEvent): Point {
  const stage = (port.parentElement ?? port).getBoundingClientRect();
  return { x: event.clientX - stage.left, y: event.clientY - stage.top };
}
