// The breadcrumb: the stack of entered functions. A click returns to a level.
import type { Parts } from "../../interaction/parts";
import type { State } from "../../protocol/messages";
import { button, element, releaseFocus } from "../dom";

export function createBreadcrumb({ store, stage, actions }: Parts): HTMLElement {
  const nav = element("nav", { class: "tgw-path", "aria-label": "Current graph" });
  let shown = "";
  store.watch(["state"], ({ state }) => {
    const path = JSON.stringify(state?.path ?? []);
    if (path === shown) return;
    shown = path;
    releaseFocus(nav);
    nav.replaceChildren(
      ...trail(state, { leave: (depth) => void actions.leave(depth), here: () => stage.fit() }),
    );
  });
  return nav;
}

interface BreadcrumbActions {
  leave(depth: number): void;
  here(): void;
}

interface Crumb {
  readonly name: string;
  /** The level to which a click returns; null for the current graph. */
  readonly depth: number | null;
}

/** A file by its name, of a folder too: with its path it is wider than the drawing. */
export function fileName(title: string): string {
  return title.includes("'")
    ? title
    : title.replace(/[\\/]+$/, "").replace(/^.*[\\/]/, "") || title;
}

/** The graphs from the top level to the current one; none at the top level. */
export function crumbsOf(path: readonly string[]): Crumb[] {
  if (path.length < 2) return [];
  return path.map((name, depth) => ({ name, depth: depth < path.length - 1 ? depth : null }));
}

function trail(state: State | null, ways: BreadcrumbActions): HTMLElement[] {
  const path = state?.path ?? [];
  const crumbs = crumbsOf(path);
  if (crumbs.length === 0)
    return path.map((name) => element("span", { class: "tgw-title", title: name }, fileName(name)));
  const list = element("ol", { class: "tgw-crumbs" });
  for (const { name, depth } of crumbs) {
    const attributes =
      depth === null
        ? { class: "tgw-crumb", title: `${name}: show the whole graph`, "aria-current": "location" }
        : { class: "tgw-crumb", title: `Return to ${name}` };
    const act = depth === null ? ways.here : () => ways.leave(depth);
    list.append(element("li", {}, button(attributes, act, depth === 0 ? fileName(name) : name)));
  }
  return [list];
}
