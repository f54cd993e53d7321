// The outline: what the canvas shows, as a tree for screen readers, keyboards and tests. Seen only while it has the focus.
import { element, setAttributes } from "../dom";
import { withControl } from "../render/pointer";
import {
  at,
  CLOSED,
  INPUT_MARK,
  isScope,
  keyOf,
  OPEN,
  OUTPUT_MARK,
  type Paint,
  type Scene,
  sizeText,
} from "../scene";
import type { Parts } from "./parts";

const MOST = 3000;

export function createOutline(parts: Parts): HTMLElement {
  const tree = element("ul", {
    class: "tgw-outline",
    role: "tree",
    "aria-label": "Visible ops and scopes",
    "aria-multiselectable": "true",
  });
  let focused = "";
  const focus = (entry: Element | null | undefined) => {
    if (!(entry instanceof HTMLElement)) return;
    tree.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
    entry.tabIndex = 0;
    focused = entry.getAttribute("data-key") ?? "";
    entry.focus();
  };
  parts.store.watch(["scene"], ({ scene, paint }) => {
    if (!scene || !paint) return;
    const had = tree.contains(document.activeElement);
    const order = inTreeOrder(scene);
    tree.replaceChildren(...order.map((item) => entryOf(scene, paint, item)));
    const again = [...tree.children].find((entry) => entry.getAttribute("data-key") === focused);
    const first = again ?? tree.firstElementChild;
    first?.setAttribute("tabindex", "0");
    if (had) focus(first);
  });
  parts.store.watch(["paint"], ({ scene, paint }) => {
    if (scene && paint && paint.coverage.length === scene.length) repaint(tree, scene, paint);
  });
  tree.addEventListener("keydown", (event) => {
    const entry = (event.target as Element).closest('[role="treeitem"]');
    if (entry && handled(event, entry, parts, focus)) {
      event.preventDefault();
      event.stopPropagation();
    }
  });
  tree.addEventListener("focusin", (event) => {
    const item = parts.store.value.scene?.byKey.get((event.target as Element).getAttribute("data-key") ?? "");
    parts.store.set({ hover: item ?? -1 });
  });
  tree.addEventListener("click", (event) => {
    const entry = (event.target as Element).closest('[role="treeitem"]');
    focus(entry);
    const item = parts.store.value.scene?.byKey.get(entry?.getAttribute("data-key") ?? "") ?? -1;
    if (withControl(event)) void parts.actions.toggleSelected(item);
  });
  return tree;
}

/** Items depth first, the root left out. */
function inTreeOrder(scene: Scene): number[] {
  const children = new Map<number, number[]>();
  for (let item = scene.length - 1; item > 0; item--) {
    const parent = at(scene.parent, item);
    const siblings = children.get(parent);
    if (siblings) siblings.push(item);
    else children.set(parent, [item]);
  }
  const order: number[] = [];
  const rest = [...(children.get(0) ?? [])];
  for (let item = rest.pop(); item !== undefined && order.length < MOST; item = rest.pop()) {
    order.push(item);
    rest.push(...(children.get(item) ?? []));
  }
  return order;
}

function entryOf(scene: Scene, paint: Paint, item: number): HTMLElement {
  const name = scene.names[item] ?? "";
  const kind = at(scene.kind, item);
  const entry = element("li", {
    role: "treeitem",
    tabindex: -1,
    "data-name": name,
    "data-key": keyOf(scene, item),
    "data-item": item,
    "data-door": at(scene.door, item) === 1,
    "aria-level": at(scene.depth, item),
    "aria-expanded": isScope(kind) ? String(kind === OPEN) : undefined,
    style: `padding-left: ${8 + 12 * at(scene.depth, item)}px`,
  });
  const about = isScope(kind)
    ? sizeText(at(scene.count, item), at(scene.variables, item))
    : scene.types[item];
  const door = at(scene.door, item) === 1 ? ", Enter goes into it" : "";
  entry.append(
    element("span", {}, name.slice(name.lastIndexOf("/") + 1)),
    element("span", { class: "tgw-outline-about" }, ` ${about}${door}`),
    element("span", { class: "tgw-outline-marks" }),
  );
  paintEntry(entry, paint, item);
  return entry;
}

function repaint(tree: HTMLElement, scene: Scene, paint: Paint): void {
  for (const entry of tree.children) {
    const item = scene.byKey.get(entry.getAttribute("data-key") ?? "");
    if (item !== undefined) paintEntry(entry, paint, item);
  }
}

function paintEntry(entry: Element, paint: Paint, item: number): void {
  const mark = at(paint.mark, item);
  const said = [mark & INPUT_MARK ? "input" : "", mark & OUTPUT_MARK ? "output" : ""]
    .filter(Boolean)
    .join(", ");
  setAttributes(entry, {
    "aria-selected": String(at(paint.coverage, item) === 2),
    "data-mark": said || undefined,
    "data-fresh": at(paint.fresh, item) === 1,
  });
  const marks = entry.lastElementChild;
  if (marks) marks.textContent = said ? ` (${said})` : "";
}

/** Whether the key meant something here. */
function handled(
  event: KeyboardEvent,
  entry: Element,
  { actions, stage, store }: Parts,
  focus: (entry: Element | null | undefined) => void,
): boolean {
  const item = store.value.scene?.byKey.get(entry.getAttribute("data-key") ?? "") ?? -1;
  const kind = at(store.value.scene?.kind ?? [], item);
  const activate = () => void actions.activate(item, stage.anchorAt(item));
  const inspect = () => void actions.pick(item);
  const select = () => void actions.toggleSelected(item);
  const door = at(store.value.scene?.door ?? [], item) === 1;
  if (event.key === "Enter" && (withControl(event) || event.altKey)) {
    (event.altKey ? inspect : select)();
    return true;
  }
  const acts: Record<string, () => void> = {
    ArrowDown: () => focus(entry.nextElementSibling),
    ArrowUp: () => focus(entry.previousElementSibling),
    ArrowRight: () => (kind === CLOSED ? activate() : focus(entry.nextElementSibling)),
    ArrowLeft: () => (kind === OPEN ? activate() : focus(parentOf(entry))),
    Home: () => focus(entry.parentElement?.firstElementChild),
    End: () => focus(entry.parentElement?.lastElementChild),
    Enter: !isScope(kind) && !door ? inspect : activate,
    " ": select,
    i: () => void actions.mark(item, "inputs"),
    o: () => void actions.mark(item, "outputs"),
  };
  const act = withControl(event) || event.altKey ? undefined : acts[event.key];
  act?.();
  return act !== undefined;
}

function parentOf(entry: Element): Element | null {
  const level = Number(entry.getAttribute("aria-level"));
  let before = entry.previousElementSibling;
  while (before && Number(before.getAttribute("aria-level")) >= level) before = before.previousElementSibling;
  return before;
}
