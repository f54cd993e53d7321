// The Python that gives the selection.
import { element } from "../dom";
import { copyTools } from "./copy";
import type { Parts } from "./parts";

export function createExpression({ store }: Parts): HTMLElement {
  const code = element("code", {
    class: "tgw-expression",
    tabindex: 0,
    "aria-label": "Python that selects the same",
  });
  const [said, copy] = copyTools(code, "Copy the expression", false);
  const root = element("div", { class: "tgw-quote" }, code, copy, said);
  store.watch(["state"], ({ state }) => {
    root.hidden = !state?.expression;
    const text = state?.expression ?? "";
    // Text that someone is marking stays as it is.
    if (code.textContent === text) return;
    code.textContent = text;
  });
  return root;
}
