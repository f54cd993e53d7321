// "As a variable in the notebook": a button beside a value, and the form that asks for the name.
import type { Parts } from "../../interaction/parts";
import { FORMS } from "../../protocol/messages";
import { createForm } from "../controls/edit-form";
import type { Values } from "../controls/form-fields";
import { FormSlot } from "../controls/form-slot";
import { taskButton } from "../dom";
import { withDrawnShapes } from "../shape-text";

/** The button, and the slot of its form, for the value of a tensor, op or scope. */
export function variableButton(name: string, parts: Parts): HTMLElement[] {
  const slot = new FormSlot(parts);
  const open = async () => {
    if (slot.isOpen) return slot.close();
    const proposed = await parts.actions.edits.assign(name);
    if (proposed) slot.show(variableForm(name, proposed.variable, parts, slot.close));
  };
  const title = "The whole value as a numpy array in a variable of the notebook";
  return [
    taskButton({ class: "tgw-text-button tgw-as-variable", title }, open, "As variable …"),
    slot.root,
  ];
}

function variableForm(
  name: string,
  proposed: string,
  parts: Parts,
  close: () => void,
): HTMLFormElement {
  const fields = FORMS.assign.map((field) =>
    field.key === "variable" ? { ...field, initial: proposed } : field,
  );
  const apply = async ({ variable = "", overwrite }: Values) => {
    const done = await parts.actions.edits.assign(name, variable, overwrite === "True");
    if (done) {
      const text = `${done.variable} is a numpy array ${done.dtype} ${done.shape} in the notebook.`;
      parts.actions.showStatus({ kind: "notice", text: withDrawnShapes(text) });
    }
    return done !== null;
  };
  return createForm({ fields, apply, submit: "Assign" }, parts, close);
}
