// Who asks for an op has the next one that is clicked, or on which Enter is pressed.
import { at, isScope } from "./scene";
import type { Store } from "./store";

/** Give an item to who waits for an op; false when nobody does, or it is none. */
export function give(store: Store, item: number): boolean {
  const { picking, scene, details } = store.value;
  if (!picking || !scene || item <= 0 || isScope(at(scene.kind, item))) return false;
  store.set({ picking: null, picked: details?.name ?? "" });
  picking.take(scene.names[item] ?? "");
  return true;
}
