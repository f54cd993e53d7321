// The differences from another graph, or the original one: the meaning of the colors, and the ops
// with links to them.
import type { Parts } from "../../interaction/parts";
import type { Group } from "../../protocol/messages";
import { moreEntry, opLink } from "../controls/name-list";
import { section } from "../controls/section";
import { breakableName, element, scrollToShow } from "../dom";

export function createChanges({ store, actions }: Parts): HTMLElement {
  const body = element("div", { class: "tgw-changes", role: "status" });
  const root = section("Changes", {}, [], body);
  const open = new Set<string>();
  let shown = "";
  let last = "";
  store.watch(["state"], ({ state }) => {
    root.hidden = !state?.comparing;
    const comparison = state?.comparing ? `with ${state.comparison}` : "";
    const isNew = comparison !== last;
    last = comparison;
    if (!state?.comparing) return;
    const text = JSON.stringify([state.comparison, state.explained, state.changes]);
    if (text !== shown) {
      const groups = state.changes.map((group) =>
        groupEntry(group, open, (name) => actions.reveal(name)),
      );
      const differs = groups.length + state.explained.length > 0;
      const summary = summaryText(state.comparison, differs);
      body.replaceChildren(
        ...(summary ? [element("p", { class: "tgw-hint" }, summary)] : []),
        ...state.explained.map((sentence) => element("p", { class: "tgw-explained" }, sentence)),
        ...groups,
      );
    }
    shown = text;
    // The changes are below the history, which can be long; the tab may be shown only then.
    if (isNew) requestAnimationFrame(() => scrollToShow(root));
  });
  return root;
}

/** What the graph is compared with, and whether ops differ. */
export function summaryText(comparison: string, differs: boolean): string {
  if (differs) return comparison && `Compared with ${comparison}`;
  return comparison ? `No op differs from ${comparison}.` : "No op differs.";
}

/** "12 ops added" */
function changeText({ kind, total }: Group): string {
  return `${total.toLocaleString("en")} ${total === 1 ? "op" : "ops"} ${kind}`;
}

function groupEntry(group: Group, open: Set<string>, go: (name: string) => void): HTMLElement {
  const { kind, names, total } = group;
  const swatch = element("span", { class: `tgw-swatch tgw-${kind}`, "aria-hidden": true });
  const list = element("ul", { class: "tgw-list" });
  for (const name of names) {
    // A removed op cannot be shown.
    const gone = element("span", { class: "tgw-gone" }, breakableName(name));
    list.append(
      element("li", {}, kind === "removed" ? gone : opLink(name, go, breakableName(name))),
    );
  }
  if (total > names.length) list.append(moreEntry(total - names.length));
  const entry = element(
    "details",
    { class: "tgw-details", "data-kind": kind, open: open.has(kind) },
    element("summary", {}, swatch, changeText(group)),
    list,
  );
  entry.addEventListener("toggle", () => (entry.open ? open.add(kind) : open.delete(kind)));
  return entry;
}
