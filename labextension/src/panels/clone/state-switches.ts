// A switch for each variable, table or queue of the part that is cloned: the copy gets its own, or
// shares the original's.
import type { ClonePreview, CloneRequest, PartState } from "../../protocol/messages";
import type { Store } from "../../state/store";
import { type Control, TEXT } from "../controls/form-fields";
import { moreEntry } from "../controls/name-list";
import { breakableName, element } from "../dom";
import { withDrawnShapes } from "../shape-text";

/** The names for which the opposite holds of the choice before it. */
export function createStateSwitches(store: Store): Control {
  const switches = new StateSwitches();
  store.watch(["preview"], ({ preview }) => preview && switches.show(preview));
  return {
    input: switches.root,
    value: () => JSON.stringify(switches.modes.others),
    fill: () => undefined,
    follow: (word) => switches.set(word === "shared" ? "shared" : "own"),
  };
}

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
    if (all === this.modes.all) return;
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
