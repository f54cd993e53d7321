// Right clicks, and the menu key, on all of the widget but the canvas: lists have the menu of the op that they name, text has
// the browser's, to copy and paste, and the rest has that of the canvas.
import type { Point } from "../../render/camera/camera";
import { showHostMenu } from "../../render/gestures/pointer";
import { POPUP } from "../controls/menus";

const RIGHT_BUTTON = 2;
/** What text is typed into, or chosen from. */
const FIELD =
  "textarea, select, [contenteditable='true'], input:not([type='checkbox'], [type='radio'], [type='range'])";

/** Call `open` with the name of the op or scope that is meant, "" for none, and with a point of `body`. */
export function listenToRightClicks(
  root: HTMLElement,
  body: HTMLElement,
  open: (name: string, point: Point) => unknown,
): void {
  root.addEventListener("contextmenu", (event) => {
    const { target } = event;
    // One that is sent to the application goes past.
    if (!event.isTrusted || !(target instanceof Element)) return;
    event.stopPropagation();
    if (showHostMenu(event, root.parentElement)) return;
    if (target.closest(FIELD) || isSelectedText(target)) return;
    event.preventDefault();
    // The menu key again, or a right click on a menu: it stays.
    if (target.closest(POPUP)) return;
    const { left, top } = body.getBoundingClientRect();
    const { x, y } = pointerOf(event, target);
    void open(nameOf(target), { x: x - left, y: y - top });
  });
}

/** The op or scope, or tensor, that a row names, or the part of the panel around it. */
function nameOf(target: Element): string {
  const row = target.closest("[data-name]");
  // The outline has a key, too, where a scope and an op have one name.
  return row?.getAttribute("data-key") ?? row?.getAttribute("data-name") ?? "";
}

/** The menu key is pressed on what has the focus: below that, since the pointer may be anywhere. */
function pointerOf({ button, ctrlKey, clientX, clientY }: MouseEvent, target: Element): Point {
  // Ctrl and a click of the first button are a right click on a Mac.
  if (button === RIGHT_BUTTON || ctrlKey) return { x: clientX, y: clientY };
  const { left, bottom } = target.getBoundingClientRect();
  return { x: left, y: bottom };
}

function isSelectedText(target: Element): boolean {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(target, true);
}
