// What every panel gets: the store, the actions and the stage.
import type { Stage } from "../render/stage";
import type { Store } from "../state/store";
import type { Actions } from "./actions";

export interface Parts {
  readonly store: Store;
  readonly actions: Actions;
  readonly stage: Stage;
  /** Without a kernel: nothing can be edited, marked or run. */
  readonly readOnly?: boolean;
  /** Whether there may be a second pane, for a graph to compare with. */
  readonly canSplit?: boolean;
  /** In one of two panes: take an op as one of two that are paired by hand. */
  readonly pair?: ((name: string) => void) | undefined;
}

/** Whether the graph can be edited: not in a saved page, and not a model that others converted. */
export function canEdit({ store, readOnly }: Pick<Parts, "store" | "readOnly">): boolean {
  return !readOnly && !store.value.state?.fixed;
}
