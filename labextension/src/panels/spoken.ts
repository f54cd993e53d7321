// What a walk through the drawing has come to, for a screen reader: the canvas says nothing.
import { element } from "../dom";
import { spokenText } from "../telling";
import type { Parts } from "./parts";

export function createSpoken({ store }: Parts): HTMLElement {
  const root = element("p", { class: "tgw-spoken", role: "status" });
  store.watch(["picked"], ({ scene, paint, picked }) => {
    const item = scene?.byKey.get(picked) ?? -1;
    root.textContent = scene && item > 0 ? spokenText(scene, paint, item) : "";
  });
  return root;
}
