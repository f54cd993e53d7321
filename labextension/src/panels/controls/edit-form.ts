// Forms, and edit buttons with forms below them. Enter applies, Escape closes.
import type { CommandName, EditCall, Options } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import { type Child, element, ICONS, icon, taskButton, whileBusy } from "../dom";
import { createEditPreview } from "./edit-preview";
import { FieldSet } from "./fields";
import type { Field, Values } from "./form-fields";
import { FormSlot } from "./form-slot";

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

/** Do what a form is for; resolves to whether it was done. If not, the status says why. */
type Apply = (values: Values, options: Options) => Promise<boolean>;

interface FormButton {
  readonly text: string;
  readonly title: string;
  readonly apply: Apply;
}

export interface FormSpec {
  readonly fields: readonly Field[];
  readonly apply: Apply;
  /** What the button says. */
  readonly submit?: string | ((values: Values) => string);
  /** Buttons beside it. */
  readonly others?: readonly FormButton[];
  /** What is above the fields. */
  readonly head?: readonly Child[];
  /** What it is called. */
  readonly label?: string;
  /** The edit that is previewed. */
  readonly call?: (values: Values, options: Options) => EditCall;
}

/** What a button says while fields are yet to come. */
const NEXT = "Next";

/**
 * A form: Enter applies it, Escape closes it. The field that is refused says why, else the status
 * does.
 */
export function createForm(
  { fields, apply, submit = "Apply", others = [], head = [], label, call }: FormSpec,
  parts: Parts,
  close: (isDone: boolean) => void,
): HTMLFormElement {
  const { store } = parts;
  const set = new FieldSet(fields, parts, () => update(true));
  const preview =
    call &&
    createEditPreview(parts, () =>
      form.checkValidity() ? call(set.values(), set.options()) : null,
    );
  const update = (soon = false) => {
    const text = typeof submit === "string" ? submit : submit(set.values());
    main.textContent = set.waits() ? NEXT : text;
    preview?.update(soon);
  };
  const end = (isDone: boolean) => {
    preview?.close();
    close(isDone);
  };
  const run = async (act: Apply) => {
    set.refuse("");
    const isNext = set.waits();
    await set.settled();
    if (!set.check() || isNext) return;
    if (await act(set.values(), set.options())) return end(true);
    const { text = "", argument = "", fixes = [] } = store.value.status ?? {};
    if (set.refuse(text, argument) && fixes.length === 0) store.set({ status: null });
    update();
  };
  const main = element("button", { type: "submit", class: "tgw-button" });
  // The field keeps the focus: what it does when it loses it would move the button away.
  main.addEventListener("mousedown", (event) => event.preventDefault());
  const buttons = others.map(({ text, title, apply: act }) =>
    taskButton({ class: "tgw-button tgw-quiet", title }, () => run(act), text),
  );
  const form: HTMLFormElement = element(
    "form",
    { class: "tgw-inline", novalidate: true, "aria-label": label },
    ...head,
    set.root,
    ...(preview ? [preview.root] : []),
    // In a small panel the buttons stay in view.
    element("div", { class: "tgw-foot" }, main, ...buttons),
  );
  form.addEventListener("input", () => update());
  form.addEventListener("change", () => update());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void whileBusy(main, () => run(apply));
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    end(false);
  });
  update(true);
  return form;
}

/** The edit that a form describes. */
export function callOf(
  { command, what, options = {}, fields = [] }: EditCommand,
  { what: chosen }: Values = {},
  filled: Options = {},
): EditCall {
  const isFunction = ({ key, kind }: Field) =>
    (kind === "op_type" || kind === "replacement") && !filled[key]?.startsWith('"');
  return {
    command,
    what: chosen ? [chosen] : what,
    options: { ...options, ...filled },
    variables: fields.filter(isFunction).map(({ key }) => key),
  };
}

/** Make an edit; resolves to whether it was made. */
export function applyCall({ actions }: Pick<Parts, "actions">, call: EditCall): Promise<boolean> {
  return actions.edits.change(call.command, call.what, call.options, call.variables);
}

/** The form of an edit, which it makes. */
export function commandForm(
  command: EditCommand,
  parts: Parts,
  close: (isDone: boolean) => void,
): HTMLFormElement {
  const { command: name, what, previewed } = command;
  const isOnOp = name === "insert" || name === "replace";
  const place = isOnOp ? { place: { command: name, what: [...what] } } : {};
  const fields = command.fields?.map((field) => ({ ...field, ...place })) ?? [];
  const call = (values: Values, options: Options) => callOf(command, values, options);
  const apply: Apply = (values, options) => applyCall(parts, call(values, options));
  return createForm({ fields, apply, ...(previewed && { call }) }, parts, close);
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
    : { ...command, act: () => applyCall(parts, callOf(command)) };
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
  const slot = new FormSlot(parts);
  const group = element("div", { class: "tgw-derive", role: "group", "aria-label": label });
  for (const entry of entries) {
    const { command, name, title } = entry;
    const attributes = { class: "tgw-button", title, "data-change": command };
    if ("form" in entry) {
      group.append(slot.opener(attributes, () => entry.form(slot.close), `${name} …`));
      continue;
    }
    const text = entry.opens ? `${name} …` : name;
    const control = taskButton(attributes, () => entry.act(control), text);
    group.append(control);
  }
  group.append(...others);
  return element("div", { class: "tgw-commands" }, group, slot.root);
}

/** A pencil that opens a form in `slot`, and closes it again. */
export function pencilButton(
  title: string,
  slot: FormSlot,
  form: () => HTMLFormElement,
): HTMLButtonElement {
  const attributes = { class: "tgw-tool tgw-pencil", title, "aria-label": title };
  return slot.opener(attributes, form, icon(ICONS.edit));
}
