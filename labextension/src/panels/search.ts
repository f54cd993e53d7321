// Search: a combobox whose list holds the ops found; choosing one flies there.
import { button, element, ICONS, icon, uniqueId } from "../dom";
import type { Hit } from "../protocol";
import type { Screen } from "../store";
import type { Parts } from "./parts";

/** Milliseconds without a key before a search is sent. */
const PAUSE = 120;

export function createSearch({ store, actions }: Parts): HTMLElement {
  const id = uniqueId();
  const input = searchField(id);
  const list = element("ul", { class: "tgw-hits", id, role: "listbox", "aria-label": "Ops found" });
  const total = element("div", { class: "tgw-hits-total", "aria-live": "polite" });
  const popup = element("div", { class: "tgw-popup", hidden: true }, list, total);
  const choice = new Choice(input, list);

  const close = () => void actions.search("");
  const clear = () => {
    input.value = "";
    close();
  };
  const choose = (name: string) => {
    clear();
    // Back to the drawing, so that its keys work at once.
    input.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
    void actions.reveal(name);
  };
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void actions.search(input.value), PAUSE);
  });
  listenToKeys(input, choice, choose, clear);
  const expand = (open: boolean) => {
    popup.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
  };
  input.addEventListener("blur", () => expand(false));
  input.addEventListener("focus", () => expand(store.value.found !== null));
  store.watch(["found"], ({ found, query }) => {
    expand(found !== null);
    list.replaceChildren(...(found?.hits ?? []).map((hit, i) => hitEntry(hit, query, `${id}-${i}`, choose)));
    total.textContent = totalText(found);
    choice.reset();
  });
  return element(
    "div",
    { class: "tgw-search", role: "search" },
    icon(ICONS.search, "tgw-search-icon"),
    input,
    popup,
  );
}

function searchField(listId: string): HTMLInputElement {
  return element("input", {
    class: "tgw-search-input",
    type: "search",
    placeholder: "Find ops by name or type  ( / )",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Find ops by name or type",
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-autocomplete": "list",
  });
}

function listenToKeys(
  input: HTMLInputElement,
  choice: Choice,
  choose: (name: string) => void,
  clear: () => void,
): void {
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choice.move(1);
    else if (event.key === "ArrowUp") choice.move(-1);
    else if (event.key === "Enter") choice.enter(choose);
    else if (event.key === "Escape" && input.value !== "") clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/** Which entry of the list the arrow keys have reached. */
class Choice {
  readonly #input: HTMLInputElement;
  readonly #list: HTMLElement;
  #at = -1;

  constructor(input: HTMLInputElement, list: HTMLElement) {
    this.#input = input;
    this.#list = list;
  }

  reset(): void {
    this.#at = this.#list.children.length > 0 ? 0 : -1;
    this.#show();
  }

  move(step: number): void {
    const count = this.#list.children.length;
    if (count > 0) this.#at = (this.#at + step + count) % count;
    this.#show();
  }

  enter(choose: (name: string) => void): void {
    const name = this.#list.children[this.#at]?.getAttribute("data-name");
    if (name) choose(name);
  }

  #show(): void {
    for (const [i, entry] of [...this.#list.children].entries())
      entry.setAttribute("aria-selected", String(i === this.#at));
    const chosen = this.#list.children[this.#at];
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) this.#input.setAttribute("aria-activedescendant", chosen.id);
    else this.#input.removeAttribute("aria-activedescendant");
  }
}

function hitEntry(hit: Hit, query: string, id: string, choose: (name: string) => void): HTMLElement {
  const entry = element(
    "li",
    { class: "tgw-hit", id, role: "option", "data-name": hit.name, title: hit.name },
    element("span", { class: "tgw-hit-name" }, ...highlighted(hit.name, query)),
    element("span", { class: "tgw-hit-type" }, ...highlighted(hit.type, query)),
  );
  // Before the field loses the focus and with it the list.
  entry.addEventListener("pointerdown", (event) => event.preventDefault());
  entry.addEventListener("click", () => choose(hit.name));
  return entry;
}

/** The text with the part that matches in bold. */
export function highlighted(text: string, query: string): (Node | string)[] {
  const start = text.toLowerCase().indexOf(query.trim().toLowerCase());
  const length = query.trim().length;
  if (start < 0 || length === 0) return [text];
  return [
    text.slice(0, start),
    element("b", {}, text.slice(start, start + length)),
    text.slice(start + length),
  ];
}

function totalText(found: Screen["found"]): string {
  if (!found) return "";
  if (found.total === 0) return "No op has this in its name or type.";
  const shown = found.hits.length < found.total ? `, the first ${found.hits.length} shown` : "";
  return `${found.total.toLocaleString("en")} found${shown}`;
}

/** A name that leads to its op. */
export function opLink(
  name: string,
  go: (name: string) => void,
  text: Node | string = name,
): HTMLButtonElement {
  return button({ class: "tgw-link", "data-name": name, title: `Go to ${name}` }, () => go(name), text);
}
