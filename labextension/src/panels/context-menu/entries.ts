// The entries of a context menu: those that apply to its target. Each calls an action or an edit
// that exists elsewhere, too.
import { type CommandId, shortcutOf } from "../../interaction/key-bindings";
import type { LineTensor } from "../../interaction/line-tensor";
import type { Parts } from "../../interaction/parts";
import {
  hasSelection,
  type SelectionCommandName,
  whyNot,
} from "../../interaction/selection-commands";
import type { InspectReply, State } from "../../protocol/messages";
import {
  at,
  INPUT_MARK,
  keyOf,
  labelOf,
  OPEN,
  OUTPUT_MARK,
  type Scene,
  SOURCE_MARK,
} from "../../protocol/scene";
import type { Anchor } from "../../render/camera/destination";
import { tensorRoute } from "../../render/canvas/tensor-route";
import { cannotClone } from "../clone/clone-form";
import { copyToClipboard } from "../controls/copy-button";
import { aboutText } from "../controls/descriptions";
import { commandsFor, commandsForPart, moveCommand } from "../controls/edit-commands";
import { applyCall, callOf, type EditCommand } from "../controls/edit-form";
import { commandItem, type MenuItem } from "../controls/menus";
import { ADD_MODEL, COMPARE_WITH, type OtherGraphForm } from "../other-graphs/other-graphs";
import type { Target } from "./target";

export interface MenuContext extends Parts {
  /** Show the form of an edit in place of the menu. */
  form(command: EditCommand): void;
  /** Show a form for another graph in place of the menu. */
  otherGraph(form: OtherGraphForm): void;
  /**
   * Run the graph for the outputs of an op, "" for the selected ones; the form for feeds takes the
   * place of the menu.
   */
  values(name: string): unknown;
  /** Lead to the form that clones the selection. */
  cloneForm(): void;
  /** Where an item is now, so that it stays there while it is opened. */
  anchor(item: number): Anchor | undefined;
}

/** Groups of entries; empty ones are left out. */
export type MenuGroups = readonly (readonly MenuItem[])[];

/** The edits in the menu, in this order; the inspector has all. */
const EDITS: readonly EditCommand["command"][] = [
  "bypass",
  "replace",
  "insert",
  "set_input",
  "set_constant",
  "set_trainable",
  "rename",
  "remove",
];

/** The commands of the canvas. */
const HISTORY_COMMANDS = ["undo", "redo"] as const;
const VIEW_COMMANDS = [
  "fit",
  "expand-all",
  "collapse-all",
  "show-hidden",
  "leave",
  "minimap",
] as const;

const SELECTION_TEXTS: Partial<Record<SelectionCommandName, string>> = {
  boundary: "Mark its inputs and outputs",
  upstream: "Upstream",
  downstream: "Downstream",
  grow: "Grow",
  path: "Path between the two",
  invert: "Invert selection",
};

/** Names of at most this length are whole in the menu. */
const LONGEST = 28;

/** The heading of a menu. */
export function titleOf(target: Target, scene: Scene, state: State | null): string {
  if (target.kind === "canvas") return state?.path.at(-1) ?? "graph";
  if (target.kind === "name") return target.key;
  if (target.kind === "selection")
    return `${(state?.selected_ops ?? 0).toLocaleString("en")} selected ops`;
  if (target.kind === "edge") {
    const [source, consumer] = endsOf(scene, target.edge);
    return `${labelOf(scene, source)} → ${labelOf(scene, consumer)}`;
  }
  const [label, about] = [labelOf(scene, target.item), aboutText(scene, target.item)];
  return label === about ? label : `${label} · ${about}`;
}

/**
 * The entries for a target. `details` are of its op or scope, or of the op whose tensor `line` runs
 * along its edge, if they are known.
 */
export function entriesFor(
  target: Target,
  details: InspectReply | null,
  context: MenuContext,
  line: LineTensor | null = null,
): MenuGroups {
  const { scene } = context.store.value;
  if (!scene) return [];
  const groups = groupsFor(target, details, scene, context, line);
  return groups.filter((group) => group.length > 0);
}

