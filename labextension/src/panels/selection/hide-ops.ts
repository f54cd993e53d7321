// Buttons that hide ops, and the count of hidden ops.
import type { Parts } from "../../interaction/parts";
import type { HideRequest } from "../../protocol/messages";
import { button, element, releaseFocus } from "../dom";

type HideCommand = Exclude<HideRequest["command"], "nothing">;
const HIDE_COMMANDS: readonly {
  readonly command: HideCommand;
  readonly name: string;
  readonly what: string;
}[] = [
  { command: "hide", name: "Hide", what: "Hide from the view (h)" },
  { command: "only", name: "Show only", what: "Hide everything else (H)" },
];

/** "12 ops hidden · Show all" over the drawing, while there are any. */
export function createHiddenCount({ store, actions }: Parts): HTMLElement {
  const count = element("span", { class: "tgw-hidden-count" });
  const all = button(
    { class: "tgw-link", title: "Show hidden ops again (A)" },
    () => actions.changeView({ type: "hide", command: "nothing", names: [] }),
    "Show all",
  );
  const chip = element("div", { class: "tgw-hidden", hidden: true }, count, all);
  const root = element(
    "div",
    { class: "tgw-hidden-place", role: "status", "aria-live": "polite" },
    chip,
  );
  store.watch(["state"], ({ state }) => {
    const hidden = state?.hidden ?? 0;
    if (hidden === 0) releaseFocus(chip);
    chip.hidden = hidden === 0;
    root.setAttribute("data-hidden", String(hidden));
    count.textContent = hiddenText(hidden);
  });
  return root;
}

/** "12 ops hidden", "" for none. */
export function hiddenText(hidden: number): string {
  if (hidden === 0) return "";
  return hidden === 1 ? "1 op hidden" : `${hidden.toLocaleString("en")} ops hidden`;
}

/** Buttons that hide an op or a scope, or all but it; without a name, the selection. */
export function hideButtons(name: string, { actions }: Parts): HTMLElement {
  const buttons = HIDE_COMMANDS.map(({ command, name: text, what }) =>
    button(
      { class: "tgw-button", title: what, "data-hide": command },
      () => actions.changeView({ type: "hide", command, names: name === "" ? [] : [name] }),
      text,
    ),
  );
  const label = name === "" ? "Hide the selection" : "Hide this";
  return element("div", { class: "tgw-derive", role: "group", "aria-label": label }, ...buttons);
}
