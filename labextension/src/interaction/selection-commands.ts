// Commands that derive a new selection from the current one, and why a command is not available.
import type { DeriveRequest, State } from "../protocol/messages";

export type SelectionCommandName = DeriveRequest["command"];

export interface SelectionCommand {
  readonly command: SelectionCommandName;
  readonly name: string;
  /** "" when it has none. */
  readonly key: string;
  readonly what: string;
  /** Needs a kernel: not available in a saved page. */
  readonly kernel?: true;
}

/** In the order of the buttons. */
export const SELECTION_COMMANDS: readonly SelectionCommand[] = [
  {
    command: "upstream",
    name: "Upstream",
    key: "u",
    what: "Add all ops that the selected ops depend on",
  },
  {
    command: "downstream",
    name: "Downstream",
    key: "d",
    what: "Add all ops that depend on the selected ops",
  },
  {
    command: "scope",
    name: "Scope",
    key: "e",
    what: "Extend the selection to the enclosing name scopes",
  },
  { command: "grow", name: "Grow", key: "g", what: "Add the neighbors of the selected ops" },
  {
    command: "shrink",
    name: "Shrink",
    key: "s",
    what: "Remove the outermost ops from the selection",
  },
  {
    command: "whole",
    name: "Whole loops",
    key: "",
    what: "Complete each partly selected while loop and conditional",
    kernel: true,
  },
  { command: "invert", name: "Invert", key: "!", what: "Invert selection" },
  { command: "path", name: "Path", key: "p", what: "Select all ops between the two selected ops" },
  {
    command: "shortest",
    name: "Shortest path",
    key: "P",
    what: "Select a shortest path between the two selected ops",
  },
  {
    command: "boundary",
    name: "Use as boundary",
    key: "",
    what: "Mark the inputs and outputs of the selection",
  },
];

const NOTHING = "Nothing is selected: draw a box (b) or a lasso (l), or Ctrl-click an op.";

const ONLY_TENSORS = "Only tensors are selected, but this command needs ops: Ctrl-click an op.";

/** Whether anything is selected; it may be tensors alone, which are not ops. */
export function hasSelection(state: State | null): boolean {
  return state !== null && (state.selected_ops > 0 || state.expression !== "");
}

/** Whether an input or output is marked. */
export function isMarked(state: State | null): boolean {
  return state !== null && state.inputs.length + state.outputs.length > 0;
}

/** "" if the command is available, else a sentence with the reason. */
export function whyNot(command: SelectionCommandName, state: State | null): string {
  if (command === "clear")
    return hasSelection(state) || isMarked(state) ? "" : "Nothing is selected.";
  if (command === "invert") return state?.ops ? "" : "There is nothing to select.";
  return hasSelection(state) ? whyNotOf(command, state?.selected_ops ?? 0) : NOTHING;
}

/** The same, of a selection with this many ops. */
function whyNotOf(command: SelectionCommandName, ops: number): string {
  if (command === "upstream" || command === "downstream") return "";
  if (ops === 0) return ONLY_TENSORS;
  if ((command === "path" || command === "shortest") && ops !== 2) {
    const selected = `${countText(ops)} selected`;
    return `A path needs two selected ops, but ${selected}: Ctrl-click to select two.`;
  }
  return "";
}

function countText(ops: number): string {
  return ops === 1 ? "one is" : `${ops.toLocaleString("en")} are`;
}
