// Labeled fields of a form.
import { element, uniqueId } from "../dom";

export interface SelectField<T extends string> {
  readonly select: HTMLSelectElement;
  value(): T;
}

/** A drop-down list of `options`, value -> text. */
export function selectField<T extends string>(
  name: string,
  options: Readonly<Partial<Record<T, string>>>,
): SelectField<T> {
  const select = element("select", { name, class: "tgw-input" });
  const values = Object.keys(options) as T[];
  for (const value of values) select.append(element("option", { value }, options[value] ?? value));
  return { select, value: () => values[select.selectedIndex] ?? (values[0] as T) };
}

/** A field with its label before it. */
export function labeledField(label: string, field: HTMLElement): HTMLElement {
  field.id = uniqueId();
  const text = element("span", { class: "tgw-label" }, label);
  return element("label", { class: "tgw-row", for: field.id }, text, field);
}

/** A checkbox with its label. */
export function checkboxField(label: string, box: HTMLInputElement): HTMLElement {
  return element("label", { class: "tgw-tick" }, box, element("span", {}, label));
}

/** The buttons of a form, below its fields: in a small panel they stay in view. */
export function formFoot(...buttons: HTMLButtonElement[]): HTMLElement {
  return element("div", { class: "tgw-foot" }, ...buttons);
}

export const TEXT = { class: "tgw-input", spellcheck: "false", autocomplete: "off" } as const;
