// The selection: its boundary as chips, its size, its Python expression, and the commands that
// apply to it.
import type { Side } from "../../interaction/actions";
import { available } from "../../interaction/key-bindings";
import { canEdit, type Parts } from "../../interaction/parts";
import { hasSelection, SELECTION_COMMANDS, whyNot } from "../../interaction/selection-commands";
import type { State } from "../../protocol/messages";
import { sizeText } from "../../protocol/scene";
import { copyTools } from "../controls/copy-button";
import { commandsForPart } from "../controls/edit-commands";
import { editButtons } from "../controls/edit-form";
import { appendFirst, opLink } from "../controls/name-list";
import { section } from "../controls/section";
import {
  breakableName,
  button,
  disable,
  element,
  ICONS,
  icon,
  releaseFocus,
  taskButton,
} from "../dom";
import { createFeedSlot } from "../forms/feed-form";
import { hideButtons } from "./hide-ops";

/** A selection that is used as boundary may begin and end in thousands of places. */
const CHIPS = 50;

export function createSelection(parts: Parts): HTMLElement {
  const { store, actions, readOnly = false } = parts;
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
    clear.title = why || "Clear the selection and the boundary";
    releaseFocus(body);
    if (state) body.replaceChildren(...contents(state, go, remove));
  });
  const hide = hideButtons("", parts);
  store.watch(["state"], ({ state }) => {
    hide.hidden = (state?.selected_ops ?? 0) === 0;
  });
  const shared = [createExpression(parts), createSelectionCommands(parts), hide];
  if (readOnly) return section("Selection", {}, [clear], body, ...shared);
  const feeding = createFeedSlot({ name: "", measure: false }, parts);
  const values = taskButton(
    { class: "tgw-button", title: "Run the graph and show the outputs of these ops" },
    () => feeding.run(),
    "Values",
  );
  const commands = commandsForPart([], true);
  const always = new Set(commandsForPart([], false).map(({ command }) => command as string));
  const edits = editButtons("Edit the selection", commands, parts, values);
  store.watch(["state"], ({ state }) => {
    edits.hidden = (state?.selected_ops ?? 0) === 0;
    for (const each of edits.querySelectorAll<HTMLElement>("[data-change]"))
      each.hidden =
        !canEdit(parts) ||
        (!always.has(each.getAttribute("data-change") ?? "") &&
          (state?.selected_trainable ?? 0) === 0);
  });
  return section("Selection", {}, [clear], body, ...shared, edits, feeding.slot);
}

function contents(
  state: State,
  go: (name: string) => void,
  remove: (name: string, side: Side) => void,
): HTMLElement[] {
  const marked = state.inputs.length + state.outputs.length > 0;
  if (!marked && !hasSelection(state)) return [hint()];
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
    " and click another op: this selects all ops between them. ",
    "Or draw a box (b) or a lasso (l) around ops, or Ctrl-click them.",
  );
}

function countLine(state: State): HTMLElement {
  const { selected_ops: ops, selected_variables: variables } = state;
  return element(
    "p",
    { class: "tgw-count", "data-ops": ops, "data-variables": variables },
    countText(state),
  );
}

/** How large the selection is, or which side of a boundary that was begun is missing. */
export function countText(state: State): string {
  const missing =
    state.inputs.length === 0 ? "an input" : state.outputs.length === 0 ? "an output" : "";
  return hasSelection(state) || !missing
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
  const chipOf = (name: string) => {
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
    chip.append(opLink(name, go, breakableName(name)), drop);
    return chip;
  };
  appendFirst(list, side, names, chipOf, CHIPS);
  const none = names.length === 0 ? element("p", { class: "tgw-none" }, "none yet") : list;
  return element(
    "div",
    { class: "tgw-field" },
    element("div", { class: "tgw-label" }, title),
    none,
  );
}

// The Python expression of the selection.

function createExpression({ store }: Parts): HTMLElement {
  const code = element("code", {
    class: "tgw-expression",
    tabindex: 0,
    "aria-label": "Selection as Python code",
  });
  const [status, copy] = copyTools(code, "Copy the expression", false);
  const root = element("div", { class: "tgw-quote" }, code, copy, status);
  store.watch(["state"], ({ state }) => {
    root.hidden = !state?.expression;
    const text = state?.expression ?? "";
    // Text that someone is marking stays as it is.
    if (code.textContent === text) return;
    code.textContent = text;
  });
  return root;
}

// Buttons that derive a new selection; disabled ones have the reason as tooltip.

function createSelectionCommands(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const group = element("div", {
    class: "tgw-derive",
    role: "group",
    "aria-label": "Change the selection",
  });
  const buttons = available(SELECTION_COMMANDS, parts).map((derivation) => {
    const { command, name } = derivation;
    const control = button(
      { class: "tgw-button", "data-derive": command },
      () => actions.derive(command),
      name,
    );
    group.append(control);
    return { derivation, made: control };
  });
  store.watch(["state"], ({ state }) => {
    for (const { derivation, made } of buttons) {
      const why = whyNot(derivation.command, state);
      disable(made, why !== "");
      made.title = why || titleOf(derivation);
    }
  });
  return element(
    "details",
    { class: "tgw-details" },
    element("summary", { class: "tgw-fold" }, "Change the selection"),
    element("div", { class: "tgw-inner" }, group),
  );
}

function titleOf({ what, key }: (typeof SELECTION_COMMANDS)[number]): string {
  return key ? `${what} (${key})` : what;
}
