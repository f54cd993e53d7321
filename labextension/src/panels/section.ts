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
      const folded = made.toggleAttribute("data-folded");
      setAttributes(fold, { "aria-expanded": String(!folded) });
    },
    title,
  );
  const heading = element("h3", { class: "tgw-heading" }, fold);
  const head = element("header", { class: "tgw-section-head" }, heading, ...tools);
  const made = element("section", { ...attributes, "aria-label": title }, head, ...body);
  return made;
}
