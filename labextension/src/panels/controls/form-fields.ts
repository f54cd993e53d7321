// A form, with labeled fields.
import { type Attributes, type Child, element, uniqueId, whileBusy } from "../dom";

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

/** What shows a field, and what it holds. */
export interface Control {
  readonly input: HTMLElement;
  /** What is below it. */
  readonly others?: readonly HTMLElement[];
  /** Text, or for kinds that are not text a Python literal; "" for nothing. */
  value(): string;
  fill(text: string): void;
  /** Why what it holds cannot be, or "". */
  check?(): string;
  /** Called with the word of the choice before it. */
  follow?(word: string): void;
}

interface FormNeeds {
  readonly attributes?: Attributes;
  readonly content: readonly Child[];
  /** The button that Enter presses, and those beside it. */
  readonly buttons: readonly [HTMLButtonElement, ...HTMLButtonElement[]];
  /** Do what the form is for; its button is busy meanwhile. */
  readonly submit: () => unknown;
  /** Called by Escape. */
  readonly close: () => void;
}

/** A form: Enter submits it, Escape closes it. */
export function createForm({
  attributes,
  content,
  buttons,
  submit,
  close,
}: FormNeeds): HTMLFormElement {
  // In a small panel the buttons stay in view.
  const foot = element("div", { class: "tgw-foot" }, ...buttons);
  const form = element("form", { class: "tgw-inline", ...attributes }, ...content, foot);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void whileBusy(buttons[0], async () => submit());
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  });
  return form;
}

export function submitButton(text: string): HTMLButtonElement {
  return element("button", { type: "submit", class: "tgw-button" }, text);
}

/** Why a form is refused: a line that is there while there is something to say. */
export class ErrorLine {
  readonly root = element("p", { class: "tgw-field-error", role: "alert", hidden: true });

  say(text: string): void {
    this.root.textContent = text;
    this.root.hidden = text === "";
  }
}

export const TEXT = { class: "tgw-input", spellcheck: "false", autocomplete: "off" } as const;
