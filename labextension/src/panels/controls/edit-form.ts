// Edit buttons with inline forms below them. Enter applies, Escape closes.
import { type CommandName, type EditCall, type Options, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { FormField } from "../../protocol/messages";
import {
  button,
  element,
  ICONS,
  icon,
  releaseFocus,
  scrollToShow,
  taskButton,
  uniqueId,
} from "../dom";
import { type ApplyOp, opForm } from "../forms/op-form";
import { replaceAllForm, searchedPattern } from "../forms/replace-all-form";
import { NO_SIGNATURE, signatureForm, signatureNames } from "../forms/signature-form";
import { suggest } from "./combobox";
import { createEditPreview } from "./edit-preview";
import { createForm, labeledField, submitButton, TEXT } from "./form-fields";

/** A field of a form: what the kernel says of it, and what only the page knows. */
export interface Field extends Omit<FormField, "known" | "words"> {
  readonly words?: readonly string[];
  /** Text before the input, which is a part of the value: the scope of a name. */
  readonly prefix?: string;
  /** The input is a scope, "" for none; the value is this name in it. */
  readonly inScope?: string;
  /** What is edited, to choose from; such a field has the key "what". */
  readonly choices?: readonly Choice[];
}

/** An entry of a list, and what fields hold by their keys once it is chosen. */
interface Choice {
  readonly value: string;
  readonly text?: string;
  readonly fills?: Values;
}

/** One edit as a button: `what` it is of, and the fields that must be filled in first. */
export interface EditCommand {
  readonly command: CommandName;
  readonly name: string;
  readonly title: string;
  readonly what: readonly string[];
  readonly fields?: readonly Field[];
  /** Arguments that no field asks for. */
  readonly options?: Options;
  /** Whether the form says what the edit would do. */
  readonly previewed?: boolean;
  /** The heading that it is below, and other names of it. */
  readonly group?: string;
  readonly keywords?: string;
}

export type Values = Readonly<Record<string, string>>;
const NO_INPUT = "The graph has no input whose size can be changed.";
/** Milliseconds without a key before names are looked for. */
const PAUSE = 150;

/** The values of a form as arguments of the edit. */
export function argumentsOf(fields: readonly Field[], values: Values): Options {
  const isFilled = (key: string) => (values[key] ?? "").trim() !== "";
  const filled = fields.filter(
    ({ key, optional, inScope }) => key !== "what" && (inScope || !optional || isFilled(key)),
  );
  return Object.fromEntries(
    filled.map(({ key, python, prefix = "", inScope }) => {
      const typed = (values[key] ?? "").trim();
      const value = inScope
        ? [typed.replace(/\/+$/, ""), inScope].filter(Boolean).join("/")
        : typed;
      return [key, python ? value : quote(`${prefix}${value}`)];
    }),
  );
}

/** `apply` says whether it was done; then, and after Escape, `close` is called. */
export function inlineForm(
  fields: readonly Field[],
  parts: Parts,
  apply: (values: Values) => Promise<boolean>,
  close: () => void,
  call?: (values: Values) => EditCall,
): HTMLFormElement {
  const inputs = fields.map((field) => ({ field, input: inputOf(field) }));
  const submit = submitButton("Apply");
  const content: HTMLElement[] = [];
  for (const { field, input } of inputs) {
    content.push(labeledField(field.label, input), ...proposals(field, input, parts));
    if (field.prefix) input.before(prefixOf(field.prefix, input));
    if (field.hint) content.push(element("p", { class: "tgw-hint" }, field.hint));
    if (input instanceof HTMLSelectElement) {
      const others = new Map(inputs.map(({ field, input }) => [field.key, input]));
      void choicesOf(field, parts).then((choices) => {
        listChoices(choices, input, others, submit, field.choices ? NO_INPUT : NO_SIGNATURE);
        preview?.update(true);
      });
    }
  }
  const values = (): Values =>
    Object.fromEntries(inputs.map(({ field, input }) => [field.key, input.value]));
  const preview =
    call && createEditPreview(parts, () => (form.checkValidity() ? call(values()) : null));
  if (preview) content.push(preview.root);
  const end = () => {
    preview?.close();
    close();
  };
  const form = createForm({
    content,
    buttons: [submit],
    submit: async () => {
      if (await apply(values())) end();
    },
    close: end,
  });
  form.addEventListener("input", () => preview?.update());
  preview?.update(true);
  return form;
}

function inputOf({
  key,
  initial = "",
  optional,
  python,
  signature,
  choices,
}: Field): HTMLInputElement | HTMLSelectElement {
  if (signature || choices)
    return element("select", { class: "tgw-input", name: key, required: true });
  const input = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: key,
    required: !optional && !python,
  });
  input.value = initial;
  return input;
}

