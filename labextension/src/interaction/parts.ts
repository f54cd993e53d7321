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
