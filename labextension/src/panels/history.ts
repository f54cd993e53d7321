// History: undo, redo, and the lines of Python that do what was done by clicking.
import { button, disable, element, ICONS, icon } from "../dom";
import { copyTools } from "./copy";
import type { Parts } from "./parts";
import { section } from "./section";

export function createHistory({ store, actions }: Parts): HTMLElement {
  const undo = button({ class: "tgw-button" }, () => actions.undo(), icon(ICONS.undo), "Undo");
  const redo = button({ class: "tgw-button" }, () => actions.redo(), icon(ICONS.redo), "Redo");
  const code = element("pre", { class: "tgw-code", tabindex: 0, "aria-label": "Python that does the same" });
  const [copied, copy] = copyTools(code, "Copy the lines");
  const empty = element(
    "p",
    { class: "tgw-hint" },
    "Every edit prints the line of Python that does the same.",
  );
  store.watch(["state"], ({ state }) => {
    if (!state) return;
    label(undo, "Undo", state.undo, "Ctrl-Z");
    label(redo, "Redo", state.redo, "Ctrl-Y");
    code.textContent = state.code.join("\n");
    code.hidden = copy.hidden = state.code.length === 0;
    empty.hidden = state.code.length > 0;
  });
  const buttons = element("div", { class: "tgw-buttons" }, undo, redo);
  return section("History", { class: "tgw-history-section" }, [copied, copy], buttons, code, empty);
}

function label(target: HTMLButtonElement, verb: string, what: string, keys: string): void {
  disable(target, what === "");
  target.title = what ? `${verb} ${what} (${keys})` : `Nothing to ${verb.toLowerCase()}`;
  target.setAttribute("aria-label", what ? `${verb} ${what}` : verb);
}
