// The table of all keys and gestures. keyboard.ts executes it; panels/controls/help.ts displays it.

import type { HideRequest, State } from "../protocol/messages";
import { boxOf, keyOf, type Scene } from "../protocol/scene";
import { panBy, zoomedAt } from "../render/camera/camera";
import type { Screen, Store } from "../state/store";
import type { Actions } from "./actions";
import {
  type Arrow,
  cameraShowing,
  enclosingItem,
  firstChild,
  firstOp,
  NavigationCursor,
  stepOf,
} from "./keyboard-nav";
import { deliverPick } from "./op-picker";
import type { Parts } from "./parts";
import { stepHit } from "./search-steps";
import { hasSelection, SELECTION_COMMANDS } from "./selection-commands";

export interface KeyContext extends Parts {
  /** Focus the search field. */
  find(): void;
  /** Lead to the form that clones the selection, or the current item if nothing is selected. */
  clone(): void;
  /** Open the context menu of the current item. */
  menu(): void;
  readonly cursor: NavigationCursor;
}

export interface Binding {
  /**
   * "b", "Ctrl+z", "Shift+ArrowUp": modifiers in this order; Ctrl is Cmd on a Mac. The first is the
   * one to show.
   */
  readonly keys: readonly string[];
  readonly what: string;
  /** Only while the drawing has the focus: elsewhere buttons and lists use these keys. */
  readonly drawing?: true;
  /** Needs a kernel: not available in a saved page. */
  readonly kernel?: true;
  act(context: KeyContext): unknown;
}

export interface Group {
  readonly title: string;
  readonly bindings: readonly Binding[];
}

export interface Gesture {
  readonly how: string;
  readonly what: string;
  /** As in Binding. */
  readonly kernel?: true;
}

const STEP = 60;
const ARROWS: readonly Arrow[] = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

// The commands by their ids, the names by which menus, buttons and tests know them, whatever their
// texts and keys are.

const OPEN_AND_SELECT = {
  activate: {
    keys: ["Enter"],
    what: "Expand or collapse a scope, or open a function",
    drawing: true,
    act: (context) =>
      deliverPick(context.store, pickedItem(context)) ||
      context.actions.activate(pickedItem(context), context.stage.anchorAt(pickedItem(context))),
  },
  "activate-all-inside": {
    keys: ["Shift+Enter"],
    what: "Expand or collapse a scope and all inside",
    drawing: true,
    act: (context) =>
      context.actions.toggle(
        pickedItem(context),
        context.stage.anchorAt(pickedItem(context)),
        true,
      ),
  },
  "toggle-selected": {
    keys: [" ", "Ctrl+Enter"],
    what: "Add to or remove from the selection",
    drawing: true,
    act: (context) => context.actions.toggleSelected(pickedItem(context)),
  },
  "open-menu": {
    keys: ["Shift+F10", "ContextMenu"],
    what: "Open the context menu",
    drawing: true,
    act: ({ menu }) => menu(),
  },
  "mark-input": {
    keys: ["i"],
    what: "Mark as input",
    act: (context) => context.actions.mark(pickedItem(context), "inputs"),
  },
  "mark-output": {
    keys: ["o"],
    what: "Mark as output",
    act: (context) => context.actions.mark(pickedItem(context), "outputs"),
  },
  hide: {
    keys: ["h"],
    what: "Hide the selection or the current item",
    act: (context) => hide(context, "hide"),
  },
  "hide-others": {
    keys: ["H"],
    what: "Hide everything else",
    act: (context) => hide(context, "only"),
  },
  box: { keys: ["b"], what: "Draw boxes", act: ({ actions }) => actions.setTool("box") },
  lasso: { keys: ["l"], what: "Draw lassos", act: ({ actions }) => actions.setTool("lasso") },
  cancel: {
    keys: ["Escape"],
    what: "Cancel, or clear the selection",
    act: ({ actions }) => actions.cancel(),
  },
} satisfies Record<string, Binding>;

