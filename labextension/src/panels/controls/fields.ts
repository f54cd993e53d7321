// The fields of forms. Each field is data, which the kernel writes for the arguments of its
// commands and requests; what it takes (its kind) says with what it is shown.
import type { Parts } from "../../interaction/parts";
import type { FormField, SignatureRow } from "../../protocol/messages";
import { createStateSwitches } from "../clone/state-switches";
import {
  type Attributes,
  button,
  element,
  hasFocus,
  ICONS,
  icon,
  releaseFocus,
  setAttributes,
  uniqueId,
} from "../dom";
import { createKeyList } from "../forms/key-list";
import { browseButton } from "./browse-button";
import { suggest } from "./combobox";
import { type Control, ErrorLine, TEXT } from "./form-fields";

export type FieldKind = NonNullable<FormField["kind"]>;

/** A field of a form: what the kernel says of it, and what only the page knows. */
export interface Field extends Omit<FormField, "known" | "words" | "texts"> {
  readonly words?: readonly string[];
  readonly texts?: readonly string[];
  /** Text before the input, which is a part of the value: the scope of a name. */
  readonly prefix?: string;
  /** The input is a scope, "" for none; the value is this name in it. */
  readonly inScope?: string;
  /** The entries of a choice, in place of its words. */
  readonly choices?: readonly Choice[];
  /** Why there is nothing to apply where a choice has no entry. */
  readonly none?: string;
  /** A tooltip, and what an empty field says. */
  readonly title?: string;
  readonly placeholder?: string;
  /** Why a text cannot be the value, or "". */
  readonly check?: (text: string) => string;
}

/** An entry of a list, and what fields hold by their keys once it is chosen. */
interface Choice {
  readonly value: string;
  readonly text?: string;
  readonly fills?: Values;
}

export type Values = Readonly<Record<string, string>>;

const NO_SIGNATURE =
  "The graph has no signature: Add signature makes one of the marked inputs and outputs.";
/** Milliseconds without a key before names are looked for. */
const PAUSE = 150;

/** Fields of one form, or of a part of it; one that is hidden holds nothing. */
export class FieldSet {
  readonly root = element("div", { class: "tgw-fields" });
  readonly #fields: readonly FieldControl[];
  readonly #more = element("summary", { class: "tgw-fold" });

  readonly #name: string;

