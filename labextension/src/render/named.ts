// The items that messages name: always the same sets for the same messages, so that nothing is drawn anew for nothing.
import { type Scene, visibleItem } from "../scene";
import type { Frame } from "./renderer";

type Items = Pick<Frame, "warned" | "barred" | "hits">;
type Refused = ReadonlyMap<string, string> | null;

export class Named {
  #by: readonly unknown[] = [];
  #items: Items = { warned: new Set(), barred: new Set(), hits: new Set() };

  /** `warned` are the ops that a refusal names, `refused` those that cannot read what is dragged, `found` hits. */
  items(scene: Scene, warned: readonly string[], refused: Refused, found: readonly string[]): Items {
    const by = [scene, warned, refused, found];
    if (by.every((part, i) => part === this.#by[i])) return this.#items;
    this.#by = by;
    this.#items = {
      warned: new Set(warned.map((name) => visibleItem(scene, name))),
      barred: new Set([...(refused?.keys() ?? [])].map((name) => scene.byKey.get(name) ?? -1)),
      hits: new Set(found.map((name) => visibleItem(scene, name))),
    };
    return this.#items;
  }
}
