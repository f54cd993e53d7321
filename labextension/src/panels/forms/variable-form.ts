// "As a variable in the notebook": a button beside a value, and the form that asks for the name.
import type { Parts } from "../../interaction/parts";
import { formFoot, labeledField, TEXT } from "../controls/form-fields";
import { button, element, releaseFocus, scrollToShow, taskButton, whileBusy } from "../dom";
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
  return [taskButton({ class: "tgw-text-button tgw-as-variable", title }, open, "As variable …"), slot];
}

function variableForm(name: string, proposed: string, parts: Parts, close: () => void): HTMLFormElement {
  const { store, actions } = parts;
  const input = element("input", { ...TEXT, class: "tgw-input tgw-mono", name: "variable" });
  input.value = proposed;
  const error = element("p", { class: "tgw-field-error", role: "alert", hidden: true });
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
    error.textContent =
      variable === "" ? "Give it a name." : done?.exists || (store.value.status?.text ?? "");
    error.hidden = false;
    store.set({ status: null }); // the form says it
    replace.hidden = !done;
  };
  const replace = button({ class: "tgw-button", hidden: true }, () => assign(true), "Replace it");
  const submit = element("button", { type: "submit", class: "tgw-button" }, "Assign");
  const form = element(
    "form",
    { class: "tgw-inline", novalidate: true },
    labeledField("Variable", input),
    error,
    formFoot(submit, replace),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void whileBusy(submit, () => assign(false));
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  input.addEventListener("input", () => {
    error.hidden = replace.hidden = true;
  });
  return form;
}