const EDIT = {
  clone: {
    keys: ["c"],
    what: "Clone the selection, or the current item",
    kernel: true,
    act: ({ clone }) => clone(),
  },
  remove: {
    keys: ["Delete"],
    what: "Remove the selection or the current item",
    kernel: true,
    act: (h) => h.actions.removeSelected(),
  },
  undo: {
    keys: ["Ctrl+z"],
    what: "Undo",
    kernel: true,
    act: ({ actions }) => actions.edits.undo(),
  },
  redo: {
    keys: ["Ctrl+y", "Ctrl+Shift+z"],
    what: "Redo",
    kernel: true,
    act: ({ actions }) => actions.edits.redo(),
  },
  compare: {
    keys: ["X"],
    what: "Toggle colors of changes",
    kernel: true,
    act: ({ actions }) => actions.edits.compare(),
  },
} satisfies Record<string, Binding>;

const VIEW = {
  find: { keys: ["/"], what: "Find ops", act: ({ find }) => find() },
  "next-match": {
    keys: ["F3", "Ctrl+g"],
    what: "Go to the next match",
    act: (context) => stepHit(context, 1),
  },
  "previous-match": {
    keys: ["Shift+F3", "Ctrl+Shift+g"],
    what: "Go to the previous match",
    act: (context) => stepHit(context, -1),
  },
  "show-hidden": { keys: ["A"], what: "Show hidden ops", act: showAll },
  fit: { keys: ["f"], what: "Show the whole graph", act: ({ stage }) => stage.fit() },
  "zoom-in": { keys: ["+", "="], what: "Zoom in", act: zoomBy(1.4) },
  "zoom-out": { keys: ["-"], what: "Zoom out", act: zoomBy(1 / 1.4) },
  "expand-all": {
    keys: ["E"],
    what: "Expand all scopes",
    act: ({ actions }) => actions.changeView({ type: "expand_all", everything: true }),
  },
  "collapse-all": {
    keys: ["C"],
    what: "Collapse all scopes",
    act: ({ actions }) => actions.changeView({ type: "expand_all", everything: false }),
  },
  "flip-direction": {
    keys: ["D"],
    what: "Toggle direction: down or right",
    kernel: true,
    act: flipDirection,
  },
  "reset-layout": {
    keys: ["U"],
    what: "Reset layout, or unpin the current item",
    kernel: true,
    act: unpin,
  },
  "control-edges": {
    keys: ["t"],
    what: "Toggle control edges",
    act: ({ store }) => store.set({ controls: !store.value.controls }),
  },
  minimap: {
    keys: ["m"],
    what: "Toggle minimap",
    act: ({ store }) => store.set({ minimap: !store.value.minimap }),
  },
  refresh: {
    keys: ["r"],
    what: "Refresh: read the graph again",
    kernel: true,
    act: ({ actions }) => actions.refresh(),
  },
  leave: {
    keys: ["Backspace", "Alt+ArrowUp"],
    what: "Go back to the calling graph",
    act: ({ actions }) => actions.leave(),
  },
  help: {
    keys: ["?"],
    what: "Show keys and gestures",
    act: ({ store }) => store.set({ helping: !store.value.helping }),
  },
} satisfies Record<string, Binding>;

export type CommandId = keyof typeof OPEN_AND_SELECT | keyof typeof EDIT | keyof typeof VIEW;

const COMMANDS: Readonly<Record<CommandId, Binding>> = { ...OPEN_AND_SELECT, ...EDIT, ...VIEW };

/**
 * Lower-case letters apply to the current item or the selection, other characters to the whole
 * view.
 */
export const GROUPS: readonly Group[] = [
  {
    title: "Navigate",
    bindings: [
      ...ARROWS.map(walkBinding),
      enterBinding(),
      leaveBinding(),
      ...ARROWS.map(panBinding),
    ],
  },
  { title: "Open and select", bindings: Object.values(OPEN_AND_SELECT) },
  {
    title: "Change the selection",
    bindings: SELECTION_COMMANDS.filter(({ key }) => key).map(({ key, command, what }) => ({
      keys: [key],
      what,
      act: ({ actions }) => actions.derive(command),
    })),
  },
  { title: "Edit", bindings: Object.values(EDIT) },
  { title: "View", bindings: Object.values(VIEW) },
];

