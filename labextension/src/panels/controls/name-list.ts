// Entries of name lists: links to ops, and how many more there are.
import { button, element } from "../dom";

export function moreEntry(count: number): HTMLElement {
  return element("li", { class: "tgw-none" }, `… and ${count.toLocaleString("en")} more`);
}

/** A name that leads to its op. */
export function opLink(
  name: string,
  go: (name: string) => void,
  text: Node | string = name,
): HTMLButtonElement {
  return button({ class: "tgw-link", "data-name": name, title: `Go to ${name}` }, () => go(name), text);
}
