// The preview of a clone: requests it while the form changes, and shows it in words with links to
// the ops.
import type { Actions, CloneForm } from "../../interaction/actions";
import type { Parts } from "../../interaction/parts";
import type { ClonePreview, Group } from "../../protocol/messages";
import type { Screen, Store } from "../../state/store";
import { copyTools } from "../controls/copy-button";
import { moreEntry, opLink } from "../controls/name-list";
import { breakableName, button, element, releaseFocus } from "../dom";

/**
 * A line of the preview, and the names below it. `kind` is a class, which distinguishes it from
 * other lines.
 */
export interface Fact {
  readonly kind: string;
  readonly text: string;
  readonly groups: readonly Group[];
}

/** So many sentences about what is not copied are read; more are counted. */
const SENTENCES = 3;
/** So many names are seen without opening a line. */
const SAMPLE = 3;

const number = (count: number) => count.toLocaleString("en");

/** "1 hash table", "2 maps of sparse tensors" */
export function plural(count: number, noun: string): string {
  return `${number(count)} ${count === 1 ? noun : noun.replace(/^(.*?)( of .*)?$/, "$1s$2")}`;
}

/** "Copies 68 ops into copy" */
export function headline({ ops, scopes }: ClonePreview): string {
  const [first = "", ...others] = scopes;
  const last = others.at(-1);
  if (last === undefined) return `Copies ${plural(ops, "op")} into ${first}`;
  return `Copies ${plural(ops, "op")} ${number(scopes.length)} times, into ${first} to ${last}`;
}

/** Why a clone has more ops than the selection; "" if it has not. */
function surplusText({ ops, scopes }: ClonePreview, selected: number): string {
  const each = ops / Math.max(scopes.length, 1);
  if (selected === 0 || each <= selected) return "";
  const others = number(each - selected);
  return ` ${plural(selected, "op")} selected; the other ${others} set their variables and state.`;
}

export function factsOf({ scopes, new: made, shared, outside, stateful }: ClonePreview): Fact[] {
  const own = ({ kind, total }: Group) =>
    scopes.length > 1
      ? `${plural(total, `own ${kind}`)} in each copy`
      : `${plural(total, `own ${kind}`)}`;
  const fact = (kind: string, text: string, group: Group): Fact => ({
    kind,
    text,
    groups: [group],
  });
  return [
    ...made.map((group) => fact("tgw-own", own(group), group)),
    ...shared.map((group) =>
      fact("tgw-shared", `${plural(group.total, group.kind)} still shared`, group),
    ),
    ...outside.map((group) =>
      fact(OUTSIDE[group.kind] ?? "tgw-outside", outsideText(group), group),
    ),
    ...effects(stateful),
  ];
}

const OUTSIDE: Record<string, string> = {
  tensor: "tgw-outside",
  "control input": "tgw-waits",
  placeholder: "tgw-placeholders",
};

function outsideText({ kind, total }: Group): string {
  if (kind === "placeholder") return `${plural(total, "new placeholder")} for inputs`;
  if (kind === "control input") return `waits for ${plural(total, "op")} outside`;
  return `${plural(total, kind)} from outside`;
}

/** The ops that do something, counted by type. */
function effects(groups: readonly Group[]): Fact[] {
  if (groups.length === 0) return [];
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const types = groups.map((group) => `${number(group.total)} ${group.kind}`).join(", ");
  return [
    { kind: "tgw-effects", text: `${plural(total, "op")} with side effects: ${types}`, groups },
  ];
}

export function createClonePreview({ store, actions }: Parts): HTMLElement {
  // It exists from the start: screen readers announce changes only of existing regions. The rest is
  // not announced.
  const headlineElement = element("p", { role: "status" });
  const rest = element("div", { class: "tgw-facts-list" });
  const root = element(
    "div",
    { class: "tgw-preview", role: "group", "aria-label": "Preview of the clone", hidden: true },
    headlineElement,
    rest,
  );
  const open = new Set<string>();
  const go = (name: string) => void actions.reveal(name);
  const takeWhole = () => void actions.derive("whole");
  let shown = "";
  store.watch(["preview", "previewing"], ({ preview, previewing }) => {
    root.setAttribute("aria-busy", String(previewing));
    const text = JSON.stringify({ ...preview, states: [], id: 0, buffer: 0 });
    // An equal preview does not replace the elements, so that a user who reads them is not
    // disturbed.
    if (text === shown) return;
    shown = text;
    root.hidden = preview === null;
    if (!preview) return;
    releaseFocus(rest);
    headlineElement.className = preview.refusal ? "tgw-refusal" : "tgw-count";
    const surplus = surplusText(preview, store.value.state?.selected_ops ?? 0);
    headlineElement.replaceChildren(
      breakableName(preview.refusal || `${headline(preview)}.${surplus}`),
    );
    rest.replaceChildren(
      ...(preview.refusal ? suggestedFix(preview, takeWhole) : previewEntries(preview, open, go)),
    );
  });
  store.watch(["preview", "status", "working"], (screen) => {
    headlineElement.hidden = isSaidBelow(screen);
  });
  return root;
}

