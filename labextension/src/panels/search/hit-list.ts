// The list of search hits, grouped by scope.
import type { Hit, ScopeHit, SearchReply } from "../../protocol/messages";
import { scopesOf } from "../../state/search-results";
import { opsText } from "../controls/legend";
import { breakableName, element } from "../dom";

export interface HitList {
  readonly list: HTMLElement;
  render(found: SearchReply | null, query: string): void;
  /** The option of a name scope. */
  scopeOption(name: string): Element | undefined;
  /** The option of the hit at a place. */
  hitOption(place: number): Element | undefined;
  /** Go to what an option represents. */
  choose(option: Element): void;
}

/**
 * `go` is called with the place of the hit that was chosen, `goToScope` with the name of the scope
 * and a slash.
 */
export function createHitList(
  id: string,
  go: (place: number) => void,
  goToScope: (key: string) => void,
): HitList {
  const list = element("div", {
    class: "tgw-hits",
    id,
    role: "listbox",
    "aria-label": "Name scopes and ops found",
  });
  const hitOptions = () => [...list.querySelectorAll(".tgw-hit")];
  const choose = (option: Element) => {
    const scope = option.getAttribute("data-scope");
    if (scope)
      goToScope(`${scope}/`); // not the op of its name, as of a variable
    else go(hitOptions().indexOf(option));
  };
  list.addEventListener("click", ({ target }) => {
    const chosen = target instanceof Element && target.closest(".tgw-hit, [data-scope]");
    if (chosen) choose(chosen);
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
          "data-scope": name || undefined,
          "aria-hidden": "true",
        },
        name ? breakableName(name) : shown,
      );
      return element("div", { role: "group", "aria-label": shown }, heading, ...entries);
    });
    const scopes = (found?.name_scopes ?? []).map((scope, k) =>
      scopeEntryOf(scope, query, `${id}-scope-${k}`),
    );
    if (scopes.length > 0)
      groups.unshift(element("div", { role: "group", "aria-label": "Name scopes" }, ...scopes));
    list.replaceChildren(...groups);
    list.setAttribute("data-query", query);
    list.hidden = groups.length === 0;
    list.scrollTop = again ? scrollTop : 0;
  };
  const scopeOption = (name: string) =>
    [...list.querySelectorAll("[role=option]")].find(
      (option) => option.getAttribute("data-scope") === name,
    );
  return { list, render, scopeOption, hitOption: (place) => hitOptions()[place], choose };
}

function scopeEntryOf({ name, ops }: ScopeHit, query: string, id: string): HTMLElement {
  const own = name.slice(name.lastIndexOf("/") + 1);
  return element(
    "div",
    { class: "tgw-scope-hit", id, role: "option", "data-scope": name, title: `Go to ${name}/` },
    element(
      "span",
      { class: "tgw-hit-name" },
      breakableName(name.slice(0, name.length - own.length)),
      ...highlight(own, wordsOf(query, "name")),
      "/",
    ),
    element("span", { class: "tgw-hit-type" }, opsText(ops)),
  );
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

/**
 * The texts that a query looks for in names, or in types: its words, and the values of that key.
 */
export function wordsOf(query: string, key: "name" | "type"): string[] {
  const terms = query.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return terms
    .filter((term) => !/^-./.test(term) && !/^\/.*\/$/.test(term))
    .map((term) =>
      (term.toLowerCase().startsWith(`${key}:`) ? term.slice(5) : term).replace(
        /^(["'])(.*)\1$/,
        "$2",
      ),
    )
    .flatMap((term) => (/^[a-z_]+:/i.test(term) ? [] : term.split("*")))
    .map((word) => word.slice(word.lastIndexOf("/") + 1))
    .filter((word) => word !== "");
}

/** The text with the first place of each word in bold. */
function highlight(text: string, words: readonly string[]): (Node | string)[] {
  return boldParts(text, words).map(({ bold, part }) => (bold ? element("b", {}, part) : part));
}

export function boldParts(
  text: string,
  words: readonly string[],
): { part: string; bold: boolean }[] {
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
