// A part of the side panel: a small heading that folds it, tools beside it, a body.
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
      show(made.toggleAttribute("data-folded"));
      remember(title, made.hasAttribute("data-folded"));
    },
    title,
  );
  const show = (folded: boolean) => setAttributes(fold, { "aria-expanded": String(!folded) });
  const heading = element("h3", { class: "tgw-heading" }, fold);
  const head = element("header", { class: "tgw-section-head" }, heading, ...tools);
  const folded = foldedOnes().includes(title);
  const made = element(
    "section",
    { ...attributes, "aria-label": title, "data-folded": folded },
    head,
    ...body,
  );
  show(folded);
  return made;
}

const KEY = "tfgraphwidget:folded";

/** The titles of the parts that a person has folded, in this browser; none where a page may not store anything. */
function foldedOnes(): string[] {
  try {
    return localStorage.getItem(KEY)?.split("\n") ?? [];
  } catch {
    return [];
  }
}

function remember(title: string, folded: boolean): void {
  const others = foldedOnes().filter((other) => other !== title);
  try {
    localStorage.setItem(KEY, (folded ? [...others, title] : others).join("\n"));
  } catch {
    // Folded for as long as the page is open.
  }
}
