// The form that clones the selection; there only when something is selected.
import { disable, element, releaseFocus, uniqueId } from "../dom";
import type { State } from "../protocol";
import type { Parts } from "./parts";
import { section } from "./section";

export const VARIABLES = { own: "own copies", shared: "shared with original" };
export const VALUES = {
  current: "as they are now",
  initial: "from the initialisers",
  none: "left uninitialised",
};

export function createClone({ store, actions }: Parts): HTMLElement {
  const form = new Form();
  form.root.addEventListener("submit", async (event) => {
    event.preventDefault();
    await actions.clone(form.value());
    // The name is taken now; after a refusal it stays, to be corrected.
    if (store.value.status?.kind === "notice") form.into.value = store.value.state?.proposal ?? "";
  });
  const enable = () => form.enable(cannotClone(store.value.state), store.value.pending > 0);
  form.variables.select.addEventListener("change", enable);
  store.watch(["pending", "state"], enable);
  const root = section("Clone", {}, [], form.root);
  let proposed = "";
  let edits = 0;
  store.watch(["state"], ({ state }) => {
    root.hidden = !state || state.selected_ops === 0;
    if (!state) return;
    const more = state.copied_ops > state.selected_ops ? ": these, and what makes their variables whole" : "";
    form.whole.textContent = `Copies ${state.copied_ops.toLocaleString("en")} ops${more}.`;
    // A name that the person has typed stays, until it is used.
    const { into } = form;
    const untouched = into.value === proposed || into.value === "";
    if (untouched || state.code.length > edits) into.value = state.proposal;
    proposed = state.proposal;
    edits = state.code.length;
    form.propose(state.values);
  });
  return root;
}

/** What the kernel proposes for a field whose content the person may choose: each new proposal, until they do. */
export class Proposals<T extends string> {
  #last: T | null = null;
  #chosen = false;

  /** The person has chosen; from now on nothing else is put there. */
  choose(): void {
    this.#chosen = true;
  }

  /** What to put there for the present proposal; null to leave it as it is. */
  next(proposal: T): T | null {
    const fresh = proposal !== this.#last;
    this.#last = proposal;
    return fresh && !this.#chosen ? proposal : null;
  }
}

class Form {
  readonly into = element("input", {
    class: "tgw-input",
    name: "into",
    spellcheck: "false",
    autocomplete: "off",
  });
  readonly variables = choice("variables", VARIABLES);
  /** How many ops it will be. */
  readonly whole = element("p", { class: "tgw-hint" });
  readonly #init = choice("init", VALUES);
  readonly #values = new Proposals<State["values"]>();
  readonly #why = element("p", { class: "tgw-hint tgw-why", id: uniqueId() });
  readonly #submit = element(
    "button",
    { type: "submit", class: "tgw-primary", "aria-describedby": this.#why.id },
    "Clone",
  );
  readonly #fields = element(
    "div",
    { class: "tgw-clone-fields" },
    row("Scope", this.into),
    row("Variables", this.variables.select),
    row("Values", this.#init.select),
  );
  readonly root = element("form", { class: "tgw-clone" }, this.#fields, this.#submit, this.#why, this.whole);

  constructor() {
    this.#init.select.addEventListener("change", () => this.#values.choose());
  }

  propose(values: State["values"]): void {
    this.#init.select.value = this.#values.next(values) ?? this.#init.select.value;
  }

  value() {
    return { into: this.into.value.trim(), variables: this.variables.value(), init: this.#init.value() };
  }

  /** `why` it cannot be used, which then is all there is to see, or "". */
  enable(why: string, busy: boolean): void {
    const shared = this.variables.value() === "shared";
    if (why) releaseFocus(this.#fields);
    this.#fields.hidden = why !== "";
    this.#init.select.disabled = shared;
    this.whole.hidden = why !== "" || shared;
    this.#why.textContent = this.#submit.title = why;
    this.#why.hidden = why === "";
    // A second click while the first is under way would be refused, and its refusal would hide the success.
    disable(this.#submit, why !== "" || busy);
  }
}

/** Why the selection cannot be cloned, or "". */
export function cannotClone(state: State | null): string {
  if (!state) return "";
  if (state.editable) return state.editable;
  const marked = state.inputs.length + state.outputs.length > 0;
  return marked
    ? ""
    : 'A clone is of what lies between inputs and outputs: press "Use as boundary" to mark them.';
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
