// Every key and gesture: keys.ts does what this table says, and the help sheet (panels/help.ts) shows it.
import { step } from "./finding";
import { hide, showAll } from "./panels/filter";
import type { Parts } from "./panels/parts";
import { give } from "./picking";
import { panned, zoomedAt } from "./render/camera";
import { boxOf, keyOf } from "./scene";
import { DERIVATIONS } from "./selecting";
import { type Arrow, around, inside, keptInView, stepOf, type Walk } from "./walking";

export interface Hands extends Parts {
  /** Put the cursor into the search field. */
  find(): void;
  readonly walk: Walk;
}

export interface Binding {
  /** "b", "Ctrl+z", "Shift+ArrowUp": modifiers in this order; Ctrl is Cmd on a Mac. The first is the one to show. */
  readonly keys: readonly string[];
  readonly what: string;
  /** Only while the drawing itself has the focus: elsewhere a button or a list has these keys for its own. */
  readonly drawing?: true;
  act(hands: Hands): unknown;
}

export interface Group {
  readonly title: string;
  readonly bindings: readonly Binding[];
}

export interface Gesture {
  readonly how: string;
  readonly what: string;
}

const STEP = 60;
const ARROWS: readonly Arrow[] = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"];

/** Lower-case letters work on what is picked or selected, capitals and what has no case on the drawing as a whole. */
export const GROUPS: readonly Group[] = [
  { title: "Walk", bindings: [...ARROWS.map(walking), into(), outOf(), ...ARROWS.map(panning)] },
  {
    title: "Open and select",
    bindings: [
      {
        keys: ["Enter"],
        what: "Open or close a scope, go into a function",
        drawing: true,
        act: (hands) =>
          give(hands.store, here(hands)) ||
          hands.actions.activate(here(hands), hands.stage.anchorAt(here(hands))),
      },
      {
        keys: ["Shift+Enter"],
        what: "Open or close a scope with all that is inside",
        drawing: true,
        act: (hands) => hands.actions.toggle(here(hands), hands.stage.anchorAt(here(hands)), true),
      },
      {
        keys: [" ", "Ctrl+Enter"],
        what: "Take it into the selection, or out of it",
        drawing: true,
        act: (hands) => hands.actions.toggleSelected(here(hands)),
      },
      { keys: ["i"], what: "Mark as input", act: (hands) => hands.actions.mark(here(hands), "inputs") },
      { keys: ["o"], what: "Mark as output", act: (hands) => hands.actions.mark(here(hands), "outputs") },
      { keys: ["h"], what: "Hide the selection, or what is picked", act: (hands) => hide(hands, "hide") },
      { keys: ["H"], what: "Hide everything else", act: (hands) => hide(hands, "only") },
      { keys: ["b"], what: "Draw boxes", act: ({ actions }) => actions.setTool("box") },
      { keys: ["l"], what: "Draw lassos", act: ({ actions }) => actions.setTool("lasso") },
      { keys: ["Escape"], what: "One thing less: box, tool, message", act: ({ actions }) => actions.back() },
    ],
  },
  {
    title: "Make of the selection",
    bindings: DERIVATIONS.filter(({ key }) => key).map(({ key, verb, what }) => ({
      keys: [key],
      what,
      act: ({ actions }) => actions.derive(verb),
    })),
  },
  {
    title: "Edit",
    bindings: [
      {
        keys: ["Delete"],
        what: "Remove what is selected, or picked",
        act: (h) => h.actions.removeSelected(),
      },
      { keys: ["Ctrl+z"], what: "Undo", act: ({ actions }) => actions.edits.undo() },
      { keys: ["Ctrl+y", "Ctrl+Shift+z"], what: "Redo", act: ({ actions }) => actions.edits.redo() },
      { keys: ["c"], what: "Show what differs, or no more", act: ({ actions }) => actions.edits.compare() },
    ],
  },
  {
    title: "Drawing",
    bindings: [
      { keys: ["/"], what: "Find ops", act: ({ find }) => find() },
      { keys: ["F3", "Ctrl+g"], what: "To the next op found", act: (hands) => step(hands, 1) },
      { keys: ["Shift+F3", "Ctrl+Shift+g"], what: "To the one before", act: (hands) => step(hands, -1) },
      { keys: ["A"], what: "Show what is hidden", act: showAll },
      { keys: ["f"], what: "Show all of it", act: ({ stage }) => stage.fit() },
      { keys: ["+", "="], what: "Nearer", act: zooming(1.4) },
      { keys: ["-"], what: "Farther", act: zooming(1 / 1.4) },
      {
        keys: ["E"],
        what: "Open everything",
        act: ({ actions }) => actions.look({ type: "unfold", everything: true }),
      },
      {
        keys: ["C"],
        what: "Close everything",
        act: ({ actions }) => actions.look({ type: "unfold", everything: false }),
      },
      { keys: ["D"], what: "Turn: downwards or to the right", act: turn },
      { keys: ["U"], what: "Lay out anew, or let a pinned box go", act: unpin },
      {
        keys: ["t"],
        what: "Control edges, or none",
        act: ({ store }) => store.set({ controls: !store.value.controls }),
      },
      {
        keys: ["m"],
        what: "Minimap, or none",
        act: ({ store }) => store.set({ minimap: !store.value.minimap }),
      },
      { keys: ["r"], what: "Read the graph again", act: ({ actions }) => actions.refresh() },
      {
        keys: ["Backspace", "Alt+ArrowUp"],
        what: "Out of a function",
        act: ({ actions }) => actions.leave(),
      },
      { keys: ["?"], what: "This sheet", act: ({ store }) => store.set({ helping: !store.value.helping }) },
    ],
  },
];

