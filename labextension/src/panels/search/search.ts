// The search field: a combobox with the hits, grouped by scope. Enter steps through them and keeps
// the focus here.
import { canEdit, type Parts } from "../../interaction/parts";
import { goToHit, loadMore, stepHit, useAllHits } from "../../interaction/search-steps";
import type { PatternMatches } from "../../protocol/messages";
import {
  canHaveMore,
  FIRST,
  firstLimit,
  MOST,
  placeText,
  totalText,
  typedScope,
} from "../../state/search-results";
import { Combobox } from "../controls/combobox";
import { replaceSearched } from "../controls/edit-commands";
import { commandForm } from "../controls/edit-form";
import { FormSlot } from "../controls/form-slot";
import { breakableName, button, element, hasFocus, ICONS, icon, uniqueId } from "../dom";
import { createHitList, type HitList } from "./hit-list";
import { createQueryHelp, type QueryHelp } from "./query-help";

/** Milliseconds without a key before a search is sent. */
const PAUSE = 120;

const SEARCH_FIELD = {
  class: "tgw-search-input",
  type: "search",
  placeholder: "Find ops (/)",
  title: "Find ops by name, or by type:Conv2D (/)",
  "aria-label": "Find ops",
};

export function createSearch(parts: Parts): HTMLElement {
  return new Search(parts).root;
}

