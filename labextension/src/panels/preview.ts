// What a clone will do, in words, before the click; every op it names leads there.
import { breakable, button, element, releaseFocus } from "../dom";
import type { Group, Previewed } from "../protocol";
import { copyTools } from "./copy";
import { more } from "./more";
import type { Parts } from "./parts";
import { opLink } from "./search";

/** A line of the preview, and the names behind it. `kind` is a class, which tells it apart from other lines. */
export interface Fact {
  readonly kind: string;
  readonly text: string;
  readonly groups: readonly Group[];
}

/** So many sentences about what does not come along are read; more are counted. */
const SENTENCES = 3;

const number = (count: number) => count.toLocaleString("en");

/** "1 hash table", "2 maps of sparse tensors" */
export function plural(count: number, noun: string): string {
  return `${number(count)} ${count === 1 ? noun : noun.replace(/^(.*?)( of .*)?$/, "$1s$2")}`;
}

/** "Copies 68 ops into copy" */
export function headline({ ops, scopes }: Previewed): string {
  const [first = "", ...others] = scopes;
  const last = others.at(-1);
  if (last === undefined) return `Copies ${plural(ops, "op")} into ${first}`;
  return `Copies ${plural(ops, "op")} ${number(scopes.length)} times, into ${first} to ${last}`;
}

export function factsOf({ scopes, new: made, shared, outside, stateful }: Previewed): Fact[] {
  const own = ({ kind, total }: Group) =>
    scopes.length > 1 ? `${plural(total, `own ${kind}`)} in each copy` : `${plural(total, kind)} of its own`;
  const fact = (kind: string, text: string, group: Group): Fact => ({ kind, text, groups: [group] });
  return [
    ...made.map((group) => fact("tgw-own", own(group), group)),
    ...shared.map((group) => fact("tgw-shared", `${plural(group.total, group.kind)} still shared`, group)),
    ...outside.map((group) => fact(OUTSIDE[group.kind] ?? "tgw-outside", outsideText(group), group)),
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
  return `${plural(total, kind)} ${total === 1 ? "comes" : "come"} in from outside`;
}

/** The ops that do something, counted by type. */
function effects(groups: readonly Group[]): Fact[] {
  if (groups.length === 0) return [];
  const total = groups.reduce((sum, group) => sum + group.total, 0);
  const types = groups.map((group) => `${number(group.total)} ${group.kind}`).join(", ");
  return [{ kind: "tgw-effects", text: `${plural(total, "op")} with effects: ${types}`, groups }];
}

export function createPreview({ store, actions }: Parts): HTMLElement {
  // There from the start: a screen reader reads changes only of what it knows. The rest is read on the way through.
  const said = element("p", { role: "status" });
  const rest = element("div", { class: "tgw-facts-list" });
  const root = element(
    "div",
    { class: "tgw-preview", role: "group", "aria-label": "What the clone will do", hidden: true },
    said,
    rest,
  );
  const open = new Set<string>();
  const go = (name: string) => void actions.reveal(name);
  const takeWhole = () => void actions.derive("whole");
  let shown = "";
  store.watch(["preview", "previewing"], ({ preview, previewing }) => {
    root.setAttribute("aria-busy", String(previewing));
    const text = JSON.stringify({ ...preview, held: [], id: 0, buffer: 0 });
    // Whoever reads it there is left in peace when it says the same again.
    if (text === shown) return;
    shown = text;
    root.hidden = preview === null;
    if (!preview) return;
    releaseFocus(rest);
    said.className = preview.refusal ? "tgw-refusal" : "tgw-count";
    said.replaceChildren(breakable(preview.refusal || `${headline(preview)}.`));
    rest.replaceChildren(...(preview.refusal ? wayOut(preview, takeWhole) : told(preview, open, go)));
  });
  return root;
}

function wayOut({ offer }: Previewed, takeWhole: () => void): HTMLElement[] {
  return offer ? [button({ class: "tgw-button" }, takeWhole, `Take the whole ${offer}`)] : [];
}

function told(previewed: Previewed, open: Set<string>, go: (name: string) => void): HTMLElement[] {
  return [
    ...factsOf(previewed).map((fact) => factEntry(fact, open, go)),
    ...sentences(previewed.dropped),
    lineEntry(previewed.line, open),
  ];
}

/** One line, which opens to show the names; it stays open while the words change. */
function folded(key: string, open: Set<string>, summary: Node, ...body: HTMLElement[]): HTMLElement {
  const entry = element(
    "details",
    { class: "tgw-details tgw-fact", open: open.has(key) },
    element("summary", {}, summary),
    ...body,
  );
  entry.addEventListener("toggle", () => (entry.open ? open.add(key) : open.delete(key)));
  return entry;
}

function factEntry({ kind, text, groups }: Fact, open: Set<string>, go: (name: string) => void): HTMLElement {
  const first = groups.flatMap(({ names }) => names).slice(0, 3);
  const summary = element(
    "span",
    { class: "tgw-fact-text" },
    text,
    element("span", { class: "tgw-sample", "aria-hidden": true }, first.join(", ")),
  );
  return folded(
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
  for (const name of names) list.append(element("li", {}, opLink(name, go, breakable(name))));
  if (total > names.length) list.append(more(total - names.length));
  return list;
}

/** What does not come along as it was. */
function sentences(dropped: readonly string[]): HTMLElement[] {
  if (dropped.length === 0) return [];
  const list = element("ul", { class: "tgw-dropped" });
  for (const sentence of dropped.slice(0, SENTENCES)) list.append(element("li", {}, sentence));
  if (dropped.length > SENTENCES) list.append(more(dropped.length - SENTENCES));
  return [list];
}

function lineEntry(line: string, open: Set<string>): HTMLElement {
  const code = element("code", { class: "tgw-python", tabindex: 0 }, line);
  const [said, copy] = copyTools(code, "Copy the line", false);
  const quote = element("div", { class: "tgw-quote" }, code, copy, said);
  return folded("line", open, document.createTextNode("As Python"), quote);
}