export const GESTURES: readonly Gesture[] = [
  { how: "Click", what: "Inspect" },
  { how: "Double-click", what: "Expand or collapse a scope, or open a function" },
  {
    how: "Right-click, long press",
    what: "Open the context menu; with Shift, that of the application",
  },
  { how: "Shift-click", what: "Mark as input" },
  { how: "Alt-click", what: "Mark as output" },
  { how: "Ctrl-click", what: "Add to or remove from the selection" },
  { how: "Drag an op or scope", what: "Move and pin it", kernel: true },
  { how: "Drag the background", what: "Pan the view" },
  { how: "Shift-drag", what: "Draw a box; Ctrl adds, Alt removes" },
  { how: "Drag from the dot below an op", what: "Connect its output to another op", kernel: true },
  {
    how: "Wheel, pinch",
    what: "Zoom; in a notebook's cell the wheel scrolls until the drawing is clicked, or with Ctrl",
  },
];

/** All keys, each once. */
export const BINDINGS: ReadonlyMap<string, Binding> = new Map(
  GROUPS.flatMap(({ bindings }) =>
    bindings.flatMap((each) => each.keys.map((key) => [key, each] as const)),
  ),
);

export function commandOf(id: CommandId): Binding {
  return COMMANDS[id];
}

/**
 * Do what the key of a command does; those that need more of the page than `Parts` have buttons of
 * their own.
 */
export function runCommand(id: CommandId, parts: Parts): unknown {
  const none = () => undefined;
  return commandOf(id).act({
    ...parts,
    find: none,
    menu: none,
    clone: none,
    cursor: new NavigationCursor(),
  });
}

/** Without a kernel, what needs one is not there. */
export function isAvailable(
  { kernel }: { readonly kernel?: true },
  { readOnly }: Pick<Parts, "readOnly">,
): boolean {
  return !(readOnly && kernel);
}

export function available<T extends { readonly kernel?: true }>(
  all: readonly T[],
  parts: Pick<Parts, "readOnly">,
): readonly T[] {
  return all.filter((each) => isAvailable(each, parts));
}

const WORDS: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  " ": "Space",
  Escape: "Esc",
  ContextMenu: "Menu",
};

/** "Ctrl+Shift+z" → ["Ctrl", "Shift", "Z"], as on the caps of a keyboard. */
export function keyCaps(chord: string): string[] {
  const parts = chord === "+" ? ["+"] : chord.split("+");
  const key = parts.pop() ?? "";
  const capital = /^[A-Z]$/.test(key) ? ["Shift"] : [];
  return [...parts, ...capital, WORDS[key] ?? (key.length === 1 ? key.toUpperCase() : key)];
}

/** The key of a command as a menu shows it: "Shift+E". */
export function shortcutOf(id: CommandId): string {
  return keyText(commandOf(id).keys[0] ?? "");
}

/** What the button of a command says in its tooltip: "Zoom in (+)". */
export function titleOf(id: CommandId, what = commandOf(id).what): string {
  return `${what} (${shortcutOf(id)})`;
}

/** "Ctrl+Shift+z" → "Ctrl+Shift+Z". */
export function keyText(chord: string): string {
  return keyCaps(chord).join("+");
}

/** The current item, which the inspector shows, or -1. */
function pickedItem({ store, cursor }: KeyContext): number {
  const { scene, picked } = store.value;
  return scene ? cursor.itemOf(scene, picked) : -1;
}

function walkBinding(arrow: Arrow): Binding {
  const what = {
    ArrowUp: "Go to an input",
    ArrowDown: "Go to a consumer",
    ArrowLeft: "Go to the item beside it",
    ArrowRight: "Go to the item beside it",
  }[arrow];
  const act = (context: KeyContext) => {
    const { scene, state } = context.store.value;
    if (!scene) return;
    const direction = state?.direction ?? "down";
    const item = pickedItem(context);
    if (item < 0) return goToFirst(context, scene, direction);
    goToItem(context, context.cursor.go(scene, item, stepOf(arrow, direction), direction));
  };
  return { keys: [arrow], what, drawing: true, act };
}