class Search {
  readonly root: HTMLElement;
  readonly #parts: Parts;
  readonly #field: Combobox;
  readonly #popup: HTMLElement;
  readonly #syntax: QueryHelp;
  readonly #hits: HitList;
  readonly #regex = regexSwitch(() => {
    this.#field.input.focus();
    void this.#search();
  });
  #timer = 0;

  constructor(parts: Parts) {
    const id = uniqueId();
    this.#parts = parts;
    this.#hits = createHitList(
      id,
      (place) => this.#go(place),
      (scope) => this.#goToScope(scope),
    );
    this.#field = new Combobox(SEARCH_FIELD, this.#hits.list);
    this.#syntax = createQueryHelp(`${id}-syntax`, (text) => this.#ask(text));
    this.#popup = element(
      "div",
      { class: "tgw-popup", hidden: true },
      this.#syntax.root,
      this.#hits.list,
      foot(
        parts,
        () => this.#expand(false),
        () => this.#focusDrawing(),
      ),
    );
    this.root = element(
      "div",
      { class: "tgw-search", role: "search" },
      icon(ICONS.search, "tgw-search-icon"),
      this.#field.input,
      stepper(parts),
      this.#regex,
      this.#syntax.opener,
      this.#popup,
    );
    this.#listen();
    parts.store.watch(["found"], () => this.#render());
    parts.store.watch(["hit"], () => this.#field.reset(this.#next()));
    // A query that was not typed: what is like an item of the drawing.
    parts.store.watch(["query"], ({ query }) => {
      if (query === this.#query) return;
      this.#regex.setAttribute("aria-pressed", "false");
      this.#field.input.value = query;
      // A pattern made of ops is there to be changed, and to be stepped through.
      if (query.startsWith("pattern:")) this.#field.input.focus();
    });
    parts.store.watch(["found", "scene"], ({ found }) => {
      if (found || parts.store.value.hitCounts.length > 0) void parts.actions.countHits();
    });
    let graph = "";
    parts.store.watch(["state"], ({ state }) => {
      const { found, query } = parts.store.value;
      // After an edit there may be others, or as many with other names.
      const now = `${state?.ops} ${state?.code}`;
      if (found && now !== graph)
        void parts.actions.search(query, found.hits.length > FIRST ? MOST : FIRST);
      graph = now;
    });
  }

  #listen(): void {
    const { root } = this;
    this.#field.input.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#search(), PAUSE);
    });
    this.#field.input.addEventListener("click", () => this.#expand(true));
    this.#field.input.addEventListener("keydown", (event) => this.#press(event));
    this.#syntax.opener.addEventListener("click", () => {
      this.#syntax.show(!this.#syntax.isShown());
      this.#field.input.focus();
      this.#expand(true);
    });
    // Clicks here keep the focus in the field.
    this.#popup.addEventListener("mousedown", (event) => {
      if (!(event.target instanceof Element && event.target.closest("form")))
        event.preventDefault();
    });
    const { list } = this.#hits;
    list.addEventListener("scroll", () => {
      const left = list.scrollHeight - list.clientHeight - list.scrollTop;
      if (left < 40 && canHaveMore(this.#parts.store.value.found)) void loadMore(this.#parts);
    });
    root.addEventListener("focusout", ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node && root.contains(relatedTarget))) this.#expand(false);
    });
  }

  #press(event: KeyboardEvent): void {
    const back = event.shiftKey ? -1 : 1;
    if (event.altKey && event.code === "KeyR") {
      this.#regex.click();
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    const act = {
      ArrowDown: () => this.#arrow(1),
      ArrowUp: () => this.#arrow(-1),
      Enter: () => void this.#enter(back),
      F3: () => void this.#step(back),
      Escape: () => this.#leave(),
    }[event.key];
    if (!act) return;
    act();
    event.preventDefault();
    event.stopPropagation();
  }

  #search(): Promise<void> {
    clearTimeout(this.#timer);
    return this.#parts.actions.search(this.#query, firstLimit(this.#query));
  }

  /** What is typed, as a query: with the switch on, one regular expression. */
  get #query(): string {
    return this.#regex.getAttribute("aria-pressed") === "true"
      ? regexQuery(this.#field.input.value)
      : this.#field.input.value;
  }

  #ask(text: string): void {
    this.#regex.setAttribute("aria-pressed", "false");
    this.#field.input.value = text;
    this.#field.input.focus();
    void this.#search();
  }

  #arrow(by: 1 | -1): void {
    this.#expand(true);
    this.#field.move(by);
  }

  async #enter(by: 1 | -1): Promise<void> {
    await this.#searchTyped();
    const scope = by > 0 && !this.#field.taken() ? this.#typedScope() : "";
    if (scope === "") return this.#step(by);
    this.#goToScope(`${scope}/`);
    this.#focusDrawing();
  }

  /** The name scope that was typed in full and to which Enter goes before the first hit, or "". */
  #typedScope(): string {
    const { found, hit } = this.#parts.store.value;
    return hit < 0 ? typedScope(found, this.#query) : "";
  }

  /** The option to which Enter goes. */
  #next(): Element | undefined {
    const scope = this.#typedScope();
    return scope
      ? this.#hits.scopeOption(scope)
      : this.#hits.hitOption(Math.max(this.#parts.store.value.hit, 0));
  }

  /** Enter directly after typing refers to the typed query. */
  async #searchTyped(): Promise<void> {
    if (this.#query !== this.#parts.store.value.query) await this.#search();
  }

  async #step(by: 1 | -1): Promise<void> {
    await this.#searchTyped();
    const chosen = this.#field.taken();
    if (chosen) return this.#hits.choose(chosen);
    const { store } = this.#parts;
    if (store.value.hitNames.length > 0) this.#expand(false);
    await stepHit(this.#parts, by);
    // A name that was typed in full is the one that is meant: the keys of the drawing are for it
    // now.
    const { hit, hitNames } = store.value;
    if (hitNames[hit] === this.#query.trim()) this.#focusDrawing();
  }

  /** Close the list and go to the hit. */
  #go(place: number): void {
    this.#expand(false);
    void goToHit(this.#parts, place);
  }

  /** Close the list and go to a name scope, whose name ends in a slash. */
  #goToScope(key: string): void {
    this.#expand(false);
    this.#field.reset(this.#next());
    void this.#parts.actions.reveal(key);
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#field.input.value = "";
    this.#syntax.show(false);
    this.#expand(false);
    void this.#parts.actions.search("");
    this.#focusDrawing();
  }

  /** Back to the drawing, so that its keys work at once. */
  #focusDrawing(): void {
    this.#field.input.closest<HTMLElement>(".tfgraphwidget")?.focus({ preventScroll: true });
  }

  /** Open the popup if it has content, or close it. */
  #expand(open: boolean): void {
    const { found } = this.#parts.store.value;
    this.#popup.hidden = !open || (found === null && !this.#syntax.isShown());
    if (this.#popup.hidden) this.#syntax.show(false);
    this.#field.expand(!this.#popup.hidden && found !== null);
    this.root.setAttribute(
      "data-wide",
      String(!this.#popup.hidden && this.#query.startsWith("pattern:")),
    );
  }

  #render(): void {
    const { found, query } = this.#parts.store.value;
    const again = this.#hits.list.getAttribute("data-query") === query;
    this.#hits.render(found, query);
    if (!again) {
      this.#syntax.show(false);
      this.#expand(hasFocus(this.root));
    }
    this.#field.reset(this.#next());
  }
}

/** A query for what matches a regular expression; names have no spaces, which would end it. */
function regexQuery(text: string): string {
  const expression = text.trim();
  if (expression === "" || /^\/\S+\/$/.test(expression)) return expression;
  return `/${expression.replace(/\s/g, "\\s")}/`;
}