function groupsFor(
  target: Target,
  details: InspectReply | null,
  scene: Scene,
  context: MenuContext,
  line: LineTensor | null,
): MenuGroups {
  switch (target.kind) {
    case "op":
      return opGroups(target.item, scene, details, context);
    case "scope":
    case "group":
      return scopeGroups(target.item, target.kind, scene, details, context);
    case "name":
      return nameGroups(target.key, details, context);
    case "edge":
      return edgeGroups(target.edge, scene, line && details && { ...line, details }, context);
    case "selection":
      return selectionGroups(context);
    case "canvas":
      return canvasGroups(context);
  }
}

function opGroups(
  item: number,
  scene: Scene,
  details: InspectReply | null,
  context: MenuContext,
): MenuGroups {
  const { actions, readOnly, pair } = context;
  const name = scene.names[item] ?? "";
  const enter = commandItem("activate", context, {
    text: "Open the function",
    act: () => actions.enter(name),
  });
  return [
    at(scene.calls, item) === 1 ? [enter] : [],
    pair ? [{ id: "pair", text: "Pair with an op of the other pane", act: () => pair(name) }] : [],
    [...(readOnly ? [] : cloneEntries([name], [], context)), ...markEntries(item, context)],
    readOnly || !details ? [] : namedEdits(details, context),
    traceEntries([name], [], context),
    nameEntries(name, details, context),
    details ? [findMore([name], `type:${details.op_type}`, context)] : [],
  ];
}

/** Of what is not drawn, as far as it is in this graph: what is marked or opened must be seen. */
function nameGroups(name: string, details: InspectReply | null, context: MenuContext): MenuGroups {
  const { actions, readOnly } = context;
  if (!details) return [[copyName(name, context)]];
  const isScope = details.op_type === "";
  const [ops, scopes] = isScope ? [[], [name.replace(/\/$/, "")]] : [[name], []];
  return [
    [{ id: "reveal", text: "Show in the drawing", act: () => actions.reveal(name) }],
    readOnly ? [] : cloneEntries(ops, scopes, context),
    readOnly ? [] : namedEdits(details, context),
    traceEntries(ops, scopes, context),
    isScope ? [copyName(name, context)] : nameEntries(name, details, context),
    [
      findMore(
        [name],
        isScope ? scopesLike(name.replace(/\/$/, "")) : `type:${details.op_type}`,
        context,
      ),
    ],
  ];
}

/** Of an op: its name and those of its tensors, and their values. */
function nameEntries(name: string, details: InspectReply | null, context: MenuContext): MenuItem[] {
  const [tensor, ...more] = details?.outputs ?? [];
  const copies = [copyName(name, context)];
  if (tensor) copies.push(copyTensorName(tensor.name, context));
  for (const { name: other } of more.slice(0, 3))
    copies.push(copy(`copy-${portOf(other)}`, `Copy ${portOf(other)}`, other, context));
  return [...copies, ...(context.readOnly || !tensor ? [] : [valuesOf(name, context)])];
}

function scopeGroups(
  item: number,
  kind: "scope" | "group",
  scene: Scene,
  details: InspectReply | null,
  context: MenuContext,
): MenuGroups {
  const { actions, readOnly } = context;
  const name = scene.names[item] ?? "";
  const toggle = (deep: boolean) => () => actions.toggle(item, context.anchor(item), deep);
  const word = at(scene.kind, item) === OPEN ? "Collapse" : "Expand";
  // A group is not a name of the graph: its ops become the selection.
  const select = () => selectNames([], [name], context);
  const edits =
    kind === "scope"
      ? details && namedEdits(details, context)
      : editEntries(commandsForPart([], at(scene.variables, item) > 0), context, select);
  return [
    [
      commandItem("activate", context, { text: word, act: toggle(false) }),
      commandItem("activate-all-inside", context, {
        text: `${word} all inside`,
        act: toggle(true),
      }),
    ],
    [...(readOnly ? [] : cloneEntries([], [name], context)), ...markEntries(item, context)],
    readOnly ? [] : (edits ?? []),
    traceEntries([], [name], context),
    kind === "scope"
      ? [copyName(name, context), findMore([`${name}/`], scopesLike(name), context)]
      : [],
  ];
}

/** The query for scopes whose name differs in its numbers only. */
export function scopesLike(scope: string): string {
  const last = scope.slice(scope.lastIndexOf("/") + 1).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return `/(^|/)${last.replace(/\d+/g, "\\d+")}(/|$)/`;
}

/**
 * Find the structure of some items, of the selection if there are none; or else by a query, as a
 * saved page does.
 */
