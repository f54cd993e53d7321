// The form that clones the selection: name scope, variables, values, options. Shown while something
// is selected.
import type { CloneForm } from "../../interaction/actions";
import type { Parts } from "../../interaction/parts";
import type { ClonePreview, CloneRequest, PartState, State } from "../../protocol/messages";
import { checkboxField, labeledField, selectField, TEXT } from "../controls/form-fields";
import { moreEntry } from "../controls/name-list";
import { breakableName, disable, element, releaseFocus, uniqueId } from "../dom";
import { withDrawnShapes } from "../shape-text";
import { createClonePreview, PreviewRequests } from "./clone-preview";

export const VARIABLES = { own: "own copies", shared: "shared with original" };
export const VALUES = {
  current: "current values",
  initial: "initial values",
  none: "uninitialized",
};

export function createCloneForm(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const previewing = new PreviewRequests(store, actions);
  let busy = false;
  const ask = () => {
    const { state, panelOpen } = store.value;
    // A closed panel needs no preview, and for a large part a preview keeps the kernel busy.
    previewing.want(state && state.selected_ops > 0 && panelOpen ? form.value() : null);
    form.enable(cannotClone(state), busy);
  };
  const form = new Form(createClonePreview(parts), ask);
  form.root.addEventListener("submit", async (event) => {
    event.preventDefault();
    busy = true;
    ask();
    // The name is taken now; after a refusal it stays, to be corrected.
    if (await actions.clone(form.value())) form.into.value = store.value.state?.proposal ?? "";
    busy = false;
    ask();
  });
  const root = element("section", { "aria-label": "Clone" }, form.root);
  let proposed = "";
  store.watch(["state"], ({ state }) => {
    root.hidden = !state || state.selected_ops === 0;
    if (!state) return;
    // A name that the user typed stays until it is used.
    const { into } = form;
    if (into.value === proposed || into.value === "") into.value = state.proposal;
    proposed = state.proposal;
    form.propose(state.values);
    ask();
  });
  store.watch(["panelOpen"], ask);
  store.watch(["preview"], ({ preview }) => preview && form.switches.show(preview));
  return root;
}

/** The kernel's proposals for a field: each new one is used until the user chooses a value. */
export class ProposedValue<T extends string> {
  #last: T | null = null;
  #chosen = false;

