// The differences from the original graph: the meaning of the colors, and the ops with links to them.
import type { Parts } from "../../interaction/parts";
import type { Group } from "../../protocol/messages";
import { moreEntry, opLink } from "../controls/name-list";
import { section } from "../controls/section";
import { breakableName, element } from "../dom";

export function createChanges({ store, actions }: Parts): HTMLElement {
  const body = element("div", { class: "tgw-changes", role: "status" });
  const root = section("Changes", {}, [], body);
  const open = new Set<string>();
  let shown = "";
  store.watch(["state"], ({ state }) => {
    root.hidden = !state?.comparing;
    if (!state?.comparing) return;
    const text = JSON.stringify(state.changes);
    if (text === shown) return;
    shown = text;
    const groups = state.changes.map((group) => groupEntry(group, open, (name) => actions.reveal(name)));
    const none = element("p", { class: "tgw-hint" }, "No op differs from the original graph.");
    body.replaceChildren(...(groups.length > 0 ? groups : [none]));
  });
  return root;
}

/** "12 ops added" */
export function changeText({ kind, total }: Group): string {
  return `${total.toLocaleString("en")} ${total === 1 ? "op" : "ops"} ${kind}`;
}

function groupEntry(group: Group, open: Set<string>, go: (name: string) => void): HTMLElement {
  const { kind, names, total } = group;
  const swatch = element("span", { class: `tgw-swatch tgw-${kind}`, "aria-hidden": true });
  const list = element("ul", { class: "tgw-list" });
  for (const name of names) {
    // A removed op cannot be shown.
    const gone = element("span", { class: "tgw-gone" }, breakableName(name));
    list.append(element("li", {}, kind === "removed" ? gone : opLink(name, go, breakableName(name))));
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