function findMore(names: readonly string[], otherwise: string, context: MenuContext): MenuItem {
  const { actions, readOnly } = context;
  const act = () => (readOnly ? actions.search(otherwise) : actions.findLike(names, otherwise));
  return { id: "find-like", text: "Find more like this", act };
}

function edgeGroups(
  edge: number,
  scene: Scene,
  line: (LineTensor & { details: InspectReply }) | null,
  context: MenuContext,
): MenuGroups {
  const { actions, readOnly } = context;
  const [source, consumer] = endsOf(scene, edge);
  const go = (id: string, item: number) => ({
    id,
    text: `Go to ${short(labelOf(scene, item))}`,
    act: () => void actions.reveal(keyOf(scene, item)),
  });
  const isGroup = at(scene.members, consumer) > 0;
  const insert =
    line && !isGroup && commandsFor(line.details).find(({ command }) => command === "insert");
  const inserted = insert && {
    ...insert,
    name: "Insert on this edge",
    what: [line.tensor],
    options: { only: JSON.stringify(line.only) },
  };
  return [
    [go("go-to-source", source), go("go-to-consumer", consumer)],
    readOnly || !inserted ? [] : editEntries([inserted], context, undefined, ["insert"]),
    line
      ? [
          copyTensorName(line.tensor, context),
          ...(readOnly ? [] : [valuesOf(line.details.name, context)]),
        ]
      : [],
  ];
}

function selectionGroups(context: MenuContext): MenuGroups {
  const { store, readOnly } = context;
  const { state } = store.value;
  const expression = state?.expression ?? "";
  return [
    readOnly
      ? []
      : [...cloneSelection("Clone …", context), ...deriveEntries(["boundary"], context)],
    readOnly ? [] : editEntries(commandsForPart([], (state?.selected_trainable ?? 0) > 0), context),
    [
      ...deriveEntries(["upstream", "downstream", "grow", "path"], context),
      ...hideEntries("", context),
    ],
    [
      ...(readOnly ? [] : [valuesOf("", context), findMore([], "", context)]),
      ...(expression ? [copy("copy-as-python", "Copy as Python", expression, context)] : []),
      clearEntry(context),
    ],
  ];
}

function canvasGroups(context: MenuContext): MenuGroups {
  const { store, readOnly } = context;
  const { state } = store.value;
  const useless = new Set<CommandId>();
  if (!state?.hidden) useless.add("show-hidden");
  if ((state?.path.length ?? 1) <= 1) useless.add("leave");
  const commands = (ids: readonly CommandId[]) => ids.map((id) => commandItem(id, context));
  const isMarked = whyNot("clear", state) === "";
  return [
    readOnly ? [] : cloneSelection("Clone the selection …", context),
    readOnly ? [] : commands(HISTORY_COMMANDS.filter((id) => state?.[id])),
    commands(VIEW_COMMANDS.filter((id) => !useless.has(id))),
    [...deriveEntries(["invert"], context), ...(isMarked ? [clearEntry(context)] : [])],
    readOnly
      ? []
      : [...(state?.fixed ? [] : [ADD_MODEL]), COMPARE_WITH].map((form) => ({
          id: form.command,
          text: `${form.name} …`,
          act: () => context.otherGraph(form),
        })),
  ];
}

/** The items at both ends of an edge. */
function endsOf(scene: Scene, edge: number): [number, number] {
  const { producers, consumers } = tensorRoute(scene, edge);
  return [producers[0] ?? at(scene.source, edge), consumers[0] ?? at(scene.target, edge)];
}

// Entries that several targets have

function cloneEntries(ops: string[], scopes: string[], context: MenuContext): MenuItem[] {
  const { state } = context.store.value;
  if (cannotClone(state)) return [];
  const act = async () => {
    await selectNames(ops, scopes, context);
    context.cloneForm();
  };
  const isPart = (state?.inputs.length ?? 0) + (state?.outputs.length ?? 0) > 0;
  return [
    ...(isPart ? cloneSelection("Clone the selection …", context) : []),
    commandItem("clone", context, { text: "Clone …", act }),
  ];
}

function markEntries(item: number, context: MenuContext): MenuItem[] {
  const { store, actions } = context;
  const mark = at(store.value.paint?.mark ?? [], item);
  const text = (side: string, bits: number) => `${mark & bits ? "Unmark" : "Mark"} as ${side}`;
  return [
    commandItem("mark-input", context, {
      text: text("input", INPUT_MARK | SOURCE_MARK),
      act: () => actions.mark(item, "inputs"),
    }),
    commandItem("mark-output", context, {
      text: text("output", OUTPUT_MARK),
      act: () => actions.mark(item, "outputs"),
    }),
  ];
}

