// Creates elements. Text is always set as text, because names and attributes come from untrusted
// files.
export type Attributes = Record<string, string | number | boolean | undefined>;
export type Child = Node | string;

/**
 * An element with attributes ("class", "aria-label", …; true is the empty attribute, false and
 * undefined none).
 */
export function element<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[T] {
  const node = document.createElement(tag);
  setAttributes(node, attributes);
  node.append(...children);
  return node;
}

export function setAttributes(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

export function button(
  attributes: Attributes,
  act: () => unknown,
  ...children: Child[]
): HTMLButtonElement {
  const control = element("button", { type: "button", ...attributes }, ...children);
  control.addEventListener("click", () => act());
  return control;
}

/** A 16 px line drawing in the color of the text around it. */
export function icon(path: string, kind = ""): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  setAttributes(svg, {
    viewBox: "0 0 16 16",
    class: `tgw-icon ${kind}`.trim(),
    "aria-hidden": "true",
  });
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  fit: "M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5M5.5 5.5h5v5h-5z",
  panel: "M2 3h12v10H2zM10 3v10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4 14 14",
  undo: "M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H7",
  redo: "m10 3 3.5 3.5L10 10M13 6.5H6.5a4 4 0 0 0 0 8H9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  save: "M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 10.5v3h11v-3",
  close: "m4 4 8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  pointer: "M3.5 2.5 13 7l-4 1.5L7 13z",
  down: "M3 5h10l-5 7z",
  up: "M3 11h10L8 4z",
  pan: "M8 1.5v13M1.5 8h13M6 3.5 8 1.5l2 2M6 12.5l2 2 2-2M3.5 6 1.5 8l2 2M12.5 6l2 2-2 2",
  box: "M2.5 5V2.5H5M7 2.5h2M11 2.5h2.5V5M13.5 7v2M13.5 11v2.5H11M9 13.5H7M5 13.5H2.5V11M2.5 9V7",
  lasso:
    "M8 2.5c3.5 0 6 1.6 6 3.8s-2.5 3.8-6 3.8-6-1.6-6-3.8 2.5-3.8 6-3.8" +
    "M4.5 9.5c-2 1-1 2.8.5 2.3s2 .7.5 2.2",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5",
  folder: "M2 4.5v8h12v-7H8L6.5 3.5h-4.5z",
  enter: "M7 3h6v10H7M2 8h7.5M7 5.5 9.5 8 7 10.5",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7 11.3 7",
  play: "M5 3v10l8-5z",
  changes: "M5.5 2.5v6M2.5 5.5h6M8.5 11.5h5M2.5 13.5l11-11",
  target: "M8 1.5v4M8 10.5v4M1.5 8h4M10.5 8h4",
  chevron: "m4 6.5 4 4 4-4",
  help:
    "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13" +
    "M6 6.2a2 2 0 1 1 2.8 1.9q-.8.4-.8 1.2M8 11.5v.01",
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4M2 2l4 4M14 2l-4 4M14 14l-4-4M2 14l4-4",
  warning: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 12v.01",
} as const;

/** A name that may break after its slashes. */
export function breakableName(name: string): DocumentFragment {
  const parts = document.createDocumentFragment();
  for (const part of name.split(/(?<=[/_])/)) parts.append(part, document.createElement("wbr"));
  return parts;
}

/**
 * What has the focus, as the document or the shadow root around `node` knows it: some front ends
 * put widgets into one.
 */
export function focusAround(node: Node): Element | null {
  return (node.getRootNode() as Document | ShadowRoot).activeElement ?? null;
}

/** Whether an element, or something in it, has the focus. */
export function hasFocus(holder: Element): boolean {
  return holder.contains(focusAround(holder));
}

/**
 * Call before an element is removed or disabled: if it has the focus, the widget takes it, so that
 * keys still work.
 */
export function releaseFocus(holder: Element): void {
  if (hasFocus(holder))
    holder.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
}

/**
 * Scroll the panel around an element, and not the page, as little as shows it, or its upper part if
 * it is higher.
 */
export function scrollToShow(shown: Element): void {
  const panel = shown.closest(".tgw-tab-page");
  if (!panel) return;
  const [view, box] = [panel.getBoundingClientRect(), shown.getBoundingClientRect()];
  const below = Math.max(box.bottom + SCROLL_MARGIN - view.bottom, 0);
  const above = box.top - SCROLL_MARGIN - view.top;
  panel.scrollTop += Math.min(below, above);
}
/** Pixels between an element that was scrolled into view and the border of the panel. */
const SCROLL_MARGIN = 8;

/** Disable a button, or enable it. */
export function disable(target: HTMLButtonElement, disabled: boolean): void {
  if (disabled) releaseFocus(target);
  target.disabled = disabled;
}

/**
 * A button with an asynchronous action: it is marked as busy meanwhile, and ignores further clicks.
 */
export function taskButton(
  attributes: Attributes,
  act: () => Promise<unknown>,
  ...children: Child[]
): HTMLButtonElement {
  const control = button(attributes, () => whileBusy(control, act), ...children);
  return control;
}

/** Run `act` unless it is already running; the element is marked as busy meanwhile. */
export async function whileBusy(shown: HTMLElement, act: () => Promise<unknown>): Promise<void> {
  if (shown.getAttribute("aria-busy") === "true") return;
  setAttributes(shown, { "aria-busy": "true", "aria-disabled": "true" });
  try {
    await act();
  } finally {
    setAttributes(shown, { "aria-busy": undefined, "aria-disabled": undefined });
  }
}

let made = 0;
/** An id that no other widget on the page has. */
export function uniqueId(): string {
  made += 1;
  return `tgw-${made}-${Math.random().toString(36).slice(2, 8)}`;
}