/** Whether the status line says the refusal, with the way out: it is not said twice. */
export function isSaidBelow({
  preview,
  status,
  working,
}: Pick<Screen, "preview" | "status" | "working">): boolean {
  const refusal = preview?.refusal ?? "";
  return refusal !== "" && !working && status?.text === refusal;
}

function suggestedFix({ offer }: ClonePreview, takeWhole: () => void): HTMLElement[] {
  return offer ? [button({ class: "tgw-button" }, takeWhole, `Select the whole ${offer}`)] : [];
}

function previewEntries(
  previewed: ClonePreview,
  open: Set<string>,
  go: (name: string) => void,
): HTMLElement[] {
  return [
    ...factsOf(previewed).map((fact) => factEntry(fact, open, go)),
    ...sentences(previewed.dropped),
    lineEntry(previewed.line, open),
  ];
}

/** One line, which opens to show the names; it stays open while the words change. */
function foldedEntry(
  key: string,
  open: Set<string>,
  summary: Node,
  ...body: HTMLElement[]
): HTMLElement {
  const entry = element(
    "details",
    { class: "tgw-details tgw-fact", open: open.has(key) },
    element("summary", {}, summary),
    ...body,
  );
  entry.addEventListener("toggle", () => (entry.open ? open.add(key) : open.delete(key)));
  return entry;
}

/** The first names of groups, with an ellipsis where there are more. */
export function sampleText(groups: readonly Group[]): string {
  const first = groups.flatMap(({ names }) => names).slice(0, SAMPLE);
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  return [...first, ...(total > first.length ? ["…"] : [])].join(", ");
}

function factEntry(
  { kind, text, groups }: Fact,
  open: Set<string>,
  go: (name: string) => void,
): HTMLElement {
  const summary = element(
    "span",
    { class: "tgw-fact-text" },
    text,
    element("span", { class: "tgw-sample", "aria-hidden": true }, sampleText(groups)),
  );
  return foldedEntry(
    `${kind} ${groups[0]?.kind}`,
    open,
    summary,
    ...groups.map((group) => nameList(kind, group, go)),
  );
}

function nameList(
  kind: string,
  { kind: title, names, total }: Group,
  go: (name: string) => void,
): HTMLElement {
  const list = element("ul", { class: `tgw-list ${kind}`, "aria-label": title });
  for (const name of names) list.append(element("li", {}, opLink(name, go, breakableName(name))));
  if (total > names.length) list.append(moreEntry(total - names.length));
  return list;
}

/** What is not copied unchanged. */
function sentences(dropped: readonly string[]): HTMLElement[] {
  if (dropped.length === 0) return [];
  const list = element("ul", { class: "tgw-dropped" });
  for (const sentence of dropped.slice(0, SENTENCES)) list.append(element("li", {}, sentence));
  if (dropped.length > SENTENCES) list.append(moreEntry(dropped.length - SENTENCES));
  return [list];
}

function lineEntry(line: string, open: Set<string>): HTMLElement {
  const code = element("code", { class: "tgw-python", tabindex: 0 }, line);
  const [status, copy] = copyTools(code, "Copy the line", false);
  const quote = element("div", { class: "tgw-quote" }, code, copy, status);
  return foldedEntry("line", open, document.createTextNode("As Python"), quote);
}

// Requests previews: once the form and the selection have not changed for a moment.

/**
 * Milliseconds. Of a large part a preview takes a second, in which the kernel does nothing else.
 */
const PAUSE = 200;
const LONGEST_PAUSE = 1500;

export class PreviewRequests {
  readonly #store: Store;
  readonly #actions: Pick<Actions, "preview">;
  #asking = new AbortController();
  #pause = PAUSE;
  #asked = "";

  constructor(store: Store, actions: Pick<Actions, "preview">) {
    this.#store = store;
    this.#actions = actions;
  }

  /**
   * Have the preview of this form and the present selection; null when there is nothing to clone.
   */
  want(form: CloneForm | null): void {
    const { state } = this.#store.value;
    const requestKey =
      form && state ? JSON.stringify([state.revision, state.inputs, state.outputs, form]) : "";
    if (requestKey === this.#asked) return;
    this.close();
    this.#asked = requestKey;
    if (!form || !requestKey) this.#store.set({ preview: null, previewing: false });
    else {
      this.#store.set({ previewing: true });
      const { signal } = this.#asking;
      setTimeout(() => void this.#ask(form, signal), this.#pause);
    }
  }

  /** Abort all pending requests. */
  close(): void {
    this.#asking.abort();
    this.#asking = new AbortController();
  }

  async #ask(form: CloneForm, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const start = performance.now();
    try {
      await this.#actions.preview(form, signal);
    } catch {
      // Given up for a newer one; or the kernel is gone, which the next click will say.
      if (!signal.aborted) this.#store.set({ preview: null });
    }
    if (signal.aborted) return;
    this.#pause = Math.min(Math.max(PAUSE, performance.now() - start), LONGEST_PAUSE);
    this.#store.set({ previewing: false });
  }
}
