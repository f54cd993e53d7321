// Buttons that make a new selection from the present one; disabled, with the reason, where they cannot.
import { button, disable, element } from "../dom";
import { DERIVATIONS, whyNot } from "../selecting";
import type { Parts } from "./parts";

export function createDerive({ store, actions }: Parts): HTMLElement {
  const group = element("div", { class: "tgw-derive", role: "group", "aria-label": "Change the selection" });
  const buttons = DERIVATIONS.map((derivation) => {
    const { verb, name } = derivation;
    const made = button({ class: "tgw-button", "data-verb": verb }, () => actions.derive(verb), name);
    group.append(made);
    return { derivation, made };
  });
  store.watch(["state"], ({ state }) => {
    for (const { derivation, made } of buttons) {
      const why = whyNot(derivation.verb, state);
      disable(made, why !== "");
      made.title = why || titleOf(derivation);
    }
  });
  return element(
    "details",
    { class: "tgw-details" },
    element("summary", { class: "tgw-fold" }, "Change the selection"),
    element("div", { class: "tgw-inner" }, group),
  );
}

function titleOf({ what, key }: (typeof DERIVATIONS)[number]): string {
  return key ? `${what} (${key})` : what;
}
