// The outline: the items on the canvas as a tree, for screen readers, keyboards and tests. Visible
// only while focused.
//
// A drawing may have 100,000 items, which would make the page slow: only a window of entries
// exists, around the one that is focused or scrolled to. Each states its position among its
// siblings and their number.
import { chordOf } from "../../interaction/keyboard";
import { deliverPick } from "../../interaction/op-picker";
import type { Parts } from "../../interaction/parts";
import { at, CLOSED, isScope, keyOf, labelOf, OPEN, type Scene } from "../../protocol/scene";
import { hasControl } from "../../render/gestures/pointer";
import { element, hasFocus, setAttributes } from "../dom";
import { paintText, spokenText, type Tree, treeOf } from "./descriptions";

/** Entries at once; all of them where that suffices. */
const WINDOW = 300;
/** Pixels; theme.css says the same. */
const ROW = 24;
/** Milliseconds after which a letter starts a new word. */
const PAUSE = 1000;

interface Key {
  readonly keys: readonly string[];
  readonly what: string;
  /** Needs a kernel: not available in a saved page. */
  readonly kernel?: true;
  act(outline: Outline, item: number): unknown;
}

/** The keys of the outline, which go before those of key-bindings.ts there. */
export const OUTLINE_KEYS: readonly Key[] = [
  { keys: ["ArrowDown"], what: "Next", act: (outline) => outline.move(1) },
  { keys: ["ArrowUp"], what: "Previous", act: (outline) => outline.move(-1) },
  {
    keys: ["ArrowRight"],
    what: "Expand, or go to the next item",
    act: (outline, item) =>
      outline.kind(item) === CLOSED ? outline.activate(item) : outline.move(1),
  },
  {
    keys: ["ArrowLeft"],
    what: "Collapse, or go to the enclosing scope",
    act: (outline, item) =>
      outline.kind(item) === OPEN ? outline.activate(item) : outline.out(item),
  },
  { keys: ["Home"], what: "First", act: (outline) => outline.focus(0) },
  { keys: ["End"], what: "Last", act: (outline) => outline.focus(Number.POSITIVE_INFINITY) },
  {
    keys: ["Enter"],
    what: "Expand, open or inspect",
    act: (outline, item) => deliverPick(outline.parts.store, item) || outline.enter(item),
  },
  {
    keys: ["Alt+Enter"],
    what: "Inspect",
    act: ({ parts }, item) => parts.actions.inspectItem(item),
  },
  {
    keys: [" ", "Ctrl+Enter"],
    what: "Add to or remove from the selection",
    act: ({ parts }, item) => parts.actions.toggleSelected(item),
  },
  {
    keys: ["i"],
    what: "Mark as input",
    kernel: true,
    act: ({ parts }, item) => parts.actions.mark(item, "inputs"),
  },
  {
    keys: ["o"],
    what: "Mark as output",
    kernel: true,
    act: ({ parts }, item) => parts.actions.mark(item, "outputs"),
  },
  {
    keys: ["'"],
    what: "Then type letters: go to the next name that starts with them",
    act: (outline) => outline.type(""),
  },
];
const KEYS = new Map(OUTLINE_KEYS.flatMap((key) => key.keys.map((chord) => [chord, key] as const)));
const LETTER = /^[\p{L}\p{N}_.]$/u;

export function createOutline(parts: Parts): HTMLElement {
  return new Outline(parts).root;
}

