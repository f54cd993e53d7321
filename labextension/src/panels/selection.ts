// The selection: its boundary as chips, its size; as Python; what can be made of it.
import type { Side } from "../actions";
import { breakable, button, disable, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import type { State } from "../protocol";
import { sizeText } from "../scene";
import { isSelecting, whyNot } from "../selecting";
import { GRAPH_VERBS, partVerbs } from "../verbs";
import { createDerive } from "./derive";
import { createExpression } from "./expression";
import { hideButtons } from "./filter";
import { verbButtons } from "./forms";
import { more } from "./more";
import type { Parts } from "./parts";
import { opLink } from "./search";
import { section } from "./section";

/** A selection that is used as boundary may begin and end in thousands of places. */
const CHIPS = 50;

export function createSelection(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const body = element("div", { class: "tgw-selection" });
  const clear = button(
    { class: "tgw-text-button", "aria-label": "Clear selection" },
    () => actions.clearSelection(),
    "Clear",
  );
  const go = (name: string) => void actions.reveal(name);
  const remove = (name: string, side: Side) => void actions.toggleBoundary(name, side);
  store.watch(["state"], ({ state }) => {
    const why = whyNot("clear", state);
    disable(clear, why !== "");
    clear.title = why || "Select nothing, and mark no boundary";
    releaseFocus(body);
    if (state) body.replaceChildren(...contents(state, go, remove));
  });
  const values = taskButton(
    { class: "tgw-button", title: "Run the graph, and look at what these ops give" },
    () => actions.edits.probe(),
    "Values",
  );
  const verbs = verbButtons("Edit the selection", partVerbs([]), parts, values);
  const hide = hideButtons("", parts);
  store.watch(["state"], ({ state }) => {
    verbs.hidden = (state?.selected_ops ?? 0) === 0;
    hide.hidden = verbs.hidden;
  });
  const tools = [createExpression(parts), createDerive(parts), hide, verbs, wholeGraph(parts)];
  return section("Selection", {}, [clear], body, ...tools);
}

/** Edits that need no selection. */
function wholeGraph(parts: Parts): HTMLElement {
  return element(
    "details",
    { class: "tgw-details" },
    element("summary", { class: "tgw-fold" }, "Whole graph"),
    element("div", { class: "tgw-inner" }, verbButtons("Edit the whole graph", GRAPH_VERBS, parts)),
  );
}

function contents(
  state: State,
  go: (name: string) => void,
  remove: (name: string, side: Side) => void,
): HTMLElement[] {
  const marked = state.inputs.length + state.outputs.length > 0;
  if (!marked && !isSelecting(state)) return [hint()];
  return [
    ...(marked
      ? [chips("inputs", state.inputs, go, remove), chips("outputs", state.outputs, go, remove)]
      : []),
    countLine(state),
  ];
}

function hint(): HTMLElement {
  return element(
    "p",
    { class: "tgw-hint" },
    "Choose ",
    element("b", {}, "Input"),
    " and click an op, then ",
    element("b", {}, "Output"),
    " and click another: all ops between them light up, ready to be cloned. Or drag a box (b) or a lasso (l) around ",
    "ops, or Ctrl-click them.",
  );
}

function countLine(state: State): HTMLElement {
  const { selected_ops: ops, selected_variables: variables } = state;
  return element("p", { class: "tgw-count", "data-ops": ops, "data-variables": variables }, countText(state));
}

/** How large the selection is, or which side of a boundary that was begun is missing. */
export function countText(state: State): string {
  const missing = state.inputs.length === 0 ? "an input" : state.outputs.length === 0 ? "an output" : "";
  return isSelecting(state) || !missing
    ? sizeText(state.selected_ops, state.selected_variables)
    : `Now mark ${missing}.`;
}

function chips(
  side: Side,
  names: readonly string[],
  go: (name: string) => void,
  remove: (name: string, side: Side) => void,
): HTMLElement {
  const title = side === "inputs" ? "Inputs" : "Outputs";
  const shape = side === "inputs" ? "down" : "up";
  const list = element("ul", { class: "tgw-chips", "aria-label": title });
  for (const name of names.slice(0, CHIPS)) {
    const drop = button(
      { class: "tgw-chip-remove", "aria-label": `Unmark ${name}`, title: `Unmark ${name}` },
      () => remove(name, side),
      icon(ICONS.close),
    );
    const chip = element(
      "li",
      { class: `tgw-chip tgw-${side}`, "data-name": name },
      icon(ICONS[shape], "tgw-marker"),
    );
    chip.append(opLink(name, go, breakable(name)), drop);
    list.append(chip);
  }
  if (names.length > CHIPS) list.append(more(names.length - CHIPS));
  const none = names.length === 0 ? element("p", { class: "tgw-none" }, "none yet") : list;
  return element("div", { class: "tgw-field" }, element("div", { class: "tgw-label" }, title), none);
}
