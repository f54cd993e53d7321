// The list of search hits, grouped by scope.
import type { Hit, SearchReply } from "../../protocol/messages";
import { scopesOf } from "../../state/search-results";
import { breakableName, element } from "../dom";

export interface HitList {
  readonly list: HTMLElement;
  render(found: SearchReply | null, query: string): void;
}

/** `go` is called with the place of the hit that was clicked, `goToScope` with the name of the scope and a slash. */
export function createHitList(
  id: string,
  go: (place: number) => void,
  goToScope: (key: string) => void,
): HitList {
  const list = element("div", { class: "tgw-hits", id, role: "listbox", "aria-label": "Ops found" });
  list.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element)) return;
    const entry = target.closest(".tgw-hit");
    if (entry) go(optionsOf(list).indexOf(entry));
    const scope = target.closest(".tgw-hit-scope")?.getAttribute("data-name");
    if (scope) goToScope(`${scope}/`); // not the op of its name, as of a variable
  });
  const render = (found: SearchReply | null, query: string) => {
    const again = list.getAttribute("data-query") === query;
    const { scrollTop } = list;
    let place = 0;
    const groups = scopesOf(found?.hits ?? []).map(({ name, hits }) => {
      const entries = hits.map((hit) => entryOf(hit, query, `${id}-${place++}`));
      const shown = name || "top level";
      const heading = element(
        "div",
        {
          class: "tgw-hit-scope",
          title: name ? `Go to ${name}/` : shown,
          "data-name": name,
          "aria-hidden": "true",
        },
        name ? breakableName(name) : shown,
      );
      return element("div", { role: "group", "aria-label": shown }, heading, ...entries);
    });
    list.replaceChildren(...groups);
    list.setAttribute("data-query", query);
    list.hidden = groups.length === 0;
    list.scrollTop = again ? scrollTop : 0;
  };
  return { list, render };
}

function optionsOf(list: HTMLElement): Element[] {
  return [...list.querySelectorAll(".tgw-hit")];
}

function entryOf({ name, type }: Hit, query: string, id: string): HTMLElement {
  const own = name.slice(name.lastIndexOf("/") + 1);
  return element(
    "div",
    { class: "tgw-hit", id, role: "option", "data-name": name, title: name },
    element("span", { class: "tgw-hit-name" }, ...highlight(own, wordsOf(query, "name"))),
    element("span", { class: "tgw-hit-type" }, ...highlight(type, wordsOf(query, "type"))),
  );
}

/** The texts that a query looks for in names, or in types: its words, and the values of that key. */
export function wordsOf(query: string, key: "name" | "type"): string[] {
  const terms = query.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return terms
    .filter((term) => !/^-./.test(term) && !/^\/.*\/$/.test(term))
    .map((term) =>
      (term.toLowerCase().startsWith(`${key}:`) ? term.slice(5) : term).replace(/^(["'])(.*)\1$/, "$2"),
    )
    .flatMap((term) => (/^[a-z_]+:/i.test(term) ? [] : term.split("*")))
    .map((word) => word.slice(word.lastIndexOf("/") + 1))
    .filter((word) => word !== "");
}

/** The text with the first place of each word in bold. */
export function highlight(text: string, words: readonly string[]): (Node | string)[] {
  return boldParts(text, words).map(({ bold, part }) => (bold ? element("b", {}, part) : part));
}

export function boldParts(text: string, words: readonly string[]): { part: string; bold: boolean }[] {
  const low = text.toLowerCase();
  // A letter may be longer in small: then nothing is bold rather than the wrong letters.
  let marks = "-".repeat(text.length);
  for (const word of low.length === text.length ? words : []) {
    const start = low.indexOf(word.toLowerCase());
    const end = start + word.length;
    if (start >= 0) marks = marks.slice(0, start) + "b".repeat(word.length) + marks.slice(end);
  }
  return [...marks.matchAll(/-+|b+/g)].map(({ 0: run, index }) => ({
    part: text.slice(index, index + run.length),
    bold: run >= "b",
  }));
}

/** Which entry of the list the arrow keys have reached. */
export class ActiveHit {
  readonly #input: HTMLInputElement;
  readonly #list: HTMLElement;
  #at = -1;
  #moved = false;

  constructor(input: HTMLInputElement, list: HTMLElement) {
    this.#input = input;
    this.#list = list;
  }

  /** Set the current hit; with -1 the first one is next. */
  reset(place: number): void {
    this.#moved = false;
    this.#show(place);
  }

  move(by: number): void {
    const count = optionsOf(this.#list).length;
    if (count === 0) return;
    this.#show((this.#at + by + count) % count);
    this.#moved = true;
  }

  /** The entry that was chosen with the arrow keys and not gone to yet, or -1. */
  taken(): number {
    return this.#moved ? this.#at : -1;
  }

  #show(place: number): void {
    const options = optionsOf(this.#list);
    this.#at = options.length > 0 ? Math.max(place, 0) : -1;
    for (const [i, entry] of options.entries()) entry.setAttribute("aria-selected", String(i === this.#at));
    const chosen = options[this.#at];
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) this.#input.setAttribute("aria-activedescendant", chosen.id);
    else this.#input.removeAttribute("aria-activedescendant");
  }
}
