// A switch for each variable, table or queue in the part: does the copy get its own, or share the original's?
import { breakable, element } from "../dom";
import type { CloneRequest, Held, Previewed } from "../protocol";
import { TEXT } from "./choice";
import { more } from "./more";

type Mode = CloneRequest["variables"];
/** From so many on there is a field to find one. */
const SEARCHED = 12;
const SHOWN = 200;

/** What holds for all, and for which the opposite holds. */
export class Modes {
  all: Mode = "own";
  #others = new Set<string>();
  #names: readonly string[] = [];

  /** The same for all. */
  set(all: Mode): void {
    this.all = all;
    this.#others.clear();
  }

  /** The part holds these; what is not in it any more is forgotten. */
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
    return this.all === "own" ? this.#others.size < Math.max(this.#names.length, 1) : this.#others.size > 0;
  }

  text(): string {
    const total = this.#names.length;
    if (this.#others.size === 0) return `Choose for each of ${total.toLocaleString("en")}`;
    const own = this.all === "own" ? total - this.#others.size : this.#others.size;
    return `${own.toLocaleString("en")} own, ${(total - own).toLocaleString("en")} shared`;
  }
}

export class Switches {
  readonly modes = new Modes();
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
  #held: readonly Held[] = [];
  #total = 0;

  constructor() {
    this.#search.addEventListener("input", (event) => {
      event.stopPropagation(); // it is no field of the form
      this.#fill();
    });
    this.#search.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
  }

  /** The same for all. */
  set(all: Mode): void {
    this.modes.set(all);
    this.#fill();
  }

  /** What the part holds; a refusal does not tell. */
  show({ refusal, held, held_total }: Previewed): void {
    if (refusal) return;
    const same =
      held.length === this.#held.length && held.every((one, i) => one.name === this.#held[i]?.name);
    if (same && this.#total === held_total) return;
    this.#held = held;
    this.#total = held_total;
    this.modes.show(held.map(({ name }) => name));
    this.root.hidden = held.length === 0;
    this.#search.hidden = held.length <= SEARCHED;
    this.#fill();
  }

  #fill(): void {
    const found = matching(this.#held, this.#search.hidden ? "" : this.#search.value);
    this.#list.replaceChildren(...found.slice(0, SHOWN).map((held) => this.#entry(held)));
    const left = found.length - SHOWN + (this.#total - this.#held.length);
    if (found.length > SHOWN) this.#list.append(more(left));
    if (found.length === 0) this.#list.append(element("li", { class: "tgw-none" }, "None has this in it."));
    this.#summary.textContent = this.modes.text();
  }

  #entry({ name, kind, dtype, shape }: Held): HTMLElement {
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
    const about = kind === "variable" ? [dtype, shape].filter(Boolean).join(" ") : kind;
    const text = element(
      "span",
      { class: "tgw-switch-name" },
      breakable(name),
      element("span", { class: "tgw-dtype" }, about),
    );
    return element("li", {}, element("label", { class: "tgw-switch", title: name }, text, word, box));
  }
}

/** Those with the text in their name or kind. */
export function matching(held: readonly Held[], text: string): readonly Held[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return held;
  return held.filter(({ name, kind, dtype }) => `${name} ${kind} ${dtype}`.toLowerCase().includes(wanted));
}
