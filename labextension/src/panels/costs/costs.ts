// The costs: buttons that color the drawing by them, and a table.
import type { Parts } from "../../interaction/parts";
import { element, taskButton } from "../dom";
import { createCostTable } from "./cost-table";

export function createCosts(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const list = element("div", {
    class: "tgw-derive",
    role: "group",
    "aria-label": "Color by cost",
  });
  const none = element("p", { class: "tgw-hint" }, "The costs of this graph are not known.");
  let shown = "";
  store.watch(["state"], ({ state }) => {
    if (!state) return;
    const by = state.legend?.by ?? "";
    const text = JSON.stringify([state.colors, by]);
    if (text === shown) return;
    shown = text;
    none.hidden = state.colors.length > 0;
    list.replaceChildren(
      ...state.colors.map((way) =>
        taskButton(
          {
            class: "tgw-button tgw-toggle",
            "aria-label": `Color by ${way}`,
            "aria-pressed": String(way === by),
          },
          () => actions.changeView({ type: "color", by: way === by ? "" : way }),
          way,
        ),
      ),
    );
  });
  const title = element("p", { class: "tgw-label" }, "Color by");
  return element("section", { "aria-label": "Costs" }, createCostTable(parts), title, list, none);
}
