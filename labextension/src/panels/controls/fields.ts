// The fields of a form: each with its label, its control, its hint, and why it is refused.
import type { Options } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { SignatureRow } from "../../protocol/messages";
import { createStateSwitches } from "../clone/state-switches";
import { element, releaseFocus, setAttributes, uniqueId } from "../dom";
import { createKeyList } from "../forms/key-list";
import { opTypeControl } from "../forms/op-type-field";
import { withDrawnShapes } from "../shape-text";
import {
  type Around,
  argumentsOf,
  type Choice,
  type Control,
  type Field,
  type FieldKind,
  type Filled,
  type Values,
} from "./form-fields";
import {
  fileControl,
  graphControl,
  modelControl,
  pathControl,
  tensorControl,
  textControl,
} from "./text-fields";

const NO_SIGNATURE =
  "The graph has no signature: Add signature makes one of the marked inputs and outputs.";

/** Fields of one form, or of a part of it; one that is hidden holds nothing. */
export class FieldSet {
  readonly root = element("div", { class: "tgw-fields" });
  readonly #fields: readonly FieldControl[];
  readonly #more = element("summary", { class: "tgw-fold" });

  /** `changed` is called when a field was filled in by another one, or has brought others. */
  constructor(fields: readonly Field[], parts: Parts, changed: () => void = () => undefined) {
    const fill = (values: Values) => {
      for (const [key, text] of Object.entries(values)) this.propose(key, text);
      this.update();
      changed();
    };
    this.#fields = fields.map((field) => new FieldControl(field, parts, fill, changed));
    const inner = element("div", { class: "tgw-inner tgw-fields" });
    for (const { field, root } of this.#fields) {
      (field.folded ? inner : this.root).append(root);
    }
    if (inner.hasChildNodes())
      this.root.append(element("details", { class: "tgw-details" }, this.#more, inner));
    this.root.addEventListener("input", () => this.update());
    this.root.addEventListener("change", () => this.update());
    this.update();
  }

  get #shown(): FieldControl[] {
    return this.#fields.filter(({ isShown }) => isShown);
  }

  /** The fields that are there, and what they hold. */
  filled(): Filled[] {
    return this.#shown.map(({ field, control }) => [field, control.value()]);
  }

  /** The values by key; of fields that another one has brought by both keys, see `innerValues`. */
  values(): Values {
    const entries = this.#shown.flatMap(({ field: { key }, control, brought }) => {
      const inner = Object.entries(brought?.values() ?? {});
      return [[key, control.value()], ...inner.map(([name, text]) => [`${key} ${name}`, text])];
    });
    return Object.fromEntries(entries);
  }

  /** What they hold as arguments of an edit. */
  options(): Options {
    return Object.assign({}, ...this.#shown.map((each) => each.options()));
  }

  /** What shows the field of a key. */
  control(key: string): Control | undefined {
    return this.#fields.find(({ field }) => field.key === key)?.control;
  }

  /** Have a field hold this until the user fills it in otherwise. */
  propose(key: string, text: string): void {
    for (const each of this.#fields) if (each.field.key === key) each.propose(text);
  }

  /** Fill in what the user has typed in other fields of the same keys. */
  takeOver(fields: FieldSet): void {
    for (const { field, control, isTyped } of fields.#fields)
      if (isTyped) this.control(field.key)?.fill(control.value());
  }

  /** Whether fields are yet to come. */
  waits(): boolean {
    return this.#shown.some(({ control }) => control.waits?.());
  }

  /** Resolves once they have come. */
  async settled(): Promise<void> {
    await Promise.all(this.#shown.map(({ control }) => control.settled?.()));
  }

  /** Whether all fields hold what they can; the first that does not gets the focus. */
  check(): boolean {
    const wrong = this.#shown.filter((each) => each.check() !== "");
    wrong[0]?.control.input.focus();
    return wrong.length === 0 && this.#shown.every(({ brought }) => brought?.check() ?? true);
  }

  /** Say why a field is refused; whether it is one of these. With "" none is any more. */
  refuse(why: string, argument = ""): boolean {
    return this.#fields.map((each) => each.refuse(why, argument)).includes(true);
  }

  /** Show the fields that what is chosen needs. */
  update(): void {
    let word = "";
    for (const { field, control, show } of this.#fields) {
      if (field.kind === "choice") word = control.value();
      else control.follow?.(word);
      show(!field.only_for || field.only_for.includes(word));
    }
    this.#more.textContent = moreText(
      this.#fields.map(({ field, control }) => ({ ...field, value: control.value() })),
    );
  }
}

/** The values of the fields that the one of a key has brought. */
export function innerValues(values: Values, key: string): Values {
  const start = `${key} `;
  const inner = Object.entries(values).filter(([name]) => name.startsWith(start));
  return Object.fromEntries(inner.map(([name, text]) => [name.slice(start.length), text]));
}

/** The summary of the fields that are folded: those that are set. */
export function moreText(fields: readonly (Field & { readonly value: string })[]): string {
  const set = fields.filter(({ folded, value, initial = "" }) => folded && value !== initial);
  const texts = set.map(({ kind, label, value }) =>
    kind === "switch" ? label.toLowerCase() : `${label.toLowerCase()}: ${value}`,
  );
  return texts.length > 0 ? `More: ${texts.join(", ")}` : "More options";
}

/** A field with its label, its hint, why it is refused, and the fields that it has brought. */
class FieldControl {
  readonly field: Field;
  readonly control: Control;
  readonly root: HTMLElement;
  isShown = true;
  readonly #error = element("p", { class: "tgw-field-error", role: "alert", hidden: true });
  readonly #slot = element("div", { class: "tgw-brought" });
  #brought: FieldSet | null = null;
  /** What it held when it brought them. */
  #broughtFor = "";
  #proposed: string;

  constructor(field: Field, parts: Parts, fill: (values: Values) => void, changed: () => void) {
    const bring = (fields: readonly Field[]) => {
      const brought = new FieldSet(fields, parts, changed);
      if (this.#brought) brought.takeOver(this.#brought);
      this.#bring(brought);
      changed();
    };
    this.field = field;
    this.control = (CONTROLS[field.kind ?? "text"] ?? textOnly)(field, { parts, fill, bring });
    const { input, others = [] } = this.control;
    this.#proposed = field.initial ?? "";
    this.#error.id = uniqueId();
    setAttributes(input, {
      id: uniqueId(),
      name: field.key,
      title: field.title,
      "aria-describedby": this.#error.id,
    });
    const label = element("span", { class: "tgw-label", title: field.title }, field.label);
    const prefix = field.prefix ? [prefixOf(field.prefix, input)] : [];
    const row = element("label", { class: "tgw-row", for: input.id }, label, ...prefix, input);
    const hint = field.hint ? [element("p", { class: "tgw-hint" }, field.hint)] : [];
    const labeled = field.label === "" || isGroup(input) ? [input] : [row];
    this.root = element(
      "div",
      {
        class: "tgw-parameter",
        "data-kind": field.kind ?? "text",
        "data-long": field.isLong,
        ...(field.fields && { role: "group", "aria-label": field.key }),
      },
      ...labeled,
      ...others,
      ...hint,
      this.#error,
      this.#slot,
    );
    input.addEventListener("input", () => !this.#error.hidden && this.check());
    input.addEventListener("change", () => this.check());
    if (field.fields) this.#bring(new FieldSet(field.fields, parts, changed));
  }

  #bring(brought: FieldSet): void {
    this.#brought = brought;
    this.#broughtFor = this.control.value();
    this.#slot.replaceChildren(brought.root);
    this.show(this.isShown);
  }

  /** The fields that it has brought, if they are of what it holds. */
  get brought(): FieldSet | null {
    return this.control.value() === this.#broughtFor ? this.#brought : null;
  }

  /** Whether the user has filled it in. */
  get isTyped(): boolean {
    return this.control.value() !== this.#proposed;
  }

  show = (isShown: boolean): void => {
    this.isShown = isShown;
    for (const [shown, part] of [
      [isShown, this.root],
      [this.brought !== null, this.#slot],
    ] as const) {
      if (!shown) releaseFocus(part);
      part.hidden = !shown;
    }
  };

  propose(text: string): void {
    const { control, field } = this;
    const isFree = !this.isTyped || control.value() === "" || isList(field);
    if (text !== this.#proposed && isFree) control.fill(text);
    this.#proposed = text;
  }

  check(): string {
    const { field, control } = this;
    const { validationMessage: why } = control.input as HTMLInputElement;
    return this.#say(control.check?.() ?? field.check?.(control.value()) ?? why ?? "");
  }

  /** Say why it is refused, or one that it has brought; whether it is one of these. */
  refuse(why: string, argument: string): boolean {
    const { key } = this.field;
    const isThis = this.isShown && argument === key;
    if (this.#say(isThis ? why : "") !== "") this.control.input.focus();
    const rest = argument.startsWith(`${key} `) ? argument.slice(key.length + 1) : argument;
    return this.brought?.refuse(why, rest) || isThis;
  }

  options(): Options {
    const { field, control } = this;
    return (
      control.options?.(this.brought?.filled() ?? []) ??
      argumentsOf([field], { [field.key]: control.value() })
    );
  }

  #say(why: string): string {
    this.#error.textContent = why;
    this.#error.hidden = why === "";
    setAttributes(this.control.input, { "aria-invalid": why === "" ? undefined : "true" });
    return why;
  }
}

/** What a list is filled with is another list, which no text is kept of. */
function isList({ kind }: Field): boolean {
  return kind === "keys";
}

function isGroup(input: HTMLElement): boolean {
  return input.matches("details, div");
}

const textOnly = (field: Field) => textControl(field);

/** What shows each kind of field; those that are not here are shown by a text field. */
const CONTROLS: Partial<Record<FieldKind, (field: Field, around: Around) => Control>> = {
  count: (field) => textControl(field, { type: "number", min: 0, step: 1 }),
  switch: switchControl,
  choice: (field, { fill }) => choiceControl(field, fill),
  signature: (field, { parts, fill }) =>
    choiceControl(field, fill, signatureChoices(parts), NO_SIGNATURE),
  tensor: tensorControl,
  file: fileControl,
  path: pathControl,
  graph: graphControl,
  model: modelControl,
  op_type: opTypeControl,
  replacement: opTypeControl,
  keys: (field) => createKeyList(field.label),
  states: (_, { parts }) => createStateSwitches(parts.store),
  group: headingControl,
};

/** The heading of a group: its label, and beside it what it is. */
function headingControl({ label, title = "" }: Field): Control {
  const name = element("span", { class: "tgw-label tgw-feed-name" }, label);
  const about = element("span", { class: "tgw-dtype" }, withDrawnShapes(title));
  const input = element("div", { class: "tgw-titled" }, name, about);
  return { input, value: () => "", fill: () => undefined };
}

function switchControl({ initial = "" }: Field): Control {
  const input = element("input", { type: "checkbox", role: "switch" });
  const fill = (text: string) => {
    input.checked = text === "True";
  };
  fill(initial);
  return { input, value: () => (input.checked ? "True" : "False"), fill };
}

/** A list; the entry that is chosen fills other fields in. */
function choiceControl(
  field: Field,
  fill: (values: Values) => void,
  listed?: Promise<readonly Choice[]>,
  none = field.none ?? "",
): Control {
  const { words = [], texts = words, initial = "" } = field;
  const select = element("select", { class: "tgw-input", required: !field.optional });
  const error = element("p", { class: "tgw-field-error", role: "alert", hidden: true }, none);
  let choices: readonly Choice[] =
    field.choices ?? words.map((value, i) => ({ value, text: texts[i] ?? value }));
  const fillOthers = () => fill(choices[select.selectedIndex]?.fills ?? {});
  const list = () => {
    const options = choices.map(({ value, text = value }) => element("option", { value }, text));
    select.replaceChildren(...options);
    select.value = choices.some(({ value }) => value === initial)
      ? initial
      : (choices[0]?.value ?? "");
    // without an entry there is nothing to apply
    error.hidden = choices.length > 0 || none === "";
    const submit = select.closest("form")?.querySelector<HTMLButtonElement>("[type=submit]");
    if (submit) submit.disabled = choices.length === 0;
  };
  const show = (all: readonly Choice[]) => {
    choices = all;
    list();
    fillOthers();
  };
  if (listed) void listed.then(show);
  else if (field.choices)
    queueMicrotask(() => show(choices)); // when there are other fields
  else list();
  // some browsers leave the focus in a field that is hidden now, and a menu closes without it
  select.addEventListener("input", () => select.focus());
  select.addEventListener("change", fillOthers);
  const take = (text: string) => {
    select.value = text;
  };
  return { input: select, others: [error], value: () => select.value, fill: take };
}

async function signatureChoices({ actions: { edits } }: Parts): Promise<Choice[]> {
  const rows = (await edits.signatures())?.filter(({ name }) => name !== "") ?? [];
  return rows.map(signatureChoice);
}

function signatureChoice({ name, inputs, outputs }: SignatureRow): Choice {
  const fills = { new: name, inputs: JSON.stringify(inputs), outputs: JSON.stringify(outputs) };
  return { value: name, fills };
}

/** The scope before a name that is edited; a long one is cut at its beginning. */
function prefixOf(prefix: string, input: HTMLElement): HTMLElement {
  const id = uniqueId();
  setAttributes(input, { "aria-describedby": id });
  return element("span", { class: "tgw-prefix", id, title: prefix }, element("bdi", {}, prefix));
}
