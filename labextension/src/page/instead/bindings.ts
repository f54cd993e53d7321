// The keys of a page: those that need no kernel.
import * as original from "../../bindings";

export type { Hands } from "../../bindings";

const NOT_HERE = new Set([
  ...["i", "o", "D", "U", "r", "c", "Delete"],
  ...original.GROUPS.flatMap(({ title, bindings }) =>
    title === "Edit" ? bindings.map(({ keys }) => keys[0]) : [],
  ),
]);
const GESTURES_NOT_HERE = ["Shift-click", "Alt-click", "Drag a box", "Drag from the dot below an op"];

export const GROUPS: typeof original.GROUPS = original.GROUPS.map(({ title, bindings }) => ({
  title,
  bindings: bindings.filter(({ keys }) => !NOT_HERE.has(keys[0])),
})).filter(({ bindings }) => bindings.length > 0);

export const GESTURES = original.GESTURES.filter(({ how }) => !GESTURES_NOT_HERE.includes(how));

export const BINDINGS: typeof original.BINDINGS = new Map(
  GROUPS.flatMap(({ bindings }) => bindings.flatMap((each) => each.keys.map((key) => [key, each] as const))),
);

export const capsOf = original.capsOf;
