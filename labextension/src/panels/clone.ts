// The form that clones the selection; there only when something is selected.
import { element, uniqueId } from "../dom";
import type { Parts } from "./parts";
import { section } from "./section";

const VARIABLES = { own: "own copies", shared: "shared with the original" };
const VALUES = {
  current: "copied as they are now",
  initial: "from the initialisers",
  none: "left uninitialised",
};

export function createClone({ store, actions }: Parts): HTMLElement {
  const into = element("input", {
    class: "tgw-input",
    name: "into",
    spellcheck: "false",
    autocomplete: "off",
  });
  const variables = choice("variables", VARIABLES);
  const init = choice("init", VALUES);
  const submit = element("button", { type: "submit", class: "tgw-primary" }, "Clone");
  const whole = element("p", { class: "tgw-hint" });
  const form = element(
    "form",
    { class: "tgw-clone" },
    row("Scope", into),
    row("Variables", variables.select),
    row("Values", init.select),
    submit,
    whole,
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await actions.clone({ into: into.value.trim(), variables: variables.value(), init: init.value() });
    // The name is taken now; after a refusal it stays, to be corrected.
    if (store.value.status?.kind === "notice") into.value = store.value.state?.proposal ?? "";
  });
  variables.select.addEventListener("change", () => {
    init.select.disabled = variables.value() === "shared";
    whole.hidden = variables.value() === "shared";
  });
  // A second click while the first is under way would be refused, and its refusal would hide the success.
  store.watch(["pending"], ({ pending }) => {
    submit.disabled = pending > 0;
  });
  const root = section("Clone", {}, [], form);
  let proposed = "";
  let edits = 0;
  store.watch(["state"], ({ state }) => {
    root.hidden = !state || state.selected_ops === 0;
    if (!state) return;
    const more = state.copied_ops > state.selected_ops ? ": these, and what makes their variables whole" : "";
    whole.textContent = `Copies ${state.copied_ops.toLocaleString("en")} ops${more}.`;
    // A name that the person has typed stays, until it is used.
    const untouched = into.value === proposed || into.value === "";
    if (untouched || state.code.length > edits) into.value = state.proposal;
    proposed = state.proposal;
    edits = state.code.length;
  });
  return root;
}

function row(label: string, field: HTMLElement): HTMLElement {
  field.id = uniqueId();
  const text = element("span", { class: "tgw-label" }, label);
  return element("label", { class: "tgw-row", for: field.id }, text, field);
}

interface Choice<T extends string> {
  readonly select: HTMLSelectElement;
  value(): T;
}

/** A drop-down list of `options`, value -> text. */
function choice<T extends string>(name: string, options: Record<T, string>): Choice<T> {
  const select = element("select", { name, class: "tgw-input" });
  const values = Object.keys(options) as T[];
  for (const value of values) select.append(element("option", { value }, options[value]));
  return { select, value: () => values[select.selectedIndex] ?? (values[0] as T) };
}
