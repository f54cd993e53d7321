// What can be done with the whole graph: the usual first, the passes in groups with headings, and a
// field that finds each by its name and by its names elsewhere.

import { quote } from "../../interaction/edits";
import { canEdit, type Parts } from "../../interaction/parts";
import { FORMS, type ModelEnd, type ModelReply } from "../../protocol/messages";
import { GRAPH_COMMANDS, inputSizeCommand, searchedPattern } from "../controls/edit-commands";
import {
  type ButtonEntry,
  buttonsWithForms,
  commandEntry,
  createForm,
  type EditCommand,
} from "../controls/edit-form";
import { TEXT, type Values } from "../controls/form-fields";
import { element } from "../dom";
import { insertCell } from "../history/insert-cell";
import { ADD_MODEL, COMPARE_WITH, otherGraphForm } from "../other-graphs/other-graphs";

const CLONE = {
  name: "Clone a part",
  title: "Mark where the part begins and ends, and clone it",
  command: "clone",
  keywords: "copy duplicate",
};
const EXPORT = {
  name: "Export",
  title: "Save the graph, the edits or a picture",
  command: "export",
  keywords: "save write SavedModel pb tflite onnx",
};
const OPTIMIZED = {
  name: "Compare with TensorFlow's optimizer",
  title:
    "Show what TensorFlow's graph optimizer (grappler) folds, fuses and removes; " +
    "the graph stays as it is",
  command: "optimized",
};

const OPEN_CHECKPOINT = {
  name: "Open checkpoint",
  title: "Give the variables the values that a checkpoint has by their names",
  command: "restore",
  keywords: "restore load weights values ckpt Saver sync",
};

/** What leaves the graph as it is, by its commands. */
const LOOKS = new Set<string>([EXPORT.command, COMPARE_WITH.command]);

/** What is not an edit of this graph alone: it is found as the edits are. */
export const OTHER_COMMANDS: readonly Called[] = [
  CLONE,
  EXPORT,
  inputSizeCommand([]),
  OPEN_CHECKPOINT,
  ADD_MODEL,
  COMPARE_WITH,
  OPTIMIZED,
];

/** The commands by their groups, in the order of the registry; those of "" come first. */
export function commandGroups(commands: readonly EditCommand[]): Map<string, EditCommand[]> {
  const groups = new Map<string, EditCommand[]>();
  for (const command of commands)
    groups.set(command.group ?? "", [...(groups.get(command.group ?? "") ?? []), command]);
  return groups;
}

type Called = Pick<EditCommand, "name" | "title" | "keywords"> & { readonly command: string };