/** Go to the first op that is in view, or if none is, to the first of all. */
function goToFirst(context: KeyContext, scene: Scene, direction: State["direction"]): void {
  const seen = context.stage.boxesIn({ x: 0, y: 0, ...context.stage.viewport });
  const first = firstOp(scene, seen, direction);
  goToItem(context, first > 0 ? first : firstOp(scene, scene.parent.keys(), direction));
}

function panBinding(arrow: Arrow): Binding {
  return {
    keys: [`Shift+${arrow}`],
    what: "Pan the view",
    drawing: true,
    act: (context) => pan(context, arrow),
  };
}

function enterBinding(): Binding {
  const act = (context: KeyContext) => {
    const { scene } = context.store.value;
    const item = scene ? firstChild(scene, Math.max(pickedItem(context), 0)) : -1;
    if (scene) context.cursor.arrive(scene, item);
    goToItem(context, item);
  };
  return {
    keys: ["PageDown"],
    what: "Enter a scope, or go to an op's constants and variables",
    drawing: true,
    act,
  };
}

function leaveBinding(): Binding {
  const act = (context: KeyContext) => {
    const { scene } = context.store.value;
    goToItem(context, scene ? enclosingItem(scene, pickedItem(context)) : -1);
  };
  return { keys: ["PageUp"], what: "Go to the enclosing scope", drawing: true, act };
}

/** Inspect an item, and bring it into view. */
function goToItem({ store, stage, actions }: KeyContext, item: number): void {
  const { scene, camera } = store.value;
  if (!scene || item <= 0) return;
  void actions.inspectItem(item);
  const moved = cameraShowing(boxOf(scene.box, item), camera, stage.viewport);
  if (moved !== camera) stage.setCamera(moved);
}

function pan({ store, stage }: KeyContext, arrow: Arrow): void {
  const step = /Up|Left/.test(arrow) ? STEP : -STEP;
  const across = /Left|Right/.test(arrow);
  stage.setCamera(panBy(store.value.camera, across ? step : 0, across ? 0 : step));
}

function zoomBy(factor: number) {
  return ({ store, stage }: KeyContext) =>
    stage.setCamera(zoomedAt(store.value.camera, factor, stage.middle));
}

function flipDirection({ store, actions }: KeyContext): unknown {
  const direction = store.value.state?.direction === "right" ? "down" : "right";
  return actions.changeView({ type: "set_direction", direction });
}

/** Unpin the current item if it is pinned, else all. */
function unpin(context: KeyContext): unknown {
  const { scene } = context.store.value;
  const item = pickedItem(context);
  const name = scene?.pinned[item] ? keyOf(scene, item) : "";
  if (name) return context.actions.changeView({ type: "unpin", name });
  return context.actions.resetLayout(context.stage.viewport);
}

type HideCommand = Exclude<HideRequest["command"], "nothing">;
interface HideContext {
  readonly store: Store;
  readonly actions: Pick<Actions, "changeView" | "showStatus">;
}

const NOTHING = "Nothing is selected or inspected: click an op or a scope, or draw a box (b).";
/** The keys h and H: hide the selection or the current item, or everything else. */
export async function hide({ store, actions }: HideContext, command: HideCommand): Promise<void> {
  const names = namesToHide(store.value);
  if (names === null) actions.showStatus({ kind: "refused", text: NOTHING });
  else await actions.changeView({ type: "hide", command, names });
}

/** The names that a key hides: [] means the selection; null if there is nothing to hide. */
export function namesToHide({ state, picked }: Pick<Screen, "state" | "picked">): string[] | null {
  if (hasSelection(state)) return [];
  return picked === "" ? null : [picked];
}

/** The key A: show all hidden ops. */
export function showAll({ store, actions }: HideContext): Promise<void> {
  const hidden = store.value.state?.hidden ?? 0;
  return hidden > 0
    ? actions.changeView({ type: "hide", command: "nothing", names: [] })
    : Promise.resolve();
}
