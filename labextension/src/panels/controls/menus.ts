// The menu: entries in sections, chosen with the pointer or with keys. A dropdown shows one below a
// button, a popover shows one at a point of the drawing; both can show a form in its place.
import type { Choice } from "../../interaction/drag-connect";
import { type CommandId, commandOf, runCommand, shortcutOf } from "../../interaction/key-bindings";
import type { Parts } from "../../interaction/parts";
import type { Point } from "../../render/camera/camera";
import {
  type Attributes,
  button,
  type Child,
  element,
  focusAround,
  hasFocus,
  setAttributes,
  uniqueId,
  whileBusy,
} from "../dom";
import { isBrowsing } from "./browse-button";

/** What lies over the drawing while it has the focus: menus, the forms in them, and dialogs. */
export const POPUP = ":is(.tgw-menu, .tgw-dropdown, [role='dialog'])";

/**
 * Pixels between a menu and the lower border of the widget, and what a menu has in a widget that is
 * very low.
 */
const BELOW_MENU = 8;
const LEAST_MENU = 120;
/** Pixels between a menu and the borders of what it lies over. */
const MARGIN = 4;

/**
 * Whether a menu, or a form in its place, lies over the drawing; a dialog leaves nothing of it to
 * be pointed at.
 */
export function isPopupOpen(root: HTMLElement): boolean {
  return root.querySelector(":is(.tgw-menu, .tgw-dropdown):not([hidden])") !== null;
}

/**
 * Call `opened` when a menu, a form or a dialog has come over the drawing: each gets the focus
 * then.
 */
export function watchPopups(root: HTMLElement, opened: () => void): void {
  root.addEventListener("focusin", ({ target }) => {
    if (target instanceof Element && target.closest(POPUP)) opened();
  });
}

export interface MenuItem extends Choice {
  /** The key that does the same, or "". */
  readonly key?: string;
  /** What stands in the place of the key. */
  readonly note?: string;
  /** Only where the toolbar is too narrow for its button. */
  readonly narrow?: boolean;
  /** For a toggle: whether it is on. */
  readonly checked?: () => boolean;
}

export interface MenuSection {
  readonly title?: string;
  readonly items: readonly MenuItem[];
}

/** The entry of a command that has a key, with its text unless `more` has another. */
export function commandItem(id: CommandId, parts: Parts, more: Partial<MenuItem> = {}): MenuItem {
  const act = () => runCommand(id, parts);
  return { id, text: commandOf(id).what, key: shortcutOf(id), act, ...more };
}

/** A menu, which `close` closes before an entry acts. */
export function createMenu(
  attributes: Attributes,
  sections: readonly MenuSection[],
  close: () => void,
): HTMLElement {
  const parts = sections
    .filter(({ items }) => items.length > 0)
    .map((section) => createSection(section, close));
  const menu = element("div", { role: "menu", ...attributes }, ...parts);
  menu.addEventListener("keydown", (event) => handleMenuKey(event, menu, close));
  return menu;
}

function createSection({ title, items }: MenuSection, close: () => void): HTMLElement {
  const heading = title ? [element("p", { class: "tgw-label", "aria-hidden": "true" }, title)] : [];
  return element(
    "div",
    {
      role: "group",
      "aria-label": title,
      class: items.every(({ narrow }) => narrow) && "tgw-narrow",
    },
    ...heading,
    ...runsOf(items).flatMap((run) => createRun(run, close)),
  );
}

/** Neighbors that are refused for the same reason together, so that it stands below them once. */
export function runsOf(items: readonly MenuItem[]): MenuItem[][] {
  const runs: MenuItem[][] = [];
  for (const item of items) {
    const last = runs.at(-1);
    if (last && last[0]?.why === item.why) last.push(item);
    else runs.push([item]);
  }
  return runs;
}

function createRun(run: readonly MenuItem[], close: () => void): HTMLElement[] {
  const why = run[0]?.why;
  if (!why) return run.map((item) => createItem(item, close));
  const reason = element("p", { class: "tgw-reason", id: uniqueId() }, why);
  const entries = run.map((item) => createItem(item, close));
  for (const entry of entries) {
    entry.classList.add("tgw-barred");
    setAttributes(entry, { title: why, "aria-describedby": reason.id });
  }
  return [...entries, reason];
}

