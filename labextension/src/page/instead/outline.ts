// The outline's keys on the help sheet of a page: those that need no kernel.
import * as original from "../../panels/outline";

const NOT_HERE = new Set(["i", "o"]);

export const { createOutline } = original;
export const OUTLINE_KEYS = original.OUTLINE_KEYS.filter(({ keys }) => !NOT_HERE.has(keys[0] ?? ""));
