// The form that clones the selection, and what it would do; there only when something is selected.
import type { CloneForm } from "../actions";
import { disable, element, releaseFocus, uniqueId } from "../dom";
import { Previewing } from "../previewing";
import type { State } from "../protocol";
import { choice, row, TEXT } from "./choice";
import { Switches } from "./held";
import { MoreOptions } from "./options";
import type { Parts } from "./parts";
import { createPreview } from "./preview";
import { section } from "./section";

export const VARIABLES = { own: "own copies", shared: "shared with original" };
export const VALUES = {
  current: "as they are now",
  initial: "from the initialisers",
  none: "left uninitialised",
};

export function createClone(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const previewing = new Previewing(store, actions);
  let busy = false;
  const ask = () => {
    const { state, panelOpen } = store.value;
    // Nobody reads it in a panel that is closed, and of a large part it keeps the kernel busy.
    previewing.want(state && state.selected_ops > 0 && panelOpen ? form.value() : null);
    form.enable(cannotClone(state), busy);
  };
  const form = new Form(createPreview(parts), ask);
  form.root.addEventListener("submit", async (event) => {
    event.preventDefault();
    busy = true;
    ask();
    await actions.clone(form.value());
    busy = false;
    // The name is taken now; after a refusal it stays, to be corrected.
    if (store.value.status?.kind === "notice") form.into.value = store.value.state?.proposal ?? "";
    ask();
  });
  const root = section("Clone", {}, [], form.root);
  let proposed = "";
  let edits = 0;
  store.watch(["state"], ({ state }) => {
    root.hidden = !state || state.selected_ops === 0;
    if (!state) return;
    // A name that the person has typed stays, until it is used.
    const { into } = form;
    const untouched = into.value === proposed || into.value === "";
    if (untouched || state.code.length > edits) into.value = state.proposal;
    proposed = state.proposal;
    edits = state.code.length;
    form.propose(state.values);
    ask();
  });
  store.watch(["panelOpen"], ask);
  store.watch(["preview"], ({ preview }) => preview && form.switches.show(preview));
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
  readonly into = element("input", { ...TEXT, class: "tgw-input tgw-mono", name: "into" });
  readonly switches = new Switches();
  readonly root: HTMLFormElement;
  readonly #variables = choice("variables", VARIABLES);
  readonly #init = choice("init", VALUES);
  readonly #more = new MoreOptions();
  readonly #values = new Proposals<State["values"]>();
  readonly #why = element("p", { class: "tgw-hint", id: uniqueId() });
  readonly #submit = element(
    "button",
    { type: "submit", class: "tgw-primary", "aria-describedby": this.#why.id },
    "Clone",
  );
  readonly #fields: HTMLElement;

  /** `change` is called after whatever a person fills in. */
  constructor(preview: HTMLElement, change: () => void) {
    this.#fields = element(
      "div",
      { class: "tgw-clone-fields" },
      row("Scope", this.into),
      row("Variables", this.#variables.select),
      this.switches.root,
      row("Values", this.#init.select),
      this.#more.root,
    );
    this.root = element("form", { class: "tgw-clone" }, this.#fields, this.#submit, this.#why, preview);
    this.#init.select.addEventListener("change", () => this.#values.choose());
    this.#variables.select.addEventListener("change", () => this.switches.set(this.#variables.value()));
    this.root.addEventListener("input", change);
    this.root.addEventListener("change", change);
  }

  propose(values: State["values"]): void {
    this.#init.select.value = this.#values.next(values) ?? this.#init.select.value;
  }

  value(): CloneForm {
    const { all, others } = this.switches.modes;
    return {
      into: this.into.value.trim(),
      variables: all,
      others,
      init: this.#init.value(),
      ...this.#more.value(),
    };
  }

  /** `why` it cannot be used, which then is all there is to see, or "". */
  enable(why: string, busy: boolean): void {
    if (why) releaseFocus(this.#fields);
    this.#fields.hidden = why !== "";
    this.#init.select.disabled = !this.switches.modes.anyOwn;
    this.#why.textContent = this.#submit.title = why;
    this.#why.hidden = why === "";
    // A second click while the first is under way would be refused, and its refusal would hide the success.
    disable(this.#submit, why !== "" || busy);
  }
}

/** Why the selection cannot be cloned, or "". */
export function cannotClone(state: State | null): string {
  return state?.editable ?? "";
}
