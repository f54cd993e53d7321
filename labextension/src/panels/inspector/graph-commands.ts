// The edits of the whole graph in groups with headings, and a field that finds them by their names
// and others.
import type { Parts } from "../../interaction/parts";
import { GRAPH_COMMANDS } from "../controls/edit-commands";
import { buttonsWithForms, type EditCommand, editButtons } from "../controls/edit-form";
import { TEXT } from "../controls/form-fields";
import { element, taskButton } from "../dom";
import { insertCell } from "../history/insert-cell";
import { ADD_MODEL, COMPARE_WITH } from "../other-graphs/other-graphs";
import { CHECK, lintList } from "./lint-list";

/** The group of what takes another graph: it stands behind those of the edits of this one. */
const OTHER_GRAPHS = "Other graphs";
const OPTIMIZED = {
  name: "Compare with TensorFlow's optimizer",
  title:
    "Show what TensorFlow's graph optimizer (grappler) folds, fuses and removes; " +
    "the graph stays as it is",
  verb: "optimized",
};

/** What takes another graph: it is found as the edits are. */
export const OTHER_GRAPH_COMMANDS: readonly Called[] = [ADD_MODEL, COMPARE_WITH, OPTIMIZED];

/** The commands by their groups, in the order of the registry. */
export function commandGroups(commands: readonly EditCommand[]): Map<string, EditCommand[]> {
  const groups = new Map<string, EditCommand[]>();
  for (const command of commands)
    groups.set(command.group ?? "", [...(groups.get(command.group ?? "") ?? []), command]);
  return groups;
}

type Called = Pick<EditCommand, "name" | "title" | "keywords"> & { readonly verb: string };

/** Whether all words of a text are in the name, the tooltip or another name of an edit. */
export function isCalled({ name, title, verb, keywords = "" }: Called, text: string): boolean {
  const names = `${name} ${title} ${verb} ${keywords}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => names.includes(word));
}

export function graphCommands(parts: Parts): HTMLElement {
  const heading = element("p", { class: "tgw-label" }, "Whole graph");
  const filter = element("input", {
    ...TEXT,
    type: "search",
    placeholder: "Find an edit",
    "aria-label": "Find an edit of the whole graph",
    title: "By what it does, or by its name elsewhere, such as strip_unused_nodes or float16",
  });
  const groups = [
    ...[...commandGroups(GRAPH_COMMANDS)].map(([title, commands]) =>
      groupOf(title, commands, editButtons(title, commands, parts)),
    ),
    groupOf(OTHER_GRAPHS, OTHER_GRAPH_COMMANDS, otherGraphButtons(parts)),
  ];
  const findings = lintList(parts);
  const none = element("p", { class: "tgw-none", hidden: true }, "No edit of that name");
  const show = () => {
    let count = 0;
    for (const { root, buttons, commands } of groups) {
      const shown = commands.filter((command) => isCalled(command, filter.value));
      const verbs = new Set<string>(shown.map(({ verb }) => verb));
      for (const one of buttons.querySelectorAll<HTMLElement>("[data-change]"))
        one.hidden = !verbs.has(one.getAttribute("data-change") ?? "");
      root.hidden = shown.length === 0;
      count += shown.length;
    }
    findings.hidden = !isCalled(CHECK, filter.value);
    none.hidden = count > 0 || !findings.hidden;
  };
  filter.addEventListener("input", show);
  filter.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || filter.value === "") return;
    event.stopPropagation();
    filter.value = "";
    show();
  });
  return element(
    "section",
    { class: "tgw-graph-commands", "aria-label": "Edits of the whole graph" },
    heading,
    filter,
    ...groups.map(({ root }) => root),
    none,
    findings,
  );
}

interface CommandGroup {
  readonly root: HTMLElement;
  readonly buttons: HTMLElement;
  readonly commands: readonly Called[];
}

/** A group of buttons, each with the verb of its command, below a heading. */
function groupOf(title: string, commands: readonly Called[], buttons: HTMLElement): CommandGroup {
  const heading = element("p", { class: "tgw-subtitle" }, title);
  return {
    root: element("div", { class: "tgw-command-group" }, heading, buttons),
    buttons,
    commands,
  };
}

function otherGraphButtons(parts: Parts): HTMLElement {
  const forms = [ADD_MODEL, COMPARE_WITH].map((form) => ({
    ...form,
    form: (close: () => void) => form.create(parts, "", close),
  }));
  return buttonsWithForms(OTHER_GRAPHS, forms, parts, optimizeButton(parts));
}

/**
 * What TensorFlow's optimizer would make of the graph, as differences in the drawing; and on
 * request in a cell.
 */
function optimizeButton(parts: Parts): HTMLButtonElement {
  const control = taskButton(
    { class: "tgw-button", title: OPTIMIZED.title, "data-change": OPTIMIZED.verb },
    async () => {
      if (!(await parts.actions.edits.optimize())) return;
      const { status } = parts.store.value;
      const open = async () => {
        if (await insertCell(control, "optimized = editor.passes.grappler()\noptimized.editor"))
          return;
        parts.actions.showStatus({
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
      if (status?.kind === "notice") parts.actions.showStatus({ ...status, actions: [beside] });
    },
    OPTIMIZED.name,
  );
  return control;
}
