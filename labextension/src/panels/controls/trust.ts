// The switch with which the user trusts the file: then ops of it run that do more than compute.
import type { Parts } from "../../interaction/parts";
import { element, taskButton, uniqueId } from "../dom";

/**
 * The switch alone, for a place that says what it means; it is described by `untrusted` of the
 * state.
 */
export function trustSwitch(
  { store, actions }: Parts,
  attributes: Record<string, string> = {},
): HTMLElement {
  return taskButton(
    {
      class: "tgw-button",
      role: "switch",
      "aria-checked": "false",
      title: store.value.state?.untrusted ?? "",
      ...attributes,
    },
    () => actions.edits.trust(),
    "Trust this file",
  );
}

/** The switch with the sentences that say what turning it on means. */
export function trustQuestion(parts: Parts): HTMLElement {
  const id = uniqueId();
  const text = element("span", { id }, parts.store.value.state?.untrusted ?? "");
  return element(
    "div",
    { class: "tgw-trust" },
    text,
    trustSwitch(parts, { title: "", "aria-describedby": id }),
  );
}
