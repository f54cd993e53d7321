// Pairs two ops by hand: an op of one pane, and then the op of the other one that it is. Either is
// selected and the button pressed, or P, or "Pair" chosen in its menu; or dragged from one to the
// other with Alt.
import { button, element, setAttributes } from "../panels/dom";
import { at, isScope, keyOf } from "../protocol/scene";
import type { Point } from "../render/camera/camera";
import type { LinkedParts } from "./link";
import { otherSide, SIDES, type Side } from "./partners";

export const PAIR_KEY = "P";
const TITLE = `Pair the op with one of the other pane (${PAIR_KEY}, or drag with Alt)`;

export interface PairingSettings {
  /** Asks the kernel, and says why it refuses; of two empty names it undoes the last pair. */
  readonly pair: (before: string, after: string) => Promise<string>;
  /** The pane that the person acts in. */
  readonly lead: () => Side;
}

interface Pane {
  readonly parts: LinkedParts;
  readonly root: HTMLElement;
}

export class Pairing {
  /** The buttons, and what is to be done next. */
  readonly root: HTMLElement;
  readonly #pair: HTMLButtonElement;
  readonly #undo: HTMLButtonElement;
  readonly #said = element("output", { class: "tgw-pairing" });
  readonly #settings: PairingSettings;
  readonly #panes: (Pane | undefined)[] = [];
  readonly #stop: (() => void)[] = [];
  /** The op that the next one of the other pane is paired with. */
  #first: { readonly side: Side; readonly name: string } | null = null;
  #isDragged = false;

  constructor(settings: PairingSettings) {
    this.#settings = settings;
    this.#pair = button(
      { class: "tgw-diff-button tgw-only", title: TITLE, "aria-pressed": "false" },
      () => this.press(),
      "Pair",
    );
    this.#undo = button(
      { class: "tgw-diff-button tgw-only", title: "Undo the last pair", hidden: true },
      () => void this.#ask("", ""),
      "Undo pair",
    );
    this.root = element("div", { class: "tgw-pairs" }, this.#said, this.#pair, this.#undo);
  }

  add(side: Side, parts: LinkedParts, root: HTMLElement): void {
    this.#panes[side] = { parts, root };
    const down = (event: PointerEvent) => this.#down(side, event);
    const click = () => queueMicrotask(() => this.#clicked(side));
    root.addEventListener("pointerdown", down, { capture: true });
    root.addEventListener("click", click);
    this.#stop.push(() => {
      root.removeEventListener("pointerdown", down, { capture: true });
      root.removeEventListener("click", click);
    });
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  /** Whether there is a pair to undo. */
  say(pairs: number): void {
    this.#undo.hidden = pairs === 0;
  }

  /** Take the current op: as the first of a pair, or as the second one. */
  press(): void {
    const side = this.#settings.lead();
    const name = this.#picked(side);
    if (this.#first?.side === side) this.cancel();
    else if (name) this.take(side, name);
    else this.#said.textContent = "Select an op first.";
  }

  /** Take an op of a pane: as the second of a pair where the first is of the other pane. */
  take(side: Side, name: string): void {
    if (this.#first?.side === otherSide(side)) this.#finish(side, name);
    else this.#begin(side, name);
  }

  /** Take no second op; whether one was waited for. */
  cancel(): boolean {
    const was = this.#first !== null;
    this.#first = null;
    this.#said.textContent = "";
    setAttributes(this.#pair, { "aria-pressed": "false" });
    return was;
  }

  #begin(side: Side, name: string): void {
    this.#first = { side, name };
    const where = side === 0 ? "right" : "left";
    this.#said.textContent = `Select the op on the ${where} that ${name} is; Esc cancels.`;
    setAttributes(this.#pair, { "aria-pressed": "true" });
  }

  #finish(side: Side, name: string): void {
    const first = this.#first;
    this.cancel();
    if (!first || first.side === side) return;
    const names: [string, string] = side === 0 ? [name, first.name] : [first.name, name];
    void this.#ask(...names);
  }

  async #ask(before: string, after: string): Promise<void> {
    this.#said.textContent = await this.#settings.pair(before, after);
  }

  /** A click in the other pane takes what is current there now. */
  #clicked(side: Side): void {
    if (this.#isDragged || this.#first?.side !== otherSide(side)) return;
    const name = this.#picked(side);
    if (name) this.#finish(side, name);
  }

  #picked(side: Side): string {
    const { scene, picked } = this.#panes[side]?.parts.store.value ?? {};
    const item = scene?.byKey.get(picked ?? "");
    return scene && item !== undefined && this.#isOp(side, item) ? (picked ?? "") : "";
  }

  #isOp(side: Side, item: number): boolean {
    const scene = this.#panes[side]?.parts.store.value.scene;
    return !!scene && item > 0 && !isScope(at(scene.kind, item));
  }

  /** With Alt an op is dragged to the one that it is. */
  #down(side: Side, event: PointerEvent): void {
    const name = event.altKey && event.button === 0 ? this.#opAt(side, event) : "";
    if (!name) return;
    event.preventDefault();
    event.stopPropagation();
    this.#isDragged = true;
    this.#begin(side, name);
    const up = (end: PointerEvent) => {
      const other = SIDES.find((each) => each !== side && isIn(this.#panes[each]?.root, end));
      const there = other === undefined ? "" : this.#opAt(other, end);
      if (other !== undefined && there) this.#finish(other, there);
      else this.cancel();
      // The click that follows is the end of the drag.
      setTimeout(() => {
        this.#isDragged = false;
      });
    };
    addEventListener("pointerup", up, { once: true, capture: true });
  }

  /** The op under the pointer; "" for none. */
  #opAt(side: Side, event: PointerEvent): string {
    const pane = this.#panes[side];
    const canvas = pane?.root.querySelector("canvas")?.getBoundingClientRect();
    const scene = pane?.parts.store.value.scene;
    if (!pane || !canvas || !scene) return "";
    const point: Point = { x: event.clientX - canvas.left, y: event.clientY - canvas.top };
    const item = pane.parts.stage.itemAt(point);
    return this.#isOp(side, item) ? keyOf(scene, item) : "";
  }
}

function isIn(root: HTMLElement | undefined, { clientX, clientY }: PointerEvent): boolean {
  const box = root?.getBoundingClientRect();
  return (
    !!box &&
    clientX >= box.left &&
    clientX < box.right &&
    clientY >= box.top &&
    clientY < box.bottom
  );
}