/** Whether all words of a text are in the name, the tooltip or another name of a command. */
export function isCalled({ name, title, command, keywords = "" }: Called, text: string): boolean {
  const names = `${name} ${title} ${command} ${keywords}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => names.includes(word));
}

/**
 * The command with what the model proposes: the outputs to freeze, unless some are marked, and a
 * batch size that it does not have; and with the pattern that is searched for.
 */
export function filledIn(
  command: EditCommand,
  model: ModelReply | null,
  isMarked: boolean,
  pattern = "",
): EditCommand {
  const { outputs = [], output_count: total = 0, inputs = [] } = model ?? {};
  const isOpen = inputs.some(({ shape }) => shape.startsWith("(None"));
  const isShort = !isMarked && total > 0 && total === outputs.length && total <= FEW;
  const proposals: Readonly<Record<string, string>> = {
    "freeze.outputs": isShort
      ? `[${outputs.map(({ tensor }) => quote(nameOf(tensor))).join(", ")}]`
      : "",
    "change_batch_size.size": isOpen ? "1" : "None",
    "replace_all.pattern": pattern,
  };
  const fields = command.fields?.map((field) => {
    const initial = proposals[`${command.command}.${field.key}`];
    return initial ? { ...field, initial } : field;
  });
  return fields ? { ...command, fields } : command;
}

/** Outputs that a field can show. */
const FEW = 6;

/** The first tensor of an op is called as the op is. */
function nameOf(tensor: string): string {
  return tensor.replace(/:0$/, "");
}

/** The usual commands with the field that finds all, and below the facts the passes. */
interface GraphCommands {
  readonly usual: HTMLElement;
  readonly passes: HTMLElement;
}

/** `model` is what is known of the graph. */
export function graphCommands(parts: Parts, model: () => ModelReply | null): GraphCommands {
  const filter = element("input", {
    ...TEXT,
    type: "search",
    placeholder: "Find what to do",
    "aria-label": "Find what to do with the whole graph",
    title: "By what it does, or by its name elsewhere, such as strip_unused_nodes or float16",
  });
  const groups = [...commandGroups(GRAPH_COMMANDS)].map(([title, commands]) => {
    const edits = commands.map((command) => ({
      ...command,
      ...commandEntry(command, parts, () => {
        const isMarked = (parts.store.value.state?.outputs.length ?? 0) > 0;
        return filledIn(command, model(), isMarked, searchedPattern(parts.store));
      }),
    }));
    return title === ""
      ? groupOf(
          title,
          usualCommands(edits, parts, () => model()?.inputs ?? []),
          parts,
        )
      : groupOf(title, edits, parts);
  });
  const none = element("p", { class: "tgw-none", hidden: true }, "Nothing of that name");
  const show = () => {
    const isFixed = !canEdit(parts);
    let count = 0;
    for (const { root, commands } of groups) {
      const shown = commands.filter(
        (command) => isCalled(command, filter.value) && (!isFixed || LOOKS.has(command.command)),
      );
      const names = new Set<string>(shown.map(({ command }) => command));
      for (const one of root.querySelectorAll<HTMLElement>("[data-change]"))
        one.hidden = !names.has(one.getAttribute("data-change") ?? "");
      root.hidden = shown.length === 0;
      count += shown.length;
    }
    none.hidden = count > 0;
  };
  // What cannot be edited says so in place of the edits.
  const why = element("p", { class: "tgw-model-line", hidden: true });
  parts.store.watch(["state"], ({ state }) => {
    const reason = state?.fixed ?? "";
    if (why.textContent === reason) return;
    why.textContent = reason;
    why.hidden = reason === "";
    filter.hidden = reason !== "";
    show();
  });
  filter.addEventListener("input", show);
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || filter.value === "") return;
    event.stopPropagation();
    filter.value = "";
    show();
  });
  const [usual, ...passes] = groups.map(({ root }) => root);
  const section = (label: string, ...body: HTMLElement[]) =>
    element("section", { class: "tgw-graph-commands", "aria-label": label }, ...body);
  return {
    usual: section("What to do with the whole graph", filter, why, ...(usual ? [usual] : []), none),
    passes: section("Passes", ...passes),
  };
}

type Command = Called & ButtonEntry;

interface CommandGroup {
  readonly root: HTMLElement;
  readonly commands: readonly Called[];
}

/** Buttons, each with the name of its command, below a heading if they have one. */
function groupOf(title: string, commands: readonly Command[], parts: Parts): CommandGroup {
  const heading = title ? [element("p", { class: "tgw-subtitle" }, title)] : [];
  const buttons = buttonsWithForms(title || "Do with the whole", commands, parts);
  return { root: element("div", { class: "tgw-command-group" }, ...heading, buttons), commands };
}

/** The usual edits, and beside them what is not an edit of this graph alone. */
function usualCommands(
  edits: readonly Command[],
  parts: Parts,
  inputs: () => readonly ModelEnd[],
): readonly Command[] {
  const others = [ADD_MODEL, COMPARE_WITH].map((other) => ({
    ...other,
    form: (close: () => void) => otherGraphForm(other, parts, close),
  }));
  const size = inputSizeCommand([]);
  const restore = ({ path = "" }: Values) => parts.actions.edits.restore(path);
  return [
    { ...CLONE, opens: true, act: async () => beginPart(parts) },
    { ...EXPORT, opens: true, act: async (control) => openExportMenu(control) },
    ...edits,
    { ...size, ...commandEntry(size, parts, () => inputSizeCommand(inputs())) },
    {
      ...OPEN_CHECKPOINT,
      form: (close) =>
        createForm({ fields: FORMS.restore, apply: restore, submit: "Open" }, parts, close),
    },
    ...others,
    { ...OPTIMIZED, act: (control) => optimize(parts, control) },
  ];
}

/** The next click marks where the part begins. */
function beginPart({ store, actions }: Parts): void {
  store.set({ tab: "selection" });
  actions.setMode("input");
  actions.showStatus({
    kind: "notice",
    text: "Click where the part begins; then choose Output and click where it ends.",
  });
}

function openExportMenu(control: HTMLElement): void {
  const root = control.closest(".tfgraphwidget");
  root?.querySelector<HTMLElement>(".tgw-opener[aria-label='Export']")?.click();
}

/**
 * What TensorFlow's optimizer would make of the graph, as differences in the drawing; and on
 * request in a cell.
 */
async function optimize({ store, actions }: Parts, control: HTMLElement): Promise<void> {
  if (!(await actions.edits.optimize())) return;
  const { status } = store.value;
  const open = async () => {
    if (await insertCell(control, "optimized = editor.passes.grappler()\noptimized.editor")) return;
    actions.showStatus({
      kind: "notice",
      text:
        "There is no notebook here for a cell; " +
        "open the graph in one to see the optimized graph in its own widget.",
    });
  };
  const beside = {
    text: "Open in a cell",
    title: "Show the optimized graph below, in a widget of its own",
    act: open,
  };
  if (status?.kind === "notice") actions.showStatus({ ...status, actions: [beside] });
}