export const GESTURES: readonly Gesture[] = [
  { how: "Click", what: "See what it is" },
  { how: "Double-click", what: "Open or close a scope, go into a function" },
  { how: "Shift-click", what: "Mark as input" },
  { how: "Alt-click", what: "Mark as output" },
  { how: "Ctrl-click", what: "Take it into the selection, or out of it" },
  { how: "Drag a box", what: "Put it elsewhere: it stays" },
  { how: "Drag the background", what: "Move the drawing" },
  { how: "Shift-drag", what: "Draw a box; with Ctrl it adds, with Alt it takes away" },
  { how: "Drag from the dot below an op", what: "Let another op read its tensor" },
  { how: "Wheel, pinch", what: "Zoom" },
];

/** All keys, each once. */
export const BINDINGS: ReadonlyMap<string, Binding> = new Map(
  GROUPS.flatMap(({ bindings }) => bindings.flatMap((each) => each.keys.map((key) => [key, each] as const))),
);

const WORDS: Record<string, string> = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  " ": "Space",
  Escape: "Esc",
};

/** "Ctrl+Shift+z" → ["Ctrl", "Shift", "Z"], as on the caps of a keyboard. */
export function capsOf(chord: string): string[] {
  const parts = chord === "+" ? ["+"] : chord.split("+");
  const key = parts.pop() ?? "";
  const capital = /^[A-Z]$/.test(key) ? ["Shift"] : [];
  return [...parts, ...capital, WORDS[key] ?? (key.length === 1 ? key.toUpperCase() : key)];
}

/** The item that is picked, or -1. */
function here({ store, walk }: Hands): number {
  const { scene, picked } = store.value;
  return scene ? walk.here(scene, picked) : -1;
}

function walking(arrow: Arrow): Binding {
  const what = {
    ArrowUp: "To what it reads",
    ArrowDown: "To what reads it",
    ArrowLeft: "To what stands beside it",
    ArrowRight: "To what stands beside it",
  }[arrow];
  const act = (hands: Hands) => {
    const { scene, state } = hands.store.value;
    const item = here(hands);
    if (!scene || item < 0) return pan(hands, arrow);
    const direction = state?.direction ?? "down";
    arrive(hands, hands.walk.go(scene, item, stepOf(arrow, direction), direction));
  };
  return { keys: [arrow], what, drawing: true, act };
}

function panning(arrow: Arrow): Binding {
  return {
    keys: [`Shift+${arrow}`],
    what: "Move the drawing",
    drawing: true,
    act: (hands) => pan(hands, arrow),
  };
}

function into(): Binding {
  const act = (hands: Hands) => {
    const { scene } = hands.store.value;
    const item = scene ? inside(scene, Math.max(here(hands), 0)) : -1;
    if (scene) hands.walk.arrive(scene, item);
    arrive(hands, item);
  };
  return { keys: ["PageDown"], what: "Into a scope, to an op's constants and variables", drawing: true, act };
}

function outOf(): Binding {
  const act = (hands: Hands) => {
    const { scene } = hands.store.value;
    arrive(hands, scene ? around(scene, here(hands)) : -1);
  };
  return { keys: ["PageUp"], what: "To the scope around it", drawing: true, act };
}

/** Look at an item, and have it in view. */
function arrive({ store, stage, actions }: Hands, item: number): void {
  const { scene, camera } = store.value;
  if (!scene || item <= 0) return;
  void actions.pick(item);
  const kept = keptInView(boxOf(scene.box, item), camera, stage.viewport);
  if (kept !== camera) stage.setCamera(kept);
}

function pan({ store, stage }: Hands, arrow: Arrow): void {
  const step = /Up|Left/.test(arrow) ? STEP : -STEP;
  const across = /Left|Right/.test(arrow);
  stage.setCamera(panned(store.value.camera, across ? step : 0, across ? 0 : step));
}

function zooming(factor: number) {
  return ({ store, stage }: Hands) => stage.setCamera(zoomedAt(store.value.camera, factor, stage.middle));
}

function turn({ store, actions }: Hands): unknown {
  const direction = store.value.state?.direction === "right" ? "down" : "right";
  return actions.look({ type: "turn", direction });
}

/** What is picked, if it is pinned, else everything. */
function unpin(hands: Hands): unknown {
  const { scene } = hands.store.value;
  const item = here(hands);
  const name = scene?.pinned[item] ? keyOf(scene, item) : "";
  return hands.actions.look({ type: "unpin", name });
}
