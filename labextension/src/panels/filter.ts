// What is left out of the drawing: how much it is, and the buttons that hide and show.
import type { Actions } from "../actions";
import { button, element, releaseFocus } from "../dom";
import type { HideRequest } from "../protocol";
import { isSelecting } from "../selecting";
import type { Screen, Store } from "../store";
import type { Parts } from "./parts";

type Verb = Exclude<HideRequest["verb"], "nothing">;
interface Hands {
  readonly store: Store;
  readonly actions: Pick<Actions, "look" | "say">;
}

const NOTHING = "Nothing is selected or looked at: click an op or a scope, or draw a box (b).";
const VERBS: readonly { readonly verb: Verb; readonly name: string; readonly what: string }[] = [
  { verb: "hide", name: "Hide", what: "Leave it out of the drawing (h)" },
  { verb: "only", name: "Show only", what: "Leave everything else out of the drawing (H)" },
];

/** "12 ops hidden · Show all" over the drawing, while there are any. */
export function createHidden({ store, actions }: Parts): HTMLElement {
  const count = element("span", { class: "tgw-hidden-count" });
  const all = button(
    { class: "tgw-link", title: "Draw again what is hidden (A)" },
    () => actions.look({ type: "hide", verb: "nothing", names: [] }),
    "Show all",
  );
  const chip = element("div", { class: "tgw-hidden", hidden: true }, count, all);
  const root = element("div", { class: "tgw-hidden-place", role: "status", "aria-live": "polite" }, chip);
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
  const buttons = VERBS.map(({ verb, name: text, what }) =>
    button(
      { class: "tgw-button", title: what, "data-hide": verb },
      () => actions.look({ type: "hide", verb, names: name === "" ? [] : [name] }),
      text,
    ),
  );
  const label = name === "" ? "Hide the selection" : "Hide this";
  return element("div", { class: "tgw-derive", role: "group", "aria-label": label }, ...buttons);
}

/** What the keys h and H do: hide the selection, or else what is looked at; or show nothing else. */
export async function hide({ store, actions }: Hands, verb: Verb): Promise<void> {
  const names = hiding(store.value);
  if (names === null) actions.say({ kind: "refused", text: NOTHING });
  else await actions.look({ type: "hide", verb, names });
}

/** What a key hides: no name stands for the selection; null when there is nothing. */
export function hiding({ state, picked }: Pick<Screen, "state" | "picked">): string[] | null {
  if (isSelecting(state)) return [];
  return picked === "" ? null : [picked];
}

/** What the key A does. */
export function showAll({ store, actions }: Hands): Promise<void> {
  const hidden = store.value.state?.hidden ?? 0;
  return hidden > 0 ? actions.look({ type: "hide", verb: "nothing", names: [] }) : Promise.resolve();
}
