// A combobox: a text field that keeps the focus, and a list of options below it through which the
// arrow keys move.
import { type Attributes, element, setAttributes, uniqueId } from "../dom";
import { TEXT } from "./form-fields";

export class Combobox {
  readonly input: HTMLInputElement;
  readonly list: HTMLElement;
  #option: Element | undefined;
  #isMoved = false;

  /** A field above a listbox, which has an id. */
  constructor(attributes: Attributes, list: HTMLElement) {
    this.list = list;
    this.input = element("input", {
      ...TEXT,
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": list.id,
      "aria-autocomplete": "list",
      ...attributes,
    });
  }

  get options(): Element[] {
    return [...this.list.querySelectorAll("[role=option]")];
  }

  /** Say whether the list is to be seen. */
  expand(isOpen: boolean): void {
    this.input.setAttribute("aria-expanded", String(isOpen));
  }

  /** Set the current option: that to which Enter goes. */
  reset(option?: Element): void {
    this.#isMoved = false;
    this.#show(option);
  }

  /** An arrow key: to the next option, or back. */
  move(by: 1 | -1): void {
    const { options } = this;
    if (options.length === 0) return;
    const at = this.#option ? options.indexOf(this.#option) : -1;
    this.#show(options[(at + by + options.length) % options.length]);
    this.#isMoved = true;
  }

  /** The option that was chosen with the arrow keys and not gone to yet, or null. */
  taken(): Element | null {
    return (this.#isMoved && this.#option) || null;
  }

  #show(active: Element | undefined): void {
    this.#option = active;
    for (const option of this.options)
      option.setAttribute("aria-selected", String(option === active));
    active?.scrollIntoView({ block: "nearest" });
    setAttributes(this.input, { "aria-activedescendant": active?.id });
  }
}

/** The browser's own combobox: words that a field proposes while one types. */
export function suggest(
  input: HTMLInputElement,
  words: readonly string[] = [],
): HTMLDataListElement {
  const list = element(
    "datalist",
    { id: uniqueId() },
    ...words.map((value) => element("option", { value })),
  );
  input.setAttribute("list", list.id);
  return list;
}
