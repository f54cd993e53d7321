// What a panel is made with.
import type { Actions } from "../actions";
import type { Stage } from "../render/stage";
import type { Store } from "../store";

export interface Parts {
  readonly store: Store;
  readonly actions: Actions;
  readonly stage: Stage;
}
