// Menus: a button with a menu below it. Arrow keys move, Enter and Space choose, Escape closes, a letter finds.
import type { MenuEntry } from "../../interaction/drag-connect";
import type { Point } from "../../render/camera/camera";
import { button, element, focusAround, hasFocus, ICONS, icon, setAttributes, uniqueId } from "../dom";

/** What lies over the drawing while it has the focus: menus, the forms in them, and dialogs. */
export const POPUP = ":is(.tgw-menu, .tgw-dropdown, [role='dialog'])";

/** Pixels between a menu and the lower border of the widget, and what a menu has in a widget that is very low. */
const BELOW_MENU = 8;
const LEAST_MENU = 120;

/** Whether a menu, or a form in its place, lies over the drawing; a dialog leaves nothing of it to be pointed at. */
export function isPopupOpen(root: HTMLElement): boolean {
  return root.querySelector(":is(.tgw-menu, .tgw-dropdown):not([hidden])") !== null;
}

/** Call `opened` when a menu, a form or a dialog has come over the drawing: each gets the focus then. */
export function watchPopups(root: HTMLElement, opened: () => void): void {
  root.addEventListener("focusin", ({ target }) => {
    if (target instanceof Element && target.closest(POPUP)) opened();
  });
}

export interface MenuItem {
  readonly text: string;
  /** The key that does the same, or "". */
  readonly key?: string;
  /** Only where the toolbar is too narrow for its button. */
  readonly narrow?: boolean;
  readonly hidden?: () => boolean;
  /** For a toggle: whether it is on. */
  readonly checked?: () => boolean;
  readonly act: () => unknown;
}

export interface MenuSection {
  readonly title: string;
  readonly items: readonly MenuItem[];
}

export function createDropdown(name: string, title: string, parts: readonly MenuSection[]): HTMLElement {
  const id = uniqueId();
  const menu = element("div", { class: "tgw-dropdown", id, role: "menu", "aria-label": title, hidden: true });
  const toggle = () => (menu.hidden ? open(true) : open(false));
  const opener = button(
    {
      class: "tgw-mode tgw-opener",
      title,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-controls": id,
    },
    toggle,
    name,
    icon(ICONS.chevron),
  );
  const open = (shown: boolean) => {
    if (menu.hidden === !shown) return;
    const had = hasFocus(menu);
    menu.hidden = !shown;
    opener.setAttribute("aria-expanded", String(shown));
    if (shown) {
      menu.replaceChildren(...parts.map((part) => sectionOf(part, () => open(false))));
      limitHeight(menu);
      itemsOf(menu)[0]?.focus({ preventScroll: true });
    } else if (had) opener.focus({ preventScroll: true });
  };
  opener.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    event.stopPropagation();
    open(true);
  });
  const root = element("div", { class: "tgw-dropper" }, opener, menu);
  menu.addEventListener("keydown", (event) => handleMenuKey(event, menu, () => open(false)));
  root.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node && root.contains(event.relatedTarget))) open(false);
  });
  return root;
}

function sectionOf({ title, items }: MenuSection, close: () => void): HTMLElement {
  const shown = items.filter(({ hidden }) => !hidden?.());
  return element(
    "div",
    {
      role: "group",
      "aria-label": title,
      class: shown.every(({ narrow }) => narrow) ? "tgw-narrow" : "",
      hidden: shown.length === 0,
    },
    element("p", { class: "tgw-label", "aria-hidden": "true" }, title),
    ...shown.map((item) => menuItem(item, close)),
  );
}

/** An entry; `close` is called before it acts. */
export function menuItem({ text, key, narrow, checked, act }: MenuItem, close: () => void): HTMLElement {
  const choose = () => {
    close();
    act();
  };
  const control = button(
    {
      class: narrow ? "tgw-menu-item tgw-narrow" : "tgw-menu-item",
      role: checked ? "menuitemcheckbox" : "menuitem",
      tabindex: -1,
      "aria-keyshortcuts": key,
    },
    choose,
    element("span", {}, text),
  );
  if (key) control.append(element("kbd", { class: "tgw-key", "aria-hidden": "true" }, key));
  if (checked) setAttributes(control, { "aria-checked": String(checked()) });
  return focusedByPointer(control);
}

/** An entry is the current one by keys and by the pointer, so that there is only one. */
function focusedByPointer(item: HTMLElement): HTMLElement {
  item.addEventListener("pointermove", () => item.focus({ preventScroll: true }));
  return item;
}

/** Those that are to be seen. */
function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".tgw-menu-item")].filter(
    (item) => item.offsetParent !== null,
  );
}

/** Keys in a menu of .tgw-menu-item. */
export function handleMenuKey(event: KeyboardEvent, menu: HTMLElement, close: () => void): void {
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
  const found = letter ? ahead.find((item) => item.textContent?.toLowerCase().startsWith(letter)) : undefined;
  const act = keys[event.key] ?? (found && (() => found.focus()));
  if (act) {
    act();
    event.preventDefault();
  }
  // Enter, Space and Tab are the browser's; no other key is the drawing's meanwhile.
  event.stopPropagation();
}

// A popup menu at a point of the drawing: arrow keys move, Enter chooses, Escape closes.

export interface PopupMenu {
  readonly root: HTMLElement;
  show(title: string, entries: readonly MenuEntry[], point: Point): void;
}

export function createPopupMenu(): PopupMenu {
  const id = uniqueId();
  const heading = element("p", { class: "tgw-label", id });
  const list = element("div", { role: "menu", "aria-labelledby": id });
  const root = element("div", { class: "tgw-menu", hidden: true }, heading, list);
  const close = () => {
    if (root.hidden) return;
    const had = hasFocus(root);
    root.hidden = true;
    if (had) root.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
  };
  root.addEventListener("keydown", (event) => handleMenuKey(event, list, close));
  root.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node && root.contains(event.relatedTarget))) close();
  });
  const show = (title: string, entries: readonly MenuEntry[], { x, y }: Point) => {
    heading.textContent = title;
    list.replaceChildren(...entries.map((entry) => popupItem(entry, close)));
    root.hidden = false;
    placeMenu(root, x, y);
    list.querySelector("button")?.focus({ preventScroll: true });
  };
  return { root, show };
}

function popupItem({ text, why, choose }: MenuEntry, close: () => void): HTMLElement {
  const act = () => {
    close();
    choose();
  };
  const reason = why ? [element("span", { class: "tgw-reason" }, why)] : [];
  const attributes = { role: "menuitem", class: why ? "tgw-menu-item tgw-barred" : "tgw-menu-item" };
  return focusedByPointer(button(attributes, act, text, ...reason));
}

/** A menu below a button of the toolbar is as high as its items, or as the widget has room below the button. */
export function limitHeight(menu: HTMLElement): void {
  const bottom = menu.closest(".tfgraphwidget")?.getBoundingClientRect().bottom ?? 0;
  menu.style.maxHeight = `${Math.max(bottom - menu.getBoundingClientRect().top - BELOW_MENU, LEAST_MENU)}px`;
}

/** Move a menu to a point of the element around it, and so far inside that all of it is visible. */
export function placeMenu(root: HTMLElement, x: number, y: number): void {
  const { clientWidth, clientHeight } = root.parentElement ?? root;
  const left = Math.max(4, Math.min(x, clientWidth - root.offsetWidth - 4));
  const top = Math.max(4, Math.min(y, clientHeight - root.offsetHeight - 4));
  root.style.transform = `translate(${left}px, ${top}px)`;
}
