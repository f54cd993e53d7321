// The keys of a signature's inputs or outputs, which the user moves up and down, and renames.
import { quote } from "../../interaction/edits";
import { type Control, TEXT } from "../controls/form-fields";
import { button, element, ICONS, icon } from "../dom";

type Pairs = readonly (readonly [string, string])[];

/** It is filled with (key, tensor) pairs as JSON, and holds how their keys are edited. */
export function createKeyList(label: string): Control {
  const list = element("ol", { class: "tgw-key-list", "aria-label": label });
  const input = element("div", {}, element("p", { class: "tgw-subtitle" }, label), list);
  let shown: Pairs = [];
  const fill = (text: string) => {
    shown = JSON.parse(text || "[]");
    list.replaceChildren(...shown.map(([key, tensor]) => keyRow(key, tensor)));
  };
  const keys = () => {
    const inputs = [...list.querySelectorAll("input")];
    return inputs.map(({ dataset, value }) => [value.trim(), dataset["key"] ?? ""] as const);
  };
  const value = () =>
    keysAsPython(
      keys(),
      shown.map(([key]) => key),
    );
  const check = () => keysProblem(label, keys());
  return { input, value, fill, check };
}

/** Why the keys cannot be, or "". */
export function keysProblem(label: string, keys: Pairs): string {
  const typed = keys.map(([key]) => key);
  if (typed.includes("")) return "Each input and output needs a key.";
  const twice = typed.find((key, i) => typed.indexOf(key) < i);
  return twice === undefined
    ? ""
    : `Two ${label.toLowerCase()} have the key ${twice}; each needs its own.`;
}

/** Keys in their order, or a dict where some are renamed; "" where nothing is changed. */
export function keysAsPython(keys: Pairs, present: readonly string[]): string {
  if (keys.some(([typed, key]) => typed !== key))
    return `{${keys.map(([typed, key]) => `${quote(typed)}: ${quote(key)}`).join(", ")}}`;
  const order = keys.map(([, key]) => key);
  return order.every((key, i) => key === present[i]) ? "" : quote(order);
}

function keyRow(key: string, tensor: string): HTMLElement {
  const input = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono tgw-key-input",
    "aria-label": `Key of ${tensor}`,
    "data-key": key,
    title: tensor,
  });
  input.value = key;
  const row = element("li", {}, input);
  const move = (name: string, path: string, to: () => void) => {
    const act = () => {
      to();
      control.focus();
      row.dispatchEvent(new Event("input", { bubbles: true }));
    };
    const attributes = { class: "tgw-tool", title: name, "aria-label": `${name}: ${key}` };
    const control = button(attributes, act, icon(path));
    row.append(control);
  };
  move("Move up", ICONS.up, () => row.previousElementSibling?.before(row));
  move("Move down", ICONS.down, () => row.nextElementSibling?.after(row));
  return row;
}