  /**
   * `changed` is called when a field was filled in by another one. Of several sets in a form each
   * has a `name`, by which a refusal names its fields: "name key".
   */
  constructor(
    fields: readonly Field[],
    parts: Parts,
    changed: () => void = () => undefined,
    name = "",
  ) {
    this.#name = name;
    const fill = (values: Values) => {
      for (const [key, text] of Object.entries(values)) this.propose(key, text);
      this.update();
      changed();
    };
    this.#fields = fields.map((field) => new FieldControl(field, parts, fill));
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

  /** The values by key, of the fields that are there. */
  values(): Values {
    const shown = this.#fields.filter(({ isShown }) => isShown);
    return Object.fromEntries(shown.map(({ field, control }) => [field.key, control.value()]));
  }

  /** What shows the field of a key. */
  control(key: string): Control | undefined {
    return this.#fields.find(({ field }) => field.key === key)?.control;
  }

  /** Have a field hold this until the user fills it in otherwise. */
  propose(key: string, text: string): void {
    for (const each of this.#fields) if (each.field.key === key) each.propose(text);
  }

  /** Whether all fields hold what they can; the first that does not gets the focus. */
  check(): boolean {
    const wrong = this.#fields.filter((each) => each.isShown && each.check() !== "");
    wrong[0]?.control.input.focus();
    return wrong.length === 0;
  }

  /** Say why a field is refused; whether it is one of these. With "" none is any more. */
  refuse(why: string, argument = ""): boolean {
    const isIt = ({ field, isShown }: FieldControl) =>
      isShown && argument === (this.#name ? `${this.#name} ${field.key}` : field.key);
    for (const each of this.#fields) each.refuse(isIt(each) ? why : "");
    return this.#fields.some(isIt);
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

/** The summary of the fields that are folded: those that are set. */
export function moreText(fields: readonly (Field & { readonly value: string })[]): string {
  const set = fields.filter(({ folded, value, initial = "" }) => folded && value !== initial);
  const texts = set.map(({ kind, label, value }) =>
    kind === "switch" ? label.toLowerCase() : `${label.toLowerCase()}: ${value}`,
  );
  return texts.length > 0 ? `More: ${texts.join(", ")}` : "More options";
}

/** A field with its label, its hint, and why it is refused. */
class FieldControl {
  readonly field: Field;
  readonly control: Control;
  readonly root: HTMLElement;
  isShown = true;
  readonly #error = new ErrorLine();
  #proposed: string;

  constructor(field: Field, parts: Parts, fill: (values: Values) => void) {
    this.field = field;
    this.control = controlOf(field, parts, fill);
    const { input, others = [] } = this.control;
    this.#proposed = field.initial ?? "";
    this.#error.root.id = uniqueId();
    setAttributes(input, {
      id: uniqueId(),
      name: field.key,
      title: field.title,
      "aria-describedby": this.#error.root.id,
    });
    const label = element("span", { class: "tgw-label", title: field.title }, field.label);
    const prefix = field.prefix ? [prefixOf(field.prefix, input)] : [];
    const row = element("label", { class: "tgw-row", for: input.id }, label, ...prefix, input);
    const hint = field.hint ? [element("p", { class: "tgw-hint" }, field.hint)] : [];
    const labeled = field.label === "" || isGroup(input) ? [input] : [row];
    this.root = element(
      "div",
      { class: "tgw-parameter", "data-kind": field.kind ?? "text" },
      ...labeled,
      ...others,
      ...hint,
      this.#error.root,
    );
    input.addEventListener("input", () => !this.#error.root.hidden && this.check());
    input.addEventListener("change", () => this.check());
  }

  show = (isShown: boolean): void => {
    this.isShown = isShown;
    if (!isShown) releaseFocus(this.root);
    this.root.hidden = !isShown;
  };

  propose(text: string): void {
    const { control, field } = this;
    const held = control.value();
    if (text !== this.#proposed && (held === this.#proposed || held === "" || isList(field)))
      control.fill(text);
    this.#proposed = text;
  }

  check(): string {
    const { field, control } = this;
    const why = control.check?.() ?? field.check?.(control.value()) ?? "";
    this.refuse(why);
    return why;
  }

  refuse(why: string): void {
    this.#error.say(why);
    setAttributes(this.control.input, { "aria-invalid": why === "" ? undefined : "true" });
  }
}

/** What a list is filled with is another list, which no text is kept of. */
function isList({ kind }: Field): boolean {
  return kind === "keys";
}

function isGroup(input: HTMLElement): boolean {
  return input.matches("details, div");
}

type CreateControl = (field: Field, parts: Parts, fill: (values: Values) => void) => Control;

function controlOf(field: Field, parts: Parts, fill: (values: Values) => void): Control {
  const create = CONTROLS[field.kind ?? "text"];
  return create ? create(field, parts, fill) : textControl(field);
}

/** What shows each kind of field; those that are not here are shown by a text field. */
const CONTROLS: Partial<Record<FieldKind, CreateControl>> = {
  count: (field) => textControl(field, { type: "number", min: 0, step: 1 }),
  switch: switchControl,
  choice: (field, _, fill) => choiceControl(field, fill),
  signature: (field, parts, fill) =>
    choiceControl(field, fill, signatureChoices(parts), NO_SIGNATURE),
  tensor: tensorControl,
  file: (field, parts) => {
    const { words: [suffix = ""] = [], ...plain } = field;
    const control = textControl(plain);
    const file = { title: `Choose a ${suffix} file`, kind: "file", suffix } as const;
    return { ...control, others: browseButton(control.input, parts, file) };
  },
  keys: (field) => createKeyList(field.label),
  states: (_, { store }) => createStateSwitches(store),
};

interface TextControl extends Control {
  readonly input: HTMLInputElement;
}

function textControl(field: Field, attributes: Attributes = {}): TextControl {
  const { initial = "", optional, kind = "text", words, placeholder, check } = field;
  const input = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    required: !optional && kind !== "python" && !check,
    placeholder,
    ...attributes,
  });
  input.value = initial;
  const fill = (text: string) => {
    input.value = text;
    if (hasFocus(input)) input.select();
  };
  const others = words?.length ? [suggest(input, words)] : [];
  return { input, others, value: () => input.value.trim(), fill };
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
  const select = element("select", { class: "tgw-input", required: true });
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

function tensorControl(field: Field, parts: Parts): Control {
  const control = textControl(field);
  return { ...control, others: completion(control.input, parts) };
}

/** The scope before a name that is edited; a long one is cut at its beginning. */
function prefixOf(prefix: string, input: HTMLElement): HTMLElement {
  const id = uniqueId();
  setAttributes(input, { "aria-describedby": id });
  return element("span", { class: "tgw-prefix", id, title: prefix }, element("bdi", {}, prefix));
}

/**
 * Tensors of ops with the text in their name; and a button that takes the op that is clicked next.
 */
export function completion(input: HTMLInputElement, { store, actions }: Parts): HTMLElement[] {
  const list = suggest(input);
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      const hits = await actions.edits.complete(input.value.replace(/:\d*$/, ""));
      list.replaceChildren(...hits.map(({ name }) => element("option", { value: `${name}:0` })));
    }, PAUSE);
  });
  const take = (op: string) => {
    input.value = `${op}:0`;
    input.focus();
  };
  const pick = button(
    { class: "tgw-text-button tgw-pick", title: "Pick an op" },
    () => store.set({ picking: { ask: "Click an op to pick it; press Escape to cancel.", take } }),
    icon(ICONS.target),
    "Click an op",
  );
  return [list, pick];
}
