// What a context menu is of: an op, a scope, a group, an edge, the selection, the canvas, or a name
// in a list.
import type { State } from "../../protocol/messages";
import { at, isScope, keyOf, type Paint, type Scene } from "../../protocol/scene";

export type Target =
  | { readonly kind: "op" | "scope" | "group"; readonly item: number; readonly key: string }
  /** An op or a scope that is not drawn: a closed scope is, in its place. */
  | { readonly kind: "name"; readonly key: string }
  | { readonly kind: "edge"; readonly edge: number }
  | { readonly kind: "selection" }
  | { readonly kind: "canvas" };

/**
 * The item and the edge at a point; 0 or -1 is none. `inside`: below the header of an open scope.
 */
export interface Hit {
  readonly item: number;
  readonly edge: number;
  readonly inside: boolean;
}

/**
 * An edge lies on the background of the scope around it; a selected item represents the whole
 * selection.
 */
export function targetAt(
  { item, edge, inside }: Hit,
  scene: Scene,
  paint: Paint | null,
  state: State | null,
): Target {
  if (edge >= 0 && (item <= 0 || inside)) return { kind: "edge", edge };
  if (item <= 0) return { kind: "canvas" };
  if (isOneOfMany(item, scene, paint, state)) return { kind: "selection" };
  return { kind: kindOf(scene, item), item, key: keyOf(scene, item) };
}

/** Of an op, a scope or a tensor that a list names. */
export function targetOf(name: string, scene: Scene): Target {
  const key = name.replace(/^\^/, "").replace(/:\d+$/, "");
  const item = scene.byKey.get(key) ?? scene.byKey.get(`${key}/`);
  return item === undefined
    ? { kind: "name", key }
    : { kind: kindOf(scene, item), item, key: keyOf(scene, item) };
}

function kindOf(scene: Scene, item: number): "op" | "scope" | "group" {
  if (!isScope(at(scene.kind, item))) return "op";
  return at(scene.members, item) > 0 ? "group" : "scope";
}

/**
 * Whether more is selected than an item that is. Ops between the marks of a boundary are marked and
 * edited singly.
 */
function isOneOfMany(
  item: number,
  scene: Scene,
  paint: Paint | null,
  state: State | null,
): boolean {
  if (!state || at(paint?.coverage ?? [], item) !== 2) return false;
  if (state.inputs.length + state.outputs.length > 0) return false;
  return state.selected_ops > Math.max(at(scene.count, item), 1);
}
