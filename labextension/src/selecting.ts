// What can be made of the present selection, and why it cannot at the moment.
import type { DeriveRequest, State } from "./protocol";

export type Verb = DeriveRequest["verb"];

export interface Derivation {
  readonly verb: Verb;
  readonly name: string;
  /** "" when it has none. */
  readonly key: string;
  readonly what: string;
}

/** In the order of the buttons. */
export const DERIVATIONS: readonly Derivation[] = [
  { verb: "upstream", name: "Upstream", key: "u", what: "The selected ops and everything they need" },
  {
    verb: "downstream",
    name: "Downstream",
    key: "d",
    what: "The selected ops and everything that needs them",
  },
  { verb: "scope", name: "Scope", key: "e", what: "The name scopes around the selected ops, whole" },
  { verb: "grow", name: "Grow", key: "g", what: "The neighbours too" },
  { verb: "shrink", name: "Shrink", key: "s", what: "Without the outermost ops" },
  {
    verb: "whole",
    name: "Whole loops",
    key: "",
    what: "All of each while loop and conditional that is selected in part",
  },
  { verb: "invert", name: "Invert", key: "!", what: "Everything else instead" },
  { verb: "path", name: "Path", key: "p", what: "All ops between the two selected ones" },
  {
    verb: "shortest",
    name: "Shortest path",
    key: "P",
    what: "The fewest ops that join the two selected ones",
  },
  { verb: "boundary", name: "Use as boundary", key: "", what: "Mark where the selection begins and ends" },
];

const NOTHING = "Nothing is selected: draw a box (b) or a lasso (l), or Ctrl-click an op.";

const ONLY_TENSORS = "Only tensors are selected, and this is made of ops: Ctrl-click an op.";

/** Whether anything is selected; it may be tensors alone, which are no ops. */
export function isSelecting(state: State | null): boolean {
  return state !== null && (state.selected_ops > 0 || state.expression !== "");
}

/** "" when it works, else the sentence that says what is missing. */
export function whyNot(verb: Verb, state: State | null): string {
  const marked = state ? state.inputs.length + state.outputs.length : 0;
  if (verb === "clear") return isSelecting(state) || marked > 0 ? "" : "Nothing is selected.";
  if (verb === "invert") return state?.ops ? "" : "There is nothing to select.";
  return isSelecting(state) ? whyNotOf(verb, state?.selected_ops ?? 0) : NOTHING;
}

/** The same, of a selection with this many ops. */
function whyNotOf(verb: Verb, ops: number): string {
  if (verb === "upstream" || verb === "downstream") return "";
  if (ops === 0) return ONLY_TENSORS;
  if ((verb === "path" || verb === "shortest") && ops !== 2)
    return `A path joins two ops, and ${counted(ops)} selected: Ctrl-click until there are two.`;
  return "";
}

function counted(ops: number): string {
  return ops === 1 ? "one is" : `${ops.toLocaleString("en")} are`;
}