function createItem(
  { id, text, key, note, narrow, checked, act }: MenuItem,
  close: () => void,
): HTMLElement {
  const choose = () => {
    close();
    act();
  };
  const control = button(
    {
      class: narrow ? "tgw-menu-item tgw-narrow" : "tgw-menu-item",
      role: checked ? "menuitemcheckbox" : "menuitem",
      tabindex: -1,
      "data-command": id,
      "aria-keyshortcuts": key || undefined,
      "aria-checked": checked && String(checked()),
    },
    choose,
    element("span", {}, text),
  );
  const end = key || note;
  if (end) control.append(element("kbd", { class: "tgw-key", "aria-hidden": "true" }, end));
  // An entry is the current one by keys and by the pointer, so that there is only one.
  control.addEventListener("pointermove", () => control.focus({ preventScroll: true }));
  return control;
}

/** Those that are to be seen. */
function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".tgw-menu-item")].filter(
    (item) => item.offsetParent !== null,
  );
}

/** Arrow keys move, Enter and Space choose, Escape closes, a letter finds. */
function handleMenuKey(event: KeyboardEvent, menu: HTMLElement, close: () => void): void {
  const items = itemsOf(menu);
  const here = items.indexOf(focusAround(menu) as HTMLElement);
  const go = (to: number) => items[(to + items.length) % items.length]?.focus();
  const keys: Record<string, () => unknown> = {
    Escape: close,
    ArrowDown: () => go(here + 1),
    ArrowUp: () => go(here - 1),
    Home: () => go(0),
    End: () => go(-1),
  };
  const letter = event.key.length === 1 && event.key !== " " ? event.key.toLowerCase() : "";
  const ahead = [...items.slice(here + 1), ...items.slice(0, here + 1)];
  const found = letter
    ? ahead.find((item) => item.textContent?.toLowerCase().startsWith(letter))
    : undefined;
  const act = keys[event.key] ?? (found && (() => found.focus()));
  if (act) {
    act();
    event.preventDefault();
  }
  // Enter, Space and Tab are the browser's; no other key is the drawing's meanwhile.
  event.stopPropagation();
}

/**
 * Call `left` when the focus leaves an element, unless that waits for the application's dialog of
 * files.
 */
function onFocusLeft(root: HTMLElement, left: (to: EventTarget | null) => void): void {
  root.addEventListener("focusout", ({ relatedTarget }) => {
    const isInside = relatedTarget instanceof Node && root.contains(relatedTarget);
    if (!isInside && !isBrowsing(root)) left(relatedTarget);
  });
}

/** A button, and below it while it is open a menu, or the form to which an entry leads. */
export class Dropdown {
  readonly root: HTMLElement;
  readonly #opener: HTMLButtonElement;
  readonly #popup: HTMLElement;
  readonly #content: () => HTMLElement | null | Promise<HTMLElement | null>;
  /** Counts how often it was opened or closed: what comes late does not open it again. */
  #turn = 0;

  /** `content` makes what the button opens: a menu, or null if there is none now. */
  constructor(
    kind: string,
    opener: { readonly attributes: Attributes; readonly children: readonly Child[] },
    content: () => HTMLElement | null | Promise<HTMLElement | null>,
  ) {
    this.#content = content;
    this.#popup = element("div", { class: `tgw-dropdown ${kind}`, id: uniqueId(), hidden: true });
    this.#opener = button(
      {
        ...opener.attributes,
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        "aria-controls": this.#popup.id,
      },
      () => (this.#popup.hidden ? this.#open() : this.close()),
      ...opener.children,
    );
    this.#opener.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      event.stopPropagation();
      void this.#open();
    });
    this.root = element("div", { class: "tgw-dropper" }, this.#opener, this.#popup);
    onFocusLeft(this.root, () => this.close());
    // A click on its text keeps it open.
    this.#popup.addEventListener("mousedown", (event) => {
      if (!(event.target instanceof Element && event.target.closest("button, input, label")))
        event.preventDefault();
    });
  }

  /** Show a menu, or a form in its place, with the focus on the first entry or field. */
  show(content: HTMLElement): void {
    const before = [...this.#popup.children];
    this.#popup.append(content);
    this.#popup.hidden = false;
    this.#opener.setAttribute("aria-expanded", "true");
    // While the old content is there: when it takes the focus with it, the dropdown closes.
    const first = itemsOf(content)[0] ?? content.querySelector("input");
    first?.focus({ preventScroll: true });
    for (const old of before) old.remove();
    this.#place();
  }

  close(): void {
    this.#turn += 1;
    if (this.#popup.hidden) return;
    const had = hasFocus(this.#popup);
    this.#popup.hidden = true;
    this.#opener.setAttribute("aria-expanded", "false");
    if (had) this.#opener.focus({ preventScroll: true });
  }

  #open(): Promise<void> {
    return whileBusy(this.#opener, async () => {
      this.#turn += 1;
      const turn = this.#turn;
      const content = await this.#content();
      if (content && turn === this.#turn) this.show(content);
    });
  }

  /**
   * Inside of the widget: moved to the right where the button is too far at the left, and no higher
   * than there is room.
   */
  #place(): void {
    const { style } = this.#popup;
    style.right = "";
    const around = this.root.closest(".tfgraphwidget")?.getBoundingClientRect();
    const { left, top } = this.#popup.getBoundingClientRect();
    const beyond = (around?.left ?? 0) + MARGIN - left;
    if (beyond > 0) style.right = `${-beyond}px`;
    style.maxHeight = `${Math.max((around?.bottom ?? 0) - top - BELOW_MENU, LEAST_MENU)}px`;
  }
}