function cloneSelection(text: string, { store, cloneForm }: MenuContext): MenuItem[] {
  const { state } = store.value;
  if (!state || state.selected_ops === 0 || cannotClone(state)) return [];
  return [{ id: "clone-selection", text, act: cloneForm }];
}

/** The edits of a menu; `first` selects what they are of. */
function editEntries(
  commands: readonly EditCommand[],
  context: MenuContext,
  first: () => Promise<unknown> = async () => undefined,
  names = EDITS,
): MenuItem[] {
  if (context.store.value.state?.fixed) return [];
  return names.flatMap((name) => {
    const command = commands.find((one) => one.command === name);
    if (!command) return [];
    const act = async () => {
      await first();
      if (command.fields) context.form(command);
      else await applyCall(context, callOf(command));
    };
    const text = command.fields ? `${command.name} …` : command.name;
    return [{ id: name, text, act, key: name === "remove" ? shortcutOf("remove") : "" }];
  });
}

/** The edits of an op or a scope, which can be moved to another scope, too. */
function namedEdits(details: InspectReply, context: MenuContext): MenuItem[] {
  const command = moveCommand(details);
  const move = { id: "move", text: `${command.name} …`, act: () => context.form(command) };
  const entries = editEntries(commandsFor(details), context);
  return entries.flatMap((entry) => (entry.id === "rename" ? [entry, move] : [entry]));
}

function traceEntries(ops: string[], scopes: string[], context: MenuContext): MenuItem[] {
  const trace = (command: SelectionCommandName) => () => {
    // Both take their turn now: nothing comes between them.
    void selectNames(ops, scopes, context);
    return context.actions.derive(command);
  };
  const [name = ""] = [...ops, ...scopes.map((scope) => `${scope}/`)];
  return [
    { id: "upstream", text: "Upstream", act: trace("upstream") },
    { id: "downstream", text: "Downstream", act: trace("downstream") },
    ...hideEntries(name, context),
  ];
}

function hideEntries(name: string, context: MenuContext): MenuItem[] {
  const names = name === "" ? [] : [name];
  const act = () => context.actions.changeView({ type: "hide", command: "hide", names });
  return [commandItem("hide", context, { text: "Hide", act })];
}

function deriveEntries(
  commands: readonly SelectionCommandName[],
  { store, actions }: MenuContext,
): MenuItem[] {
  const { state } = store.value;
  const allowed = commands.filter((command) => whyNot(command, state) === "");
  const useful = hasSelection(state) ? allowed : allowed.filter((command) => command !== "invert");
  return useful.map((command) => ({
    id: command,
    text: SELECTION_TEXTS[command] ?? command,
    act: () => actions.derive(command),
  }));
}

function clearEntry({ actions }: MenuContext): MenuItem {
  return { id: "clear", text: "Clear the selection", act: () => actions.clearSelection() };
}

/** Run the graph for an op, or for the selected ones if the name is "". */
function valuesOf(name: string, { values }: MenuContext): MenuItem {
  return { id: "values", text: "Values", act: () => values(name) };
}

function copyName(name: string, context: MenuContext): MenuItem {
  return copy("copy-name", "Copy name", name, context);
}

function copyTensorName(name: string, context: MenuContext): MenuItem {
  return copy("copy-tensor-name", "Copy tensor name", name, context);
}

function copy(id: string, text: string, value: string, { actions }: MenuContext): MenuItem {
  const act = async () => {
    const done = await copyToClipboard(value);
    if (done) actions.showStatus({ kind: "notice", text: `Copied ${value}` });
    else
      actions.showStatus({
        kind: "error",
        text: `The browser does not allow copying here: ${value}`,
      });
  };
  return { id, text, act };
}

function selectNames(ops: string[], scopes: string[], { actions }: MenuContext): Promise<void> {
  return actions.selectRegion(
    { items: [], ops, scopes },
    { shape: "box", points: [], command: "set" },
  );
}

function portOf(tensor: string): string {
  return tensor.slice(tensor.lastIndexOf("/") + 1);
}

function short(label: string): string {
  return label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
}
