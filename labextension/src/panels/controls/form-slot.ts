// The place of a form in a panel, below the buttons that open it. One form is open at a time: all of
// them choose tensors on the same drawing, and show there what they would do.
import type { Store } from "../../state/store";
import { type Attributes, button, type Child, element, releaseFocus, scrollToShow } from "../dom";

const lastShown = new WeakMap<Store, FormSlot>();

export class FormSlot {
  readonly root = element("div", { class: "tgw-form-slot" });
  readonly #store: Store;
  readonly #openers: HTMLButtonElement[] = [];

  constructor({ store }: { readonly store: Store }) {
    this.#store = store;
  }

  get isOpen(): boolean {
    return this.root.childElementCount > 0;
  }

  /** A button that opens a form here, and closes it again. */
  opener(
    attributes: Attributes,
    form: () => HTMLFormElement,
    ...children: Child[]
  ): HTMLButtonElement {
    const opener = button(
      { ...attributes, "aria-expanded": "false" },
      () => {
        const isOpen = opener.getAttribute("aria-expanded") === "true";
        this.close();
        if (isOpen) return;
        opener.setAttribute("aria-expanded", "true");
        this.show(form());
      },
      ...children,
    );
    this.#openers.push(opener);
    return opener;
  }

  show(form: HTMLFormElement): void {
    const last = lastShown.get(this.#store);
    if (last !== this && last?.isOpen) last.close();
    lastShown.set(this.#store, this);
    showForm(this.root, form);
  }

  readonly close = (): void => {
    releaseFocus(this.root);
    this.root.replaceChildren();
    for (const opener of this.#openers) opener.setAttribute("aria-expanded", "false");
    this.#store.set({ picking: null, edited: [] });
  };
}

/** Put a form there, with the cursor in its first text: Enter applies, Escape closes. */
export function showForm(place: HTMLElement, form: HTMLFormElement): void {
  place.replaceChildren(form);
  const first = [...form.querySelectorAll("input")].find((input) => input.checkVisibility());
  first?.focus();
  first?.select();
  if (!first) form.querySelector<HTMLElement>("select, button")?.focus();
  scrollToShow(place);
}