/**
 * What a popover does besides: `stays` says whether it is open without the focus, which has gone to
 * an element or null.
 */
interface PopoverNeeds {
  readonly closed?: () => void;
  readonly stays?: (focused: EventTarget | null) => boolean;
}

/**
 * A menu, or a form in its place, at a point of the drawing. It has the focus while it is open, and
 * gives it back.
 */
export class Popover {
  readonly root: HTMLElement;
  readonly body = element("div", {});
  /** What has the focus again afterwards; else the drawing. */
  origin: HTMLElement | null = null;
  readonly #heading = element("p", { class: "tgw-label", id: uniqueId() });
  readonly #closed: () => void;
  #point: Point = { x: 0, y: 0 };

  constructor(kind: string, { closed = () => {}, stays = () => false }: PopoverNeeds = {}) {
    this.#closed = closed;
    // A click on its text leaves it open: it can have the focus.
    const attributes = { class: `tgw-menu ${kind}`.trim(), tabindex: -1, hidden: true };
    this.root = element("div", attributes, this.#heading, this.body);
    // A form grows with what is typed.
    new ResizeObserver(() => this.#move()).observe(this.root);
    onFocusLeft(this.root, (focused) => !stays(focused) && this.close());
  }

  get widget(): HTMLElement | null {
    return this.root.closest<HTMLElement>(".tfgraphwidget");
  }

  /** Show a form, or a menu. `about` explains the title. */
  show(title: string, content: HTMLElement, point: Point, about = ""): void {
    this.#point = point;
    this.#heading.textContent = title;
    setAttributes(this.#heading, { title: about || undefined });
    this.body.replaceChildren(content);
    this.root.hidden = false;
    this.#move();
  }

  /** Show a menu, with the focus on the first entry, or on the one of an id. */
  showMenu(
    title: string,
    sections: readonly MenuSection[],
    point: Point,
    focused: string | null = null,
  ): HTMLElement {
    const menu = createMenu({ "aria-labelledby": this.#heading.id }, sections, () => this.close());
    this.show(title, menu, point);
    const items = itemsOf(menu);
    const first = items.find(({ dataset }) => dataset["command"] === focused) ?? items[0];
    first?.focus({ preventScroll: true });
    return menu;
  }

  close(): void {
    if (this.root.hidden) return;
    const had = hasFocus(this.root);
    this.root.hidden = true;
    if (had) (this.origin?.isConnected ? this.origin : this.widget)?.focus({ preventScroll: true });
    this.#closed();
  }

  /** Move it to its point, and so far inside of the drawing that all of it is visible. */
  #move(): void {
    if (this.root.hidden) return;
    const { clientWidth, clientHeight } = this.root.parentElement ?? this.root;
    const left = Math.max(
      MARGIN,
      Math.min(this.#point.x, clientWidth - this.root.offsetWidth - MARGIN),
    );
    const top = Math.max(
      MARGIN,
      Math.min(this.#point.y, clientHeight - this.root.offsetHeight - MARGIN),
    );
    this.root.style.transform = `translate(${left}px, ${top}px)`;
  }
}
