// A button with a menu below it: arrow keys move, Enter and Space choose, Escape closes, a letter finds.
import { button, element, ICONS, icon, setAttributes, uniqueId } from "../dom";

export interface Item {
  readonly text: string;
  /** The key that does the same, or "". */
  readonly key?: string;
  /** Only where the toolbar is too narrow for its button. */
  readonly narrow?: boolean;
  readonly hidden?: () => boolean;
  /** For what is on or off. */
  readonly checked?: () => boolean;
  readonly act: () => unknown;
}

export interface Part {
  readonly title: string;
  readonly items: readonly Item[];
}

export function createDropdown(name: string, title: string, parts: readonly Part[]): HTMLElement {
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
    const had = menu.contains(document.activeElement);
    menu.hidden = !shown;
    opener.setAttribute("aria-expanded", String(shown));
    if (shown) {
      menu.replaceChildren(...parts.map((part) => partOf(part, () => open(false))));
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
  menu.addEventListener("keydown", (event) => listenInMenu(event, menu, () => open(false)));
  root.addEventListener("focusout", (event) => {
    if (!(event.relatedTarget instanceof Node && root.contains(event.relatedTarget))) open(false);
  });
  return root;
}

function partOf({ title, items }: Part, close: () => void): HTMLElement {
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
    ...shown.map((item) => entry(item, close)),
  );
}

function entry({ text, key, narrow, checked, act }: Item, close: () => void): HTMLElement {
  const choose = () => {
    close();
    act();
  };
  const made = button(
    {
      class: narrow ? "tgw-menu-item tgw-narrow" : "tgw-menu-item",
      role: checked ? "menuitemcheckbox" : "menuitem",
      tabindex: -1,
      "aria-keyshortcuts": key,
    },
    choose,
    element("span", {}, text),
  );
  if (key) made.append(element("kbd", { "aria-hidden": "true" }, key));
  if (checked) setAttributes(made, { "aria-checked": String(checked()) });
  return made;
}

/** Those that are to be seen. */
function itemsOf(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>(".tgw-menu-item")].filter(
    (item) => item.offsetParent !== null,
  );
}

/** Keys in a menu of .tgw-menu-item. */
export function listenInMenu(event: KeyboardEvent, menu: HTMLElement, close: () => void): void {
  const items = itemsOf(menu);
  const here = items.indexOf(document.activeElement as HTMLElement);
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