class Outline {
  readonly root = element("ul", {
    class: "tgw-outline",
    role: "tree",
    "aria-label": "Visible ops and scopes",
    "aria-multiselectable": "true",
  });
  readonly parts: Parts;
  /** The drawing that the entries are of. */
  #shown: Scene | null = null;
  #tree: Tree = treeOf(null);
  #entries: HTMLElement[] = [];
  #start = 0;
  /** The key of the entry that has the focus, or had it last. */
  #focused = "";
  #typed = "";
  #typedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: Parts) {
    this.parts = parts;
    // When the drawing is complete, or immediately if the outline has the focus.
    parts.store.watch(["scene", "drawn"], ({ drawn }) => (drawn || this.#hasFocus) && this.#show());
    parts.store.watch(["paint"], () => this.#paint());
    parts.store.watch(["state"], ({ state }) => {
      const hidden = state?.hidden ? `, ${state.hidden.toLocaleString("en")} ops hidden` : "";
      this.root.setAttribute("aria-label", `Visible ops and scopes${hidden}`);
    });
    this.root.addEventListener("keydown", (event) => this.#press(event));
    this.root.addEventListener("scroll", () => this.#scroll());
    this.root.addEventListener("focusin", ({ target }) => {
      const entry = entryOf(target);
      if (!entry) return;
      this.#hold(entry);
      if (this.#isStale) return this.#show(); // which holds the same one
      parts.store.set({ hover: itemOf(entry) });
    });
    this.root.addEventListener("click", (event) => {
      const entry = entryOf(event.target);
      entry?.focus();
      if (entry?.isConnected && hasControl(event)) void parts.actions.toggleSelected(itemOf(entry));
    });
  }

  get #scene(): Scene | null {
    return this.parts.store.value.scene;
  }

  /** Whether the entries are of the drawing before: their numbers are not to be used. */
  get #isStale(): boolean {
    return this.#shown !== this.#scene;
  }

  get #hasFocus(): boolean {
    return hasFocus(this.root);
  }

  kind(item: number): number {
    return at(this.#scene?.kind ?? [], item);
  }

  activate(item: number): void {
    void this.parts.actions.activate(item, this.parts.stage.anchorAt(item));
  }

  enter(item: number): void {
    if (isScope(this.kind(item)) || at(this.#scene?.calls ?? [], item) === 1) this.activate(item);
    else void this.parts.actions.inspectItem(item);
  }

  move(by: number): void {
    this.focus(this.#place() + by);
  }

  out(item: number): void {
    const around = at(this.#scene?.parent ?? [], item);
    if (around > 0) this.focus(this.#tree.order.indexOf(around));
  }

  /** Put the focus on the entry at a place of the tree. */
  focus(place: number): void {
    const last = this.#tree.order.length - 1;
    const index = Math.min(Math.max(place, 0), last);
    if (last < 0) return;
    if (!this.#has(index)) this.#render(index - WINDOW / 2);
    this.#entries[index - this.#start]?.focus();
  }

  /** Go to the next entry whose name starts with the typed letters. */
  type(letter: string): void {
    const now = performance.now();
    const going = now - this.#typedAt < PAUSE && letter !== "";
    this.#typed = (going ? this.#typed : "") + letter.toLowerCase();
    this.#typedAt = now;
    const scene = this.#scene;
    const { order } = this.#tree;
    if (!scene || this.#typed === "") return;
    // A further letter may be of the same entry.
    const from = this.#place() + (this.#typed.length > 1 ? 0 : 1);
    for (let i = 0; i < order.length; i++) {
      const place = (from + i) % order.length;
      if (labelOf(scene, at(order, place)).toLowerCase().startsWith(this.#typed)) {
        this.focus(place);
        return;
      }
    }
  }

  #press(event: KeyboardEvent): void {
    const entry = entryOf(event.target);
    if (!entry || this.#isStale) return;
    const chord = chordOf(event);
    const typing = performance.now() - this.#typedAt < PAUSE;
    const plain = !hasControl(event) && !event.altKey && LETTER.test(event.key);
    const key = plain && typing ? undefined : KEYS.get(chord);
    if (key) key.act(this, itemOf(entry));
    else if (plain) this.type(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #place(): number {
    const index = this.#entries.findIndex((entry) => entry.tabIndex === 0);
    return index < 0 ? 0 : this.#start + index;
  }

  #has(place: number): boolean {
    return place >= this.#start && place < this.#start + this.#entries.length;
  }

  #show(): void {
    const { scene, paint } = this.parts.store.value;
    if (!scene || !paint || scene === this.#shown) return;
    this.#shown = scene;
    const had = this.#hasFocus;
    this.#tree = treeOf(scene);
    const item = scene.byKey.get(this.#focused) ?? -1;
    const place = Math.max(item > 0 ? this.#tree.order.indexOf(item) : 0, 0);
    this.#render(place - WINDOW / 2, place);
    if (had) this.focus(place);
  }

  /**
   * The entries from a place on; the one at `held`, or else the one that is held now, is where Tab
   * comes to.
   */
  #render(from: number, held = this.#place()): void {
    const { scene, paint } = this.parts.store.value;
    if (!scene || !paint) return;
    const { order } = this.#tree;
    this.#start = Math.max(0, Math.min(Math.floor(from), order.length - WINDOW));
    const end = Math.min(this.#start + WINDOW, order.length);
    this.#entries = [...order.slice(this.#start, end)].map((item) =>
      makeEntry(scene, this.#tree, item),
    );
    this.#paint();
    const space = (rows: number) =>
      element("li", { role: "presentation", style: `height: ${rows * ROW}px` });
    const [above, below] = [this.#start, order.length - end];
    this.root.replaceChildren(
      ...(above > 0 ? [space(above)] : []),
      ...this.#entries,
      ...(below > 0 ? [space(below)] : []),
    );
    const stop = this.#entries[held - this.#start] ?? this.#entries[0];
    if (stop) stop.tabIndex = 0;
  }

  #hold(entry: HTMLElement): void {
    for (const other of this.#entries)
      if (other.tabIndex === 0 && other !== entry) other.tabIndex = -1;
    entry.tabIndex = 0;
    this.#focused = entry.getAttribute("data-key") ?? "";
  }

  /** Scrolling with the mouse renders the entries there; the focus stays in the tree. */
  #scroll(): void {
    const place = Math.floor(this.root.scrollTop / ROW);
    if (
      this.#isStale ||
      this.#entries.length === 0 ||
      (this.#has(place) && this.#has(Math.min(place + 30, this.#tree.order.length - 1)))
    )
      return;
    const had = this.#hasFocus;
    this.#render(place - WINDOW / 2, place);
    if (had) this.#entries[place - this.#start]?.focus({ preventScroll: true });
  }

  #paint(): void {
    const { scene, paint } = this.parts.store.value;
    if (!paint || scene !== this.#shown) return;
    for (const entry of this.#entries) {
      const item = itemOf(entry);
      const text = paintText(paint, item);
      const mark = at(paint.mark, item);
      setAttributes(entry, {
        "aria-selected": String(at(paint.coverage, item) === 2),
        "data-mark":
          [mark & 1 ? "input" : "", mark & 2 ? "output" : ""].filter(Boolean).join(", ") ||
          undefined,
        "data-fresh": at(paint.fresh, item) === 1,
      });
      const marks = entry.lastElementChild;
      if (marks) marks.textContent = text ? ` (${text})` : "";
    }
  }
}

function makeEntry(scene: Scene, tree: Tree, item: number): HTMLElement {
  const kind = at(scene.kind, item);
  const level = at(scene.depth, item);
  const hint = at(scene.calls, item) === 1 ? ", press Enter to open the function" : "";
  return element(
    "li",
    {
      role: "treeitem",
      tabindex: -1,
      "data-name": scene.names[item] ?? "",
      "data-key": keyOf(scene, item),
      "data-item": item,
      "aria-level": level,
      "aria-posinset": at(tree.position, item),
      "aria-setsize": at(tree.children, at(scene.parent, item)),
      "aria-expanded": isScope(kind) ? String(kind === OPEN) : undefined,
      style: `padding-left: ${8 + 12 * Math.min(level, 12)}px`,
    },
    element("span", {}, labelOf(scene, item)),
    element("span", { class: "tgw-outline-about" }, ` ${spokenText(scene, item)}${hint}`),
    element("span", { class: "tgw-outline-marks" }),
  );
}

function entryOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('[role="treeitem"]') : null;
}

function itemOf(entry: Element): number {
  return Number(entry.getAttribute("data-item"));
}
