// What is said in the middle of the drawing when there is nothing to draw.
import { element } from "../dom";
import type { State } from "../protocol";
import type { Parts } from "./parts";

export function createEmpty({ store }: Parts): HTMLElement {
  const text = element("p", { class: "tgw-empty", role: "status" });
  store.watch(["state"], ({ state }) => {
    text.textContent = emptyText(state);
  });
  return text;
}

export function emptyText(state: State | null): string {
  if (!state || state.ops > 0) return "";
  if (state.path.length > 1) return "This function has no ops.";
  return "This graph has no ops yet; they appear here as cells add them.";
}
