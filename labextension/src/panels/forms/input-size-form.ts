// The form of "Input size": which input, and its new shape.
import type { Parts } from "../../interaction/parts";
import type { ModelEnd } from "../../protocol/messages";
import { createEditPreview } from "../controls/edit-preview";
import { createForm, labeledField, selectField, submitButton, TEXT } from "../controls/form-fields";
import { element } from "../dom";

/** Enter applies, Escape closes. */
export function inputSizeForm(
  inputs: readonly ModelEnd[],
  parts: Parts,
  close: () => void,
): HTMLFormElement {
  const names = Object.fromEntries(inputs.map(({ op }, k) => [` ${k}`, op])); // keeps the order
  const { select } = selectField("input", names);
  const shape = element("input", { ...TEXT, class: "tgw-input tgw-mono", name: "shape" });
  shape.required = true;
  const submit = submitButton("Apply");
  const chosen = () => inputs[Math.max(select.selectedIndex, 0)];
  const fill = () => {
    shape.value = chosen()?.shape ?? "";
  };
  const call = () => {
    const input = chosen();
    // What is there already changes nothing.
    if (!input || shape.value.trim() === "" || shape.value.trim() === input.shape) return null;
    const options = { shape: shape.value.trim() };
    return { command: "set_input" as const, what: [input.tensor], options };
  };
  const preview = createEditPreview(parts, call);
  const end = () => {
    preview.close();
    close();
  };
  const none = inputs.length === 0;
  submit.disabled = none;
  fill();
  select.addEventListener("change", fill);
  const form = createForm({
    content: none
      ? [element("p", { class: "tgw-hint" }, "The graph has no input whose size can be changed.")]
      : [
          ...(inputs.length > 1 ? [labeledField("Input", select)] : []),
          labeledField("Shape", shape),
          element("p", { class: "tgw-hint" }, "None for any size, such as (None, 224, 224, 3)."),
          preview.root,
        ],
    buttons: [submit],
    submit: async () => {
      const edit = call();
      if (!edit) return;
      if (await parts.actions.edits.change(edit.command, edit.what, edit.options)) end();
    },
    close: end,
  });
  form.addEventListener("input", () => preview.update());
  return form;
}
