// Edit buttons with inline forms below them. Enter applies, Escape closes.
import { type CommandName, type EditCall, type Options, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import {
  button,
  type Child,
  element,
  ICONS,
  icon,
  releaseFocus,
  scrollToShow,
  taskButton,
} from "../dom";
import { type ApplyOp, opForm } from "../forms/op-form";
import { replaceAllForm, searchedPattern } from "../forms/replace-all-form";
import { createEditPreview } from "./edit-preview";
import { type Field, type FieldKind, FieldSet, type Values } from "./fields";
import { createForm, submitButton } from "./form-fields";

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

/** The kinds of fields that hold text; the others hold Python literals. */
const TEXTS: readonly FieldKind[] = ["text", "choice", "file", "tensor", "op_type", "signature"];

/** The values of a form as arguments of the edit. */
export function argumentsOf(fields: readonly Field[], values: Values): Options {
  const isFilled = (key: string) => (values[key] ?? "").trim() !== "";
  const filled = fields.filter(
    ({ key, optional, inScope }) => key !== "what" && (inScope || !optional || isFilled(key)),
  );
  return Object.fromEntries(
    filled.map(({ key, kind = "text", prefix = "", inScope }) => {
      const typed = (values[key] ?? "").trim();
      const value = inScope
        ? [typed.replace(/\/+$/, ""), inScope].filter(Boolean).join("/")
        : typed;
      return [key, TEXTS.includes(kind) ? quote(`${prefix}${value}`) : value];
    }),
  );
}

interface FormSpec {
  readonly fields: readonly Field[];
  /** Whether it was done; if not, the status says why. */
  readonly apply: (values: Values) => Promise<boolean>;
  readonly close: () => void;
  /** What the button says. */
  readonly submit?: string;
  /** The edit that is previewed. */
  readonly call?: ((values: Values) => EditCall) | undefined;
}

/** A form of fields. */
export function fieldsForm(
  { fields, apply, close, submit = "Apply", call }: FormSpec,
  parts: Parts,
): HTMLFormElement {
  const set = new FieldSet(fields, parts, () => preview?.update(true));
  const preview =
    call && createEditPreview(parts, () => (form.checkValidity() ? call(set.values()) : null));
  const form = setsForm(
    { sets: [set], submit, content: [set.root, ...(preview ? [preview.root] : [])] },
    parts,
    () => apply(set.values()),
    () => {
      preview?.close();
      close();
    },
  );
  form.addEventListener("input", () => preview?.update());
  preview?.update(true);
  return form;
}

interface SetsSpec {
  readonly sets: readonly FieldSet[];
  readonly submit: string;
  readonly content: readonly Child[];
}

/** A form of several sets of fields: the field that is refused says why, else the status does. */
export function setsForm(
  { sets, submit, content }: SetsSpec,
  { store }: Pick<Parts, "store">,
  apply: () => Promise<boolean>,
  close: () => void,
): HTMLFormElement {
  const run = async () => {
    for (const set of sets) set.refuse("");
    if (!sets.every((set) => set.check())) return;
    if (await apply()) return close();
    const { text = "", argument = "", fixes = [] } = store.value.status ?? {};
    const isSaid = sets.some((set) => set.refuse(text, argument));
    if (isSaid && fixes.length === 0) store.set({ status: null });
  };
  return createForm({ content, buttons: [submitButton(submit)], submit: run, close });
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
  if (name === "replace_all") return replaceAllForm(fields, searchedPattern(parts), parts, close);
  if (field?.kind !== "op_type" || (name !== "insert" && name !== "replace"))
    return fieldsForm(
      {
        fields,
        apply: (values) => applyCommand(command, parts, values),
        close,
        call: previewed ? (values) => callOf(command, values) : undefined,
      },
      parts,
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
