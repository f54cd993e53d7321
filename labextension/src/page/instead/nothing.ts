// What a page without a kernel leaves away: editing, its history, the port that rewires.

import { element } from "../../dom";
import type { createChanges as Changes } from "../../panels/changes";
import type { createClone as Clone } from "../../panels/clone";
import type { pencil as Pencil, verbButtons as VerbButtons } from "../../panels/forms";
import type { createHistory as History } from "../../panels/history";
import type { createPort as Port } from "../../panels/port";

function nothing(): HTMLElement {
  return element("div", { hidden: true });
}

export const createChanges: typeof Changes = nothing;
export const createClone: typeof Clone = nothing;
export const createHistory: typeof History = nothing;
export const createPort: typeof Port = nothing;
export const verbButtons: typeof VerbButtons = nothing;
export const pencil = nothing as unknown as typeof Pencil;
