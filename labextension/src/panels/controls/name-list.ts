// Entries of name lists: links to ops, and how many more there are.
import { button, element } from "../dom";

/**
 * A list of the first items; a button below them shows the others, of which it says `what` they
 * are. `total` counts those too that are not here.
 */
export function appendFirst<T>(
  list: HTMLElement,
  what: string,
  items: readonly T[],
  entryOf: (item: T, k: number) => HTMLElement,
  most: number,
  total = items.length,
): void {
  list.append(...items.slice(0, most).map(entryOf));
  const missing = total > items.length ? [moreEntry(total - items.length)] : [];
  if (items.length <= most) {
    list.append(...missing);
    return;
  }
  const text = `Show ${(items.length - most).toLocaleString("en")} more`;
  const more = button(
    { class: "tgw-text-button", "aria-label": `${text} ${what}` },
    () => {
      const rest = items.slice(most).map((item, k) => entryOf(item, most + k));
      const next = [...rest, ...missing];
      entry.after(...next);
      // The button goes: the focus is then on the first that it has shown.
      next[0]?.querySelector<HTMLElement>("button")?.focus({ preventScroll: true });
      entry.remove();
    },
    text,
  );
  const entry = element("li", {}, more);
  list.append(entry);
}

export function moreEntry(count: number): HTMLElement {
  return element("li", { class: "tgw-none" }, `… and ${count.toLocaleString("en")} more`);
}

/** A name that leads to its op. */
export function opLink(
  name: string,
  go: (name: string) => void,
  text: Node | string = name,
): HTMLButtonElement {
  return button(
    { class: "tgw-link", "data-name": name, title: `Go to ${name}` },
    () => go(name),
    text,
  );
}
