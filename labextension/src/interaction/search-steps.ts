// Steps from one search hit to the next, and uses all hits at once.
import type { SelectMatchingRequest } from "../protocol/messages";
import { canHaveMore, MOST } from "../state/search-results";
import { bringForward, type Store } from "../state/store";

interface SearchContext {
  readonly store: Store;
  readonly actions: {
    search(text: string, limit?: number): Promise<void>;
    reveal(name: string, others?: readonly string[]): Promise<void>;
    changeView(message: SelectMatchingRequest): Promise<void>;
  };
}

/** Go to the next hit, or with -1 to the one before; around at either end. */
export async function stepHit(parts: SearchContext, by: 1 | -1): Promise<void> {
  const { hit, hitNames } = parts.store.value;
  if (hitNames.length > 0 && hit + by >= hitNames.length) await loadMore(parts);
  const { hit: here, hitNames: names } = parts.store.value;
  const first = by > 0 ? 0 : names.length - 1;
  if (names.length > 0)
    await goToHit(parts, here < 0 ? first : (here + by + names.length) % names.length);
}

/** Go to a hit by its place in the list. */
export async function goToHit({ store, actions }: SearchContext, place: number): Promise<void> {
  const name = store.value.hitNames[place];
  if (name === undefined) return;
  store.set({ hit: place });
  bringForward(store, "op");
  await actions.reveal(name, store.value.hitOps[place]);
}

/** Ask for as many hits as can be shown. */
export async function loadMore({ store, actions }: SearchContext): Promise<void> {
  const { found, query } = store.value;
  if (canHaveMore(found)) await actions.search(query, MOST);
}

/** Select, hide or show only all hits, also those that are not in the list. */
export function useAllHits(
  { store, actions }: SearchContext,
  use: SelectMatchingRequest["use"],
): Promise<void> {
  if (use === "select" || use === "add") bringForward(store, "selection");
  return actions.changeView({ type: "select_matching", text: store.value.query.trim(), use });
}
