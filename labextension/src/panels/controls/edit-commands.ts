// The edits that apply to the inspected op, the selection or the whole graph, with the fields of
// their forms.

import { type CommandName, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import {
  EDIT_BUTTONS,
  type EditButton,
  type FormField,
  type InspectReply,
  type ModelEnd,
} from "../../protocol/messages";
import type { Store } from "../../state/store";
import type { EditCommand } from "./edit-form";
import { type Field, splitName } from "./form-fields";

type Known = Readonly<Record<NonNullable<FormField["known"]>, string>>;

const NO_INPUT = "The graph has no input whose size can be changed.";
const NOTHING: Known = { name: "", device: "", shape: "", dtype: "", value: "" };

/**
 * Of several ops: the selection when `what` is empty, or a name scope; `isTrainable`: whether a
 * variable in it is.
 */
export function commandsForPart(what: readonly string[], isTrainable: boolean): EditCommand[] {
  return EDIT_BUTTONS.filter(
    (button) => button.on === "part" && suitsPart(button, isTrainable),
  ).map((button) => commandOf(button, what, NOTHING));
}

/**
 * Whether an edit makes sense for several ops: what is for variables needs one that an optimizer
 * can be given.
 */
function suitsPart({ types }: EditButton, isTrainable: boolean): boolean {
  return types === undefined || isTrainable;
}

/** Of the chosen outputs, or those that the graph seems to be for. */
export const GRAPH_COMMANDS: readonly EditCommand[] = EDIT_BUTTONS.filter(
  ({ on }) => on === "graph",
).map((button) => commandOf(button, [], NOTHING));

/** Of the op or the scope in the inspector. */
export function commandsFor(details: InspectReply): EditCommand[] {
  const known = knownOf(details);
  return EDIT_BUTTONS.filter((button) => suits(button, details)).map((button) =>
    commandOf(button, [button.output ? `${details.name}:0` : details.name], known),
  );
}

/** Whether an edit makes sense for an op, or for a scope, which has no type. */
function suits(button: EditButton, details: InspectReply): boolean {
  const { on, types, needs = [] } = button;
  const type = details.op_type;
  const isTrainable = details.trainable > 0;
  if (type === "") return on === "named" || (on === "part" && suitsPart(button, isTrainable));
  const isOfType =
    on === "part" ? suitsPart(button, isTrainable) : types === undefined || types.includes(type);
  return on !== "graph" && isOfType && needs.every((side) => details[side].length > 0);
}

/** Move an op or a scope to another scope: a rename that keeps the last part of the name. */
export function moveCommand({ name }: InspectReply): EditCommand {
  const { initial: last, prefix } = splitName(name.replace(/\/$/, ""));
  const hint = "Leave it empty for no scope. A scope that does not exist is created.";
  const scope = {
    key: "new",
    label: "Scope",
    initial: prefix.slice(0, -1),
    inScope: last,
    optional: true,
    hint,
  };
  return {
    command: "rename",
    name: "Move to scope",
    title: "Change the scope",
    what: [name],
    fields: [scope],
  };
}

/** "Replace all" of the pattern that is in the search box. */
export function replaceSearched({ store }: Pick<Parts, "store">): EditCommand {
  const { fields = [], ...command } = commandOf(buttonOf("replace_all"), [], NOTHING);
  return {
    ...command,
    fields: fields.filter(({ key }) => key !== "pattern"),
    get options() {
      return { pattern: quote(searchedPattern(store)) };
    },
  };
}

/** The pattern of the search box, if the query is one. */
export function searchedPattern(store: Store): string {
  return store.value.found?.matches?.text ?? "";
}

/** "Input size" of the one that is chosen among the inputs of the graph. */
export function inputSizeCommand(inputs: readonly ModelEnd[]): EditCommand {
  const choices = inputs.map(({ op, tensor, shape, dtype }) => ({
    value: tensor,
    text: op,
    fills: { shape: knownShape(shape), dtype },
  }));
  return {
    command: "set_input",
    name: "Input size",
    title: "Change the shape of an input",
    keywords: "placeholder resolution image shape",
    what: [],
    fields: [
      { key: "what", label: "Input", kind: "choice", choices, none: NO_INPUT },
      ...(commandOf(buttonOf("set_input"), [], NOTHING).fields ?? []),
    ],
    previewed: true,
  };
}

function commandOf(
  button: (typeof EDIT_BUTTONS)[number],
  what: readonly string[],
  known: Known,
): EditCommand {
  const { command, name, title, fields, options, on, group, keywords } = button;
  const whole = on === "graph" ? { fields: [], previewed: true } : {};
  return {
    ...whole,
    command,
    name,
    title,
    what,
    ...(fields && { fields: fields.map((field) => fieldOf(field, known)) }),
    ...(options && { options: Object.fromEntries(options) }),
    ...(group && { group }),
    ...(keywords && { keywords }),
  };
}

function buttonOf(name: CommandName): (typeof EDIT_BUTTONS)[number] {
  const found = EDIT_BUTTONS.find(({ command }) => command === name);
  if (!found) throw new Error(`There is no button ${name}.`);
  return found;
}

function fieldOf({ known: source, ...field }: FormField, known: Known): Field {
  if (source === "name") return { ...field, ...splitName(known.name) };
  return source ? { ...field, initial: known[source] } : field;
}

/** What forms begin with, of the op or scope that is looked at. */
function knownOf({ name, device, outputs: [tensor], shape, value }: InspectReply): Known {
  const path = name.replace(/\/$/, "");
  return { name: path, device, shape: knownShape(shape), dtype: tensor?.dtype ?? "", value };
}

/** A shape as a field begins with it: the word for one that is not known is no shape. */
function knownShape(shape: string): string {
  return shape === "unknown" ? "" : shape;
}
