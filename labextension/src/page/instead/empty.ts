// What is said in the middle of a page's drawing when there is nothing to draw, and nothing will come.
import { element } from "../../dom";
import type { createEmpty as Original } from "../../panels/empty";

export const createEmpty: typeof Original = ({ store }) => {
  const text = element("p", { class: "tgw-empty", role: "status" });
  store.watch(["state"], ({ state }) => {
    text.textContent = !state || state.ops > 0 ? "" : "There are no ops here.";
  });
  return text;
};
