// The selection of a page: how large it is, and what can be made of it.
import { button, disable, element } from "../../dom";
import { createDerive } from "../../panels/derive";
import { hideButtons } from "../../panels/filter";
import { section } from "../../panels/section";
import type { createSelection as Original } from "../../panels/selection";
import { sizeText } from "../../scene";
import { isSelecting } from "../../selecting";

const HINT = "Ctrl-click an op or a scope, or draw a box (b) or a lasso (l) around some.";

export const createSelection: typeof Original = (parts) => {
  const { store, actions } = parts;
  const body = element("div", { class: "tgw-selection" });
  const clear = button(
    { class: "tgw-text-button", "aria-label": "Clear selection" },
    () => actions.derive("clear"),
    "Clear",
  );
  store.watch(["state"], ({ state }) => {
    const chosen = isSelecting(state);
    disable(clear, !chosen);
    clear.title = chosen ? "Select nothing" : "Nothing is selected.";
    const { selected_ops: ops = 0, selected_variables: variables = 0 } = state ?? {};
    const line = element("p", { class: chosen ? "tgw-count" : "tgw-hint", "data-ops": ops });
    line.textContent = chosen ? sizeText(ops, variables) : HINT;
    body.replaceChildren(line);
  });
  const hiding = hideButtons("", parts);
  store.watch(["state"], ({ state }) => {
    hiding.hidden = !isSelecting(state);
  });
  return section("Selection", {}, [clear], body, createDerive(parts), hiding);
};