/** What a field proposes while one types. */
function proposals(
  { tensor, words }: Field,
  input: HTMLInputElement | HTMLSelectElement,
  parts: Parts,
): HTMLElement[] {
  if (!(input instanceof HTMLInputElement)) return [];
  if (tensor) return completion(input, parts);
  return words ? [suggest(input, words)] : [];
}

async function choicesOf({ choices }: Field, parts: Parts): Promise<readonly Choice[]> {
  const named = (value: string) => ({ value, fills: { new: value } });
  return choices ?? (await signatureNames(parts)).map(named);
}

/**
 * Fill a list; without any entry there is nothing to apply, and the form says why. The other fields
 * hold what the chosen entry fills in until the user types something else; text is selected where
 * one types.
 */
function listChoices(
  choices: readonly Choice[],
  select: HTMLSelectElement,
  others: ReadonlyMap<string, HTMLInputElement | HTMLSelectElement>,
  submit: HTMLButtonElement,
  none: string,
): void {
  const entries = choices.map(({ value, text = value }) => element("option", { value }, text));
  select.replaceChildren(...entries);
  submit.disabled = choices.length === 0;
  if (submit.disabled)
    submit.parentElement?.before(element("p", { class: "tgw-field-error", role: "alert" }, none));
  let filled: Values = {};
  const fill = () => {
    const next = choices[select.selectedIndex]?.fills ?? {};
    for (const [key, text] of Object.entries(next)) {
      const input = others.get(key);
      if (!(input instanceof HTMLInputElement) || input.value !== (filled[key] ?? "")) continue;
      input.value = text;
      if (input.matches(":focus")) input.select();
    }
    filled = next;
  };
  select.addEventListener("change", fill);
  fill();
}

