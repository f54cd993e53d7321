// A section of the side panel: a heading that folds it, tools beside the heading, a body.
import { button, element, setAttributes } from "../dom";

export function section(
  title: string,
  attributes: Record<string, string>,
  tools: readonly HTMLElement[],
  ...body: HTMLElement[]
): HTMLElement {
  // "Clone section", since a button that clones is called "Clone".
  const fold = button(
    { class: "tgw-heading-button", "aria-expanded": "true", "aria-label": `${title} section` },
    () => {
      show(root.toggleAttribute("data-folded"));
      storeFolded(title, root.hasAttribute("data-folded"));
    },
    title,
  );
  const show = (folded: boolean) => setAttributes(fold, { "aria-expanded": String(!folded) });
  const heading = element("h3", { class: "tgw-heading" }, fold);
  const head = element("header", { class: "tgw-section-head" }, heading, ...tools);
  const folded = readFolded().includes(title);
  const root = element(
    "section",
    { ...attributes, "aria-label": title, "data-folded": folded },
    head,
    ...body,
  );
  show(folded);
  return root;
}

const KEY = "tfgraphwidget:folded";

/**
 * The titles of the sections that the user folded, in this browser; none if the page has no
 * storage.
 */
function readFolded(): string[] {
  try {
    return localStorage.getItem(KEY)?.split("\n") ?? [];
  } catch {
    return [];
  }
}

function storeFolded(title: string, folded: boolean): void {
  const others = readFolded().filter((other) => other !== title);
  try {
    localStorage.setItem(KEY, (folded ? [...others, title] : others).join("\n"));
  } catch {
    // Folded for as long as the page is open.
  }
}
