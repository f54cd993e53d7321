// The last entry of a list that was cut.
import { element } from "../dom";

export function more(count: number): HTMLElement {
  return element("li", { class: "tgw-none" }, `… and ${count.toLocaleString("en")} more`);
}