  /** The user has chosen: from now on proposals are ignored. */
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
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: "into",
    "aria-label": "Scope of the clone",
    title: "Scope of the clone",
  });
  readonly switches = new StateSwitches();
  readonly root: HTMLFormElement;
  readonly #variables = selectField("variables", VARIABLES);
  readonly #init = selectField("init", VALUES);
  readonly #more = new MoreOptions();
  readonly #values = new ProposedValue<State["values"]>();
  readonly #why = element("p", { class: "tgw-hint", id: uniqueId() });
  readonly #submit = element(
    "button",
    { type: "submit", class: "tgw-primary", "aria-describedby": this.#why.id },
    "Clone",
  );
  readonly #fields: HTMLElement;

  /** `change` is called after each change of a field. */
  constructor(preview: HTMLElement, change: () => void) {
    const name = element(
      "label",
      { class: "tgw-clone-into" },
      element("span", {}, "into"),
      this.into,
    );
    const line = element("div", { class: "tgw-clone-line" }, this.#submit, name);
    this.#fields = element(
      "div",
      { class: "tgw-clone-fields" },
      labeledField("Variables", this.#variables.select),
      this.switches.root,
      labeledField("Values", this.#init.select),
      this.#more.root,
    );
    this.root = element("form", { class: "tgw-clone" }, line, this.#why, this.#fields, preview);
    this.#init.select.addEventListener("change", () => this.#values.choose());
    this.#variables.select.addEventListener("change", () =>
      this.switches.set(this.#variables.value()),
    );
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
    this.#fields.hidden = this.into.disabled = why !== "";
    this.#init.select.disabled = !this.switches.modes.anyOwn;
    this.#why.textContent = this.#submit.title = why;
    this.#why.hidden = why === "";
    // A second click while the first is under way would be refused, and its refusal would hide the
    // success.
    disable(this.#submit, why !== "" || busy);
  }
}

/** Why the selection cannot be cloned, or "". */
export function cannotClone(state: State | null): string {
  return state?.editable ?? "";
}

// Less common options: placeholders, new seeds, several copies, a device.

type Options = Pick<CloneForm, "placeholders" | "reseed" | "times" | "device">;

class MoreOptions {
  readonly #placeholders = element("input", { type: "checkbox", name: "placeholders" });
  readonly #reseed = element("input", { type: "checkbox", name: "reseed" });
  readonly #times = element("input", {
    ...TEXT,
    type: "number",
    name: "times",
    min: 1,
    max: 1000,
    placeholder: "1",
  });
  readonly #device = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: "device",
    placeholder: "/device:CPU:0",
    title: "If empty, each op keeps the device of its original",
  });
  readonly #summary = element("summary", { class: "tgw-fold" });
  readonly root = element(
    "details",
    { class: "tgw-details" },
    this.#summary,
    element(
      "div",
      { class: "tgw-inner" },
      checkboxField("New placeholders for inputs", this.#placeholders),
      checkboxField("New random seeds", this.#reseed),
      labeledField("Copies", this.#times),
      labeledField("Device", this.#device),
    ),
  );

  constructor() {
    this.root.addEventListener("input", () => this.#count());
    this.#count();
  }

  value(): Options {
    return {
      placeholders: this.#placeholders.checked,
      reseed: this.#reseed.checked,
      times: parseCopies(this.#times.value),
      device: this.#device.value.trim(),
    };
  }

  #count(): void {
    this.#summary.textContent = optionsText(this.value());
  }
}

/** One copy needs no number after its name. */
export function parseCopies(text: string): number | null {
  const count = Number.parseInt(text, 10);
  return count > 1 ? count : null;
}

/** The summary shows the options that are set, also while they are folded. */
export function optionsText({ placeholders, reseed, times, device }: Options): string {
  const set = [
    placeholders ? "placeholders" : "",
    reseed ? "new seeds" : "",
    times === null ? "" : `${times} copies`,
    device,
  ].filter(Boolean);
  return set.length > 0 ? `More: ${set.join(", ")}` : "More options";
}

// A switch for each variable, table or queue: the copy gets its own, or shares the original's.

type Mode = CloneRequest["variables"];
/** From so many on there is a field to find one. */
const SEARCHED = 12;
const SHOWN = 200;

/** What holds for all, and for which the opposite holds. */
export class StateModes {
  all: Mode = "own";
  #others = new Set<string>();
  #names: readonly string[] = [];

  /** The same for all. */
  set(all: Mode): void {
    this.all = all;
    this.#others.clear();
  }

  /** Set the names in the part; choices for other names are discarded. */
  show(names: readonly string[]): void {
    this.#names = names;
    const present = new Set(names);
    this.#others = new Set([...this.#others].filter((name) => present.has(name)));
  }

  toggle(name: string): void {
    if (!this.#others.delete(name)) this.#others.add(name);
  }

  of(name: string): Mode {
    return this.#others.has(name) === (this.all === "own") ? "shared" : "own";
  }

  get others(): string[] {
    return [...this.#others].sort();
  }

  /** Whether the copy gets something of its own, as far as is known. */
  get anyOwn(): boolean {
    return this.all === "own"
      ? this.#others.size < Math.max(this.#names.length, 1)
      : this.#others.size > 0;
  }

  text(): string {
    const total = this.#names.length;
    if (this.#others.size === 0) return `Choose for each of ${total.toLocaleString("en")}`;
    const own = this.all === "own" ? total - this.#others.size : this.#others.size;
    return `${own.toLocaleString("en")} own, ${(total - own).toLocaleString("en")} shared`;
  }
}

class StateSwitches {
  readonly modes = new StateModes();
  readonly #summary = element("summary", { class: "tgw-fold" });
  readonly #search = element("input", {
    ...TEXT,
    type: "search",
    placeholder: "Find a name or a type",
    "aria-label": "Find a variable",
  });
  readonly #list = element("ul", { class: "tgw-switches" });
  readonly root = element(
    "details",
    { class: "tgw-details", hidden: true },
    this.#summary,
    element("div", { class: "tgw-inner" }, this.#search, this.#list),
  );
  #states: readonly PartState[] = [];
  #total = 0;

  constructor() {
    this.#search.addEventListener("input", (event) => {
      event.stopPropagation(); // it is not a field of the form
      this.#fill();
    });
    this.#search.addEventListener(
      "keydown",
      (event) => event.key === "Enter" && event.preventDefault(),
    );
  }

  /** The same for all. */
  set(all: Mode): void {
    this.modes.set(all);
    this.#fill();
  }

  /** What the part holds; a refusal does not tell. */
  show({ refusal, states, states_total }: ClonePreview): void {
    if (refusal) return;
    const same =
      states.length === this.#states.length &&
      states.every((one, i) => one.name === this.#states[i]?.name);
    if (same && this.#total === states_total) return;
    this.#states = states;
    this.#total = states_total;
    this.modes.show(states.map(({ name }) => name));
    this.root.hidden = states.length === 0;
    this.#search.hidden = states.length <= SEARCHED;
    this.#fill();
  }

  #fill(): void {
    const found = filterStates(this.#states, this.#search.hidden ? "" : this.#search.value);
    this.#list.replaceChildren(...found.slice(0, SHOWN).map((state) => this.#entry(state)));
    const left = found.length - SHOWN + (this.#total - this.#states.length);
    if (found.length > SHOWN) this.#list.append(moreEntry(left));
    if (found.length === 0) this.#list.append(element("li", { class: "tgw-none" }, "No matches"));
    this.#summary.textContent = this.modes.text();
  }

  #entry({ name, kind, dtype, shape }: PartState): HTMLElement {
    const box = element("input", {
      type: "checkbox",
      role: "switch",
      "data-name": name,
      "aria-label": `own ${name}`,
    });
    const word = element("span", { class: "tgw-mode-word" });
    const say = () => {
      const mode = this.modes.of(name);
      box.checked = mode === "own";
      word.textContent = mode;
    };
    box.addEventListener("change", () => {
      this.modes.toggle(name);
      say();
      this.#summary.textContent = this.modes.text();
    });
    say();
    const about =
      kind === "variable" ? withDrawnShapes([dtype, shape].filter(Boolean).join(" ")) : kind;
    const text = element(
      "span",
      { class: "tgw-switch-name" },
      breakableName(name),
      element("span", { class: "tgw-dtype" }, about),
    );
    return element(
      "li",
      {},
      element("label", { class: "tgw-switch", title: name }, text, word, box),
    );
  }
}

/** Those with the text in their name or kind. */
export function filterStates(states: readonly PartState[], text: string): readonly PartState[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return states;
  return states.filter(({ name, kind, dtype }) =>
    `${name} ${kind} ${dtype}`.toLowerCase().includes(wanted),
  );
}
