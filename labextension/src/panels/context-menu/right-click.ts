// Right clicks, and the menu key, on all of the widget but the canvas: lists have the menu of the
// op that they name, text has the browser's, to copy and paste, and the rest has that of the
// canvas.
import type { Point } from "../../render/camera/camera";
import { showHostMenu } from "../../render/gestures/pointer";
import { POPUP } from "../controls/menus";

const RIGHT_BUTTON = 2;
/** What text is typed into, or chosen from. */
const FIELD =
  "textarea, select, [contenteditable='true'], " +
  "input:not([type='checkbox'], [type='radio'], [type='range'])";

/**
 * VS Code says its theme on the body of each of its pages, and shows a menu of its own for text.
 */
const HOST_HAS_TEXT_MENU = "body[data-vscode-theme-kind]";

/** The menus of the widget, see `ContextMenu`. */
interface Menus {
  openHere(): unknown;
  openNamed(name: string, point: Point): unknown;
}

/** Open the menu of the op or scope that is meant, at a point of `body`. */
export function listenToRightClicks(root: HTMLElement, body: HTMLElement, menus: Menus): void {
  root.addEventListener("contextmenu", (event) => {
    const { target } = event;
    // One that is sent to the application goes past.
    if (!event.isTrusted || !(target instanceof Element)) return;
    const isText = target.closest(FIELD) !== null || isSelectedText(target);
    if (isText && target.closest(HOST_HAS_TEXT_MENU)) return;
    event.stopPropagation();
    if (showHostMenu(event, root.parentElement) || isText) return;
    event.preventDefault();
    // The menu key again, or a right click on a menu: it stays.
    if (target.closest(POPUP)) return;
    // On Windows the menu key sends this when it is released, too: the menu that it opened may
    // still wait for the kernel.
    if (target === root && isByKey(event)) return void menus.openHere();
    const { left, top } = body.getBoundingClientRect();
    const { x, y } = pointerOf(event, target);
    void menus.openNamed(nameOf(target), { x: x - left, y: y - top });
  });
}

/** The op or scope, or tensor, that a row names, or the part of the panel around it. */
function nameOf(target: Element): string {
  const row = target.closest("[data-name]");
  // The outline has a key, too, where a scope and an op have one name.
  return row?.getAttribute("data-key") ?? row?.getAttribute("data-name") ?? "";
}

/** Where the pointer is; for the menu key, which is pressed on what has the focus, below that. */
function pointerOf(event: MouseEvent, target: Element): Point {
  if (!isByKey(event)) return { x: event.clientX, y: event.clientY };
  const { left, bottom } = target.getBoundingClientRect();
  return { x: left, y: bottom };
}

/**
 * Whether it is the menu key, and not a button, a finger or pen that rests on the screen, or Ctrl
 * and a click on a Mac. Chromium says "mouse" of the key, too.
 */
export function isByKey(
  event: Pick<MouseEvent, "button" | "ctrlKey"> & { pointerType?: string },
): boolean {
  const isTouch = event.pointerType === "touch" || event.pointerType === "pen";
  return event.button !== RIGHT_BUTTON && !event.ctrlKey && !isTouch;
}

function isSelectedText(target: Element): boolean {
  // The selection of a shadow root is its own in Chromium.
  const selection = (target.getRootNode() as Document).getSelection?.() ?? getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(target, true);
}