/** As in VS Code: `.*`, or Alt+R in the field. */
function regexSwitch(change: () => void): HTMLButtonElement {
  const title = "Use regular expression (Alt+R)";
  const control = button(
    {
      class: "tgw-tool tgw-toggle tgw-regex",
      title,
      "aria-label": "Use regular expression",
      "aria-pressed": "false",
    },
    () => {
      control.setAttribute("aria-pressed", String(control.getAttribute("aria-pressed") !== "true"));
      change();
    },
    ".*",
  );
  return control;
}

/** "3 of 37", and a button either way. */
function stepper(parts: Parts): HTMLElement {
  const place = element("span", { class: "tgw-hit-place", "aria-live": "polite" });
  const arrow = (title: string, by: 1 | -1, shape: string) =>
    button(
      { class: "tgw-tool", title, "aria-label": title },
      () => stepHit(parts, by),
      icon(shape),
    );
  const group = element(
    "div",
    { class: "tgw-stepper", role: "group", "aria-label": "Matches", hidden: true },
    place,
    arrow("Previous match (Shift+Enter, Shift+F3)", -1, "m4 10 4-4 4 4"),
    arrow("Next match (Enter, F3)", 1, "m4 6 4 4 4-4"),
  );
  parts.store.watch(["found", "hit", "hitNames"], (screen) => {
    group.hidden = screen.hitNames.length === 0;
    place.textContent = placeText(screen);
  });
  return group;
}

/**
 * The number of hits, and buttons that use all of them; `done` is called on a click, `replaced`
 * after an edit.
 */
function foot(parts: Parts, done: () => void, replaced: () => void): HTMLElement {
  const replace = replaceAll(parts, () => {
    done();
    replaced();
  });
  const total = element("div", { class: "tgw-hits-total", "aria-live": "polite" });
  const act = (text: string, title: string, use: "select" | "only" | "hide") =>
    button(
      { class: "tgw-button", title },
      () => {
        done();
        void useAllHits(parts, use);
      },
      text,
    );
  const buttons = element(
    "div",
    { class: "tgw-derive tgw-hits-buttons", role: "group", "aria-label": "All matches" },
    act("Select all matches", "Select all matches", "select"),
    act("Show only these", "Hide everything else", "only"),
    act("Hide these", "Hide all matches", "hide"),
    replace.opener,
  );
  const notes = element("ul", { class: "tgw-hits-notes", "aria-label": "About the matches" });
  parts.store.watch(["found"], ({ found }) => {
    total.textContent = totalText(found);
    total.setAttribute("data-wrong", String(found !== null && found.why !== ""));
    // The caret of a pattern that cannot be read stands below its place.
    total.setAttribute("data-caret", String(Boolean(found?.excerpt)));
    total.hidden = found === null;
    buttons.hidden = !found || found.total === 0;
    notes.replaceChildren(...(found?.matches ? matchNotes(found.matches, parts) : []));
  });
  return element("div", { class: "tgw-hits-foot" }, total, notes, buttons, replace.slot);
}

/** Why matches cannot be replaced, and what almost matches. */
function matchNotes({ reasons, near }: PatternMatches, { actions }: Parts): HTMLElement[] {
  const go = (op: string) =>
    button(
      { class: "tgw-link", title: `Go to ${op}` },
      () => actions.reveal(op),
      breakableName(op),
    );
  return [
    ...reasons.map((reason) => element("li", {}, "Not replaceable: ", reason)),
    ...near.map(({ op, difference }) => element("li", {}, "Almost: ", go(op), " – ", difference)),
  ];
}

/** The button that opens the form for all matches of a pattern, and the place of the form. */
function replaceAll(parts: Parts, done: () => void): { opener: HTMLElement; slot: HTMLElement } {
  const slot = new FormSlot(parts);
  const close = (isDone: boolean) => {
    if (isDone) done();
    if (hasFocus(slot.root)) slot.root.closest(".tgw-search")?.querySelector("input")?.focus();
    slot.close();
  };
  const opener = slot.opener(
    { class: "tgw-button", title: "Replace all matches of the pattern" },
    () => commandForm(replaceSearched(parts), parts, close),
    "Replace all …",
  );
  parts.store.watch(["found"], ({ found }) => {
    opener.hidden = !canEdit(parts) || !found?.matches || found.total === 0;
    if (opener.hidden && slot.isOpen) close(false);
  });
  slot.root.classList.add("tgw-replace-all");
  return { opener, slot: slot.root };
}
