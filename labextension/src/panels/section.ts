// A part of the side panel: a small heading, tools beside it, a body.
import { element, uniqueId } from "../dom";

export function section(
  title: string,
  attributes: Record<string, string>,
  tools: readonly HTMLElement[],
  ...body: HTMLElement[]
): HTMLElement {
  const id = uniqueId();
  const heading = element("h3", { class: "tgw-heading", id }, title);
  const head = element("header", { class: "tgw-section-head" }, heading, ...tools);
  return element("section", { ...attributes, "aria-labelledby": id }, head, ...body);
}