/** The scope before a name that is edited; a long one is cut at its beginning. */
function prefixOf(prefix: string, input: HTMLElement): HTMLElement {
  const id = uniqueId();
  input.setAttribute("aria-describedby", id);
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

/** The edit that a form describes. */
export function callOf(
  { command, what, fields = [], options = {} }: EditCommand,
  values: Values,
): EditCall {
  const { what: chosen } = values;
  return {
    command,
    what: chosen ? [chosen] : what,
    options: { ...options, ...argumentsOf(fields, values) },
  };
}

/** Make the edit, with the values of its form; resolves to whether it was made. */
export function applyCommand(
  command: EditCommand,
  { actions }: Pick<Parts, "actions">,
  values: Values = {},
): Promise<boolean> {
  const { command: name, what, options } = callOf(command, values);
  return actions.edits.change(name, what, options);
}

/** The form of an edit, which it makes. */
export function commandForm(
  command: EditCommand,
  parts: Parts,
  close: () => void,
): HTMLFormElement {
  const { command: name, what, fields = [], options: fixed = {}, previewed } = command;
  const [field] = fields;
  if (name === "order_signature") return signatureForm(parts, close);
  if (name === "replace_all") return replaceAllForm(fields, searchedPattern(parts), parts, close);
  if (!field?.op_type || (name !== "insert" && name !== "replace"))
    return inlineForm(
      fields,
      parts,
      (values) => applyCommand(command, parts, values),
      close,
      previewed ? (values) => callOf(command, values) : undefined,
    );
  const apply: ApplyOp = ({ options, variables }) =>
    parts.actions.edits.change(name, what, { ...fixed, ...options }, variables);
  return opForm(
    { command: name, what, key: field.key, initial: field.initial ?? "" },
    parts,
    apply,
    close,
  );
}

/** Buttons for edits, and others; below them the form of the one that was clicked. */
export function editButtons(
  label: string,
  commands: readonly EditCommand[],
  parts: Parts,
  ...others: HTMLElement[]
): HTMLElement {
  const entries = commands.map((command) => commandEntry(command, parts));
  return buttonsWithForms(label, entries, parts, ...others);
}

/** The button of an edit, whose form is that of `current` when it opens. */
export function commandEntry(
  command: EditCommand,
  parts: Parts,
  current = () => command,
): ButtonEntry {
  return command.fields
    ? { ...command, form: (close) => commandForm(current(), parts, close) }
    : { ...command, act: () => applyCommand(command, parts) };
}

/**
 * A button that acts, or that shows its form; `command` is what its attribute "data-change" says,
 * and `opens` that something is to be filled in before anything happens.
 */
export type ButtonEntry = Pick<EditCommand, "name" | "title"> & {
  readonly command: string;
  readonly opens?: boolean;
} & (
    | { act(control: HTMLElement): Promise<unknown> }
    | { form(close: () => void): HTMLFormElement }
  );

/** Buttons; below them the form of the one that was clicked. */
export function buttonsWithForms(
  label: string,
  entries: readonly ButtonEntry[],
  parts: Parts,
  ...others: HTMLElement[]
): HTMLElement {
  const slot = element("div", { class: "tgw-form-slot" });
  const group = element("div", { class: "tgw-derive", role: "group", "aria-label": label });
  const openers: HTMLButtonElement[] = [];
  const close = () => {
    releaseFocus(slot);
    slot.replaceChildren();
    for (const opener of openers) opener.setAttribute("aria-expanded", "false");
    parts.store.set({ picking: null, edited: [] });
  };
  for (const entry of entries) {
    const { command, name, title } = entry;
    const attributes = { class: "tgw-button", title, "data-change": command };
    if ("act" in entry) {
      const text = entry.opens ? `${name} …` : name;
      const control = taskButton(attributes, () => entry.act(control), text);
      group.append(control);
      continue;
    }
    const opener = button(
      { ...attributes, "aria-expanded": "false" },
      () => {
        const open = opener.getAttribute("aria-expanded") === "true";
        close();
        if (open) return;
        opener.setAttribute("aria-expanded", "true");
        showForm(slot, entry.form(close));
      },
      `${name} …`,
    );
    openers.push(opener);
    group.append(opener);
  }
  group.append(...others);
  return element("div", { class: "tgw-commands" }, group, slot);
}

/** Put a form there, with the cursor in its first text. */
export function showForm(slot: HTMLElement, form: HTMLFormElement): void {
  slot.replaceChildren(form);
  const first = form.querySelector("input");
  first?.focus();
  first?.select();
  // Enter applies, Escape closes
  if (!first) form.querySelector<HTMLElement>("select, button")?.focus();
  scrollToShow(slot);
}

/** A pencil that opens a form in `slot`, and closes it again. */
export function pencilButton(
  title: string,
  slot: HTMLElement,
  parts: Parts,
  form: (close: () => void) => HTMLFormElement,
): HTMLButtonElement {
  const close = () => {
    releaseFocus(slot);
    slot.replaceChildren();
    parts.store.set({ picking: null });
    control.setAttribute("aria-expanded", "false");
  };
  const control = button(
    { class: "tgw-tool tgw-pencil", title, "aria-label": title, "aria-expanded": "false" },
    () => {
      if (slot.children.length > 0) return close();
      control.setAttribute("aria-expanded", "true");
      showForm(slot, form(close));
    },
    icon(ICONS.edit),
  );
  return control;
}
