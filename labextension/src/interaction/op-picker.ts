// Delivers the next clicked op to the form that waits for one.
import { at, isScope } from "../protocol/scene";
import type { Store } from "../state/store";

/**
 * Deliver an item to the form that waits for an op; false if none waits, or if the item is not an
 * op.
 */
export function deliverPick(store: Store, item: number): boolean {
  const { picking, scene, details } = store.value;
  if (!picking || !scene || item <= 0 || isScope(at(scene.kind, item))) return false;
  store.set({ picking: null, picked: details?.name ?? "" });
  picking.take(scene.names[item] ?? "");
  return true;
}
