// Building elements. Text is only ever set as text: names and attributes come from files.
type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string;

/** An element with attributes ("class", "aria-label", …; true is the empty attribute, false and undefined none). */
export function element<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[T] {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

export function setAttributes(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) target.removeAttribute(name);
    else target.setAttribute(name, value === true ? "" : String(value));
  }
}

export function button(attributes: Attributes, act: () => unknown, ...children: Child[]): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, ...children);
  made.addEventListener("click", () => act());
  return made;
}

/** A 16 px line drawing in the colour of the text around it. */
export function icon(path: string, kind = ""): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  setAttributes(svg, { viewBox: "0 0 16 16", class: `tgw-icon ${kind}`.trim(), "aria-hidden": "true" });
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const ICONS = {
  fit: "M2 5.500V2h3.500M10.500 2H14v3.500M14 10.500V14h-3.500M5.500 14H2v-3.500M5.500 5.500h5v5h-5z",
  panel: "M2 3h12v10H2zM10 3v10",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4 14 14",
  undo: "M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H7",
  redo: "m10 3 3.500 3.500L10 10M13 6.500H6.500a4 4 0 0 0 0 8H9",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  close: "m4 4 8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  pointer: "M3.500 2.500 13 7l-4 1.500L7 13z",
  down: "M3 5h10l-5 7z",
  up: "M3 11h10L8 4z",
  pan: "M8 1.5v13M1.5 8h13M6 3.500 8 1.5l2 2M6 12.500l2 2 2-2M3.500 6 1.5 8l2 2M12.500 6l2 2-2 2",
  box: "M2.500 5V2.500H5M7 2.500h2M11 2.500h2.500V5M13.500 7v2M13.500 11v2.500H11M9 13.500H7M5 13.500H2.500V11M2.500 9V7",
  lasso:
    "M8 2.500c3.500 0 6 1.600 6 3.800s-2.500 3.800-6 3.800-6-1.600-6-3.800 2.500-3.800 6-3.800M4.500 9.500c-2 1-1 2.800.5 2.300s2 .7.500 2.200",
  refresh: "M13 8a5 5 0 1 1-1.500-3.500L13 6M13 2.500V6H9.500",
  enter: "M7 3h6v10H7M2 8h7.500M7 5.500 9.500 8 7 10.500",
  edit: "M3 13l.700-3L10.500 3.200l2.300 2.300L6 12.300zM9 4.700 11.300 7",
  play: "M5 3v10l8-5z",
  changes: "M5.500 2.500v6M2.500 5.500h6M8.500 11.500h5M2.500 13.500l11-11",
  target: "M8 1.500v4M8 10.500v4M1.500 8h4M10.500 8h4",
  chevron: "m4 6.500 4 4 4-4",
  help: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13M6 6.200a2 2 0 1 1 2.800 1.900q-.800.400-.800 1.200M8 11.500v.01",
  full: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4M2 2l4 4M14 2l-4 4M14 14l-4-4M2 14l4-4",
  warning: "M8 2 1.500 13.500h13zM8 6.500v3.500M8 12v.01",
} as const;

/** A name that may break behind its slashes. */
export function breakable(name: string): DocumentFragment {
  const parts = document.createDocumentFragment();
  for (const part of name.split(/(?<=[/_])/)) parts.append(part, document.createElement("wbr"));
  return parts;
}

/** Before something goes or is disabled that may have the focus: the widget takes it, so that its keys go on working. */
export function releaseFocus(holder: Element): void {
  if (holder.contains(document.activeElement))
    holder.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
}

/** Disable a button, or enable it. */
export function disable(target: HTMLButtonElement, disabled: boolean): void {
  if (disabled) releaseFocus(target);
  target.disabled = disabled;
}

/** A button whose click takes its time: until it is done it says that it is busy, and a second click does nothing. */
export function taskButton(
  attributes: Attributes,
  act: () => Promise<unknown>,
  ...children: Child[]
): HTMLButtonElement {
  const made = button(attributes, () => whileBusy(made, act), ...children);
  return made;
}

/** Do something unless it is being done already; meanwhile the element is marked as busy. */
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
