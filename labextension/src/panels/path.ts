// The path: the graph, and the functions one has gone into. A click on a room goes back out to it.
import { button, element, releaseFocus } from "../dom";
import type { State } from "../protocol";
import type { Parts } from "./parts";

export function createPath({ store, stage, actions }: Parts): HTMLElement {
  const nav = element("nav", { class: "tgw-path", "aria-label": "Where you are" });
  let shown = "";
  store.watch(["state"], ({ state }) => {
    const said = JSON.stringify(state?.path ?? []);
    if (said === shown) return;
    shown = said;
    releaseFocus(nav);
    nav.replaceChildren(
      ...trail(state, { leave: (depth) => void actions.leave(depth), here: () => stage.fit() }),
    );
  });
  return nav;
}

interface Ways {
  leave(depth: number): void;
  here(): void;
}

interface Crumb {
  readonly name: string;
  /** Where a click on it goes back out to; null for the room one stands in. */
  readonly depth: number | null;
}

/** The rooms from the graph to where one stands; none when that is the graph itself. */
export function crumbsOf(path: readonly string[]): Crumb[] {
  if (path.length < 2) return [];
  return path.map((name, depth) => ({ name, depth: depth < path.length - 1 ? depth : null }));
}

function trail(state: State | null, ways: Ways): HTMLElement[] {
  const path = state?.path ?? [];
  const crumbs = crumbsOf(path);
  if (crumbs.length === 0)
    return path.map((name) => element("span", { class: "tgw-title", title: name }, name));
  const list = element("ol", { class: "tgw-crumbs" });
  for (const { name, depth } of crumbs) {
    const attributes =
      depth === null
        ? { class: "tgw-crumb", title: `${name}: show all of it`, "aria-current": "location" }
        : { class: "tgw-crumb", title: `Back out to ${name}` };
    const act = depth === null ? ways.here : () => ways.leave(depth);
    list.append(element("li", {}, button(attributes, act, name)));
  }
  return [list];
}
