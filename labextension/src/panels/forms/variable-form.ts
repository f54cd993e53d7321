// "As a variable in the notebook": a button beside a value, and the form that asks for the name.
import type { Parts } from "../../interaction/parts";
import { createForm, ErrorLine, labeledField, submitButton, TEXT } from "../controls/form-fields";
import { button, element, releaseFocus, scrollToShow, taskButton } from "../dom";
import { withDrawnShapes } from "../shape-text";

/** The button, and the slot of its form, for the value of a tensor, op or scope. */
export function variableButton(name: string, parts: Parts): HTMLElement[] {
  const slot = element("div", { class: "tgw-form-slot" });
  const close = () => {
    releaseFocus(slot);
    slot.replaceChildren();
  };
  const open = async () => {
    if (slot.children.length > 0) return close();
    const proposed = await parts.actions.edits.assign(name);
    if (!proposed) return;
    const form = variableForm(name, proposed.variable, parts, close);
    slot.replaceChildren(form);
    const input = form.querySelector("input");
    input?.focus();
    input?.select();
    scrollToShow(slot);
  };
  const title = "The whole value as a numpy array in a variable of the notebook";
  return [
    taskButton({ class: "tgw-text-button tgw-as-variable", title }, open, "As variable …"),
    slot,
  ];
}

function variableForm(
  name: string,
  proposed: string,
  parts: Parts,
  close: () => void,
): HTMLFormElement {
  const { store, actions } = parts;
  const input = element("input", { ...TEXT, class: "tgw-input tgw-mono", name: "variable" });
  input.value = proposed;
  const error = new ErrorLine();
  const assign = async (overwrite: boolean) => {
    const variable = input.value.trim();
    const done = variable === "" ? null : await actions.edits.assign(name, variable, overwrite);
    if (done && !done.exists) {
      close();
      return actions.showStatus({
        kind: "notice",
        text: withDrawnShapes(
          `${done.variable} is a numpy array ${done.dtype} ${done.shape} in the notebook.`,
        ),
      });
    }
    error.say(
      variable === "" ? "Give it a name." : done?.exists || (store.value.status?.text ?? ""),
    );
    store.set({ status: null }); // the form says it
    replace.hidden = !done;
  };
  const replace = button({ class: "tgw-button", hidden: true }, () => assign(true), "Replace it");
  input.addEventListener("input", () => {
    error.say("");
    replace.hidden = true;
  });
  return createForm({
    attributes: { novalidate: true },
    content: [labeledField("Variable", input), error.root],
    buttons: [submitButton("Assign"), replace],
    submit: () => assign(false),
    close,
  });
}
