// Keys that work anywhere in the widget, text fields apart: what bindings.ts says of them.
import { BINDINGS, type Hands } from "./bindings";
import type { Parts } from "./panels/parts";
import { withControl } from "./render/pointer";
import { Walk } from "./walking";

export type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

export function listenToKeys(root: HTMLElement, parts: Parts): void {
  const find = () => root.querySelector<HTMLInputElement>(".tgw-search-input")?.focus();
  const hands = { ...parts, find, walk: new Walk() };
  root.addEventListener("keydown", (event) => {
    const { target } = event;
    // JupyterLab's single letters stay out (x would cut the cell); its Ctrl-S and the like go on working.
    if (!withControl(event)) event.stopPropagation();
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const act = meaning(event, hands, target === root);
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  });
}

/** What a key does, where the drawing has the focus or some part of the widget; undefined for what is no key of ours. */
export function meaning(event: Pressed, hands: Hands, drawing: boolean): (() => unknown) | undefined {
  const binding = BINDINGS.get(chordOf(event));
  return binding && (drawing || !binding.drawing) ? () => binding.act(hands) : undefined;
}

/** A key as the table has it. A character has its Shift in it, unless Ctrl is held as well. */
export function chordOf(event: Pressed): string {
  const control = withControl(event);
  const held = [control ? "Ctrl" : "", event.altKey ? "Alt" : ""];
  if (event.shiftKey && (control || event.key.length > 1 || event.key === " ")) held.push("Shift");
  const key = control && event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return [...held, key].filter(Boolean).join("+");
}
