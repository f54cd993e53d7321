// The help sheet: shows the table of keys and gestures (interaction/key-bindings.ts).
import { available, GESTURES, GROUPS, keyCaps } from "../../interaction/key-bindings";
import type { Parts } from "../../interaction/parts";
import { button, element, focusAround, ICONS, icon, uniqueId } from "../dom";
import { OUTLINE_KEYS } from "./outline";

export function createHelp(parts: Parts): HTMLElement {
  const { store } = parts;
  const id = uniqueId();
  const close = () => store.set({ helping: false });
  const leave = button(
    { class: "tgw-tool", "aria-label": "Close", title: "Close (Esc)" },
    close,
    icon(ICONS.close),
  );
  const sheet = element("div", {
    class: "tgw-help-sheet",
    role: "dialog",
    "aria-modal": "true",
    "aria-labelledby": id,
  });
  const root = element("div", { class: "tgw-help", hidden: true }, sheet);
  root.addEventListener("keydown", (event) => trapFocus(event, sheet, close));
  root.addEventListener("click", (event) => event.target === root && close());
  let before: HTMLElement | null = null;
  store.watch(["helping"], ({ helping }) => {
    if (helping === !root.hidden) return;
    if (helping) {
      const focused = focusAround(root);
      before = focused instanceof HTMLElement ? focused : null;
      const heading = element("h2", { class: "tgw-help-title", id }, "Keys and gestures");
      sheet.replaceChildren(element("header", {}, heading, leave), columns(parts));
    }
    root.hidden = !helping;
    if (helping) leave.focus();
    else before?.focus({ preventScroll: true });
  });
  return root;
}

/** Made when it is first needed: most people never look. */
function columns(parts: Parts): HTMLElement {
  const groups = GROUPS.filter(({ bindings }) => available(bindings, parts).length > 0).map(
    ({ title, bindings }) =>
      group(
        title,
        available(bindings, parts).map(({ keys, what }) => [keys.map(keyCaps), what]),
      ),
  );
  const outline = group(
    "In the outline (press Tab in the view)",
    available(OUTLINE_KEYS, parts).map(({ keys, what }) => [keys.map(keyCaps), what]),
  );
  const mouse = group("Mouse and touch", []);
  for (const { how, what } of available(GESTURES, parts))
    mouse.lastElementChild?.append(element("dt", {}, how), element("dd", {}, what));
  // The keyboard scrolls only the focused element.
  const attributes = {
    class: "tgw-help-columns",
    tabindex: 0,
    role: "region",
    "aria-label": "Keys and gestures",
  };
  return element("div", attributes, ...groups, mouse, outline);
}

/** Lines that do the same, like the four arrows that move the drawing, are one. */
function group(
  title: string,
  lines: readonly (readonly [readonly string[][], string])[],
): HTMLElement {
  const joined = new Map<string, string[][]>();
  for (const [keys, what] of lines) joined.set(what, [...(joined.get(what) ?? []), ...keys]);
  const list = element("dl");
  for (const [what, keys] of joined)
    list.append(element("dt", {}, ...chordsOf(keys)), element("dd", {}, what));
  return element("section", {}, element("h3", {}, title), list);
}

/** "Shift ↑ ↓": common modifiers are shown once. */
function chordsOf(keys: readonly string[][]): HTMLElement[] {
  const modifiersOf = (caps: readonly string[] | undefined) => caps?.slice(0, -1).join("+") ?? "";
  return keys.map((caps, i) => {
    const shown =
      i > 0 && modifiersOf(caps) !== "" && modifiersOf(caps) === modifiersOf(keys[i - 1])
        ? caps.slice(-1)
        : caps;
    return element(
      "span",
      { class: "tgw-chord" },
      ...shown.map((cap) => element("kbd", { class: "tgw-key" }, cap)),
    );
  });
}

/** Tab goes round, Escape closes, and no other key reaches the drawing. */
function trapFocus(event: KeyboardEvent, sheet: HTMLElement, close: () => void): void {
  event.stopPropagation();
  if (event.key === "Escape" || event.key === "?") {
    event.preventDefault();
    close();
  } else if (event.key === "Tab") {
    event.preventDefault();
    const stops = [...sheet.querySelectorAll<HTMLElement>("button, [tabindex]")];
    const here = stops.indexOf(focusAround(sheet) as HTMLElement);
    stops[(here + (event.shiftKey ? -1 : 1) + stops.length) % stops.length]?.focus();
  }
}
