// Dispatches key presses anywhere in the widget, except in text fields, to key-bindings.ts.
import { hasControl } from "../render/gestures/pointer";
import { BINDINGS, isAvailable, type KeyContext } from "./key-bindings";
import { NavigationCursor } from "./keyboard-nav";
import type { Parts } from "./parts";

export type KeyPress = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

export function listenToKeys(
  root: HTMLElement,
  parts: Parts,
  { menu, clone }: Pick<KeyContext, "menu" | "clone">,
): void {
  const find = () => {
    const field = root.querySelector<HTMLInputElement>(".tgw-search-input");
    field?.focus();
    field?.select(); // typing replaces the last search
  };
  const context = { ...parts, find, menu, clone, cursor: new NavigationCursor() };
  root.addEventListener("keydown", (event) => {
    const { target } = event;
    // JupyterLab's single letters stay out (x would cut the cell); its Ctrl-S and the like go on
    // working.
    if (!hasControl(event)) event.stopPropagation();
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const act = actionFor(event, context, target === root);
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
}

/**
 * The action of a key, when the drawing or another part of the widget has the focus; undefined for
 * other keys.
 */
export function actionFor(
  event: KeyPress,
  context: KeyContext,
  drawing: boolean,
): (() => unknown) | undefined {
  const binding = BINDINGS.get(chordOf(event));
  if (!binding || !isAvailable(binding, context)) return undefined;
  return drawing || !binding.drawing ? () => binding.act(context) : undefined;
}

/** A key as the table has it. A character has its Shift in it, unless Ctrl is held as well. */
export function chordOf(event: KeyPress): string {
  const control = hasControl(event);
  const modifiers = [control ? "Ctrl" : "", event.altKey ? "Alt" : ""];
  if (event.shiftKey && (control || event.key.length > 1 || event.key === " "))
    modifiers.push("Shift");
  const key = control && event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return [...modifiers, key].filter(Boolean).join("+");
}
