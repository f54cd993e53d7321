// The inspector: all facts about the clicked op or scope, with links to the ops that it names.
import type { Actions } from "../../interaction/actions";
import { canEdit, type Parts } from "../../interaction/parts";
import type { SelectionCommandName } from "../../interaction/selection-commands";
import type { CalledFunction, ControlFlowContext, InspectReply } from "../../protocol/messages";
import { at, sizeText, visibleItem } from "../../protocol/scene";
import type { Store } from "../../state/store";
import { commandsFor } from "../controls/edit-commands";
import { commandForm, editButtons, pencilButton } from "../controls/edit-form";
import { FormSlot } from "../controls/form-slot";
import { breakableName, button, element, ICONS, icon, releaseFocus, scrollToShow } from "../dom";
import { hideButtons } from "../selection/hide-ops";
import { createOpDetails } from "./op-details";
import { attributesOf, controlsOf, inputsOf, outputsOf } from "./tensors";

export function createInspector(parts: Parts): HTMLElement {
  const body = element("div", { class: "tgw-inspector" });
  const examined = createOpDetails(parts);
  const hint = element("p", { class: "tgw-hint" }, "Click an op or a scope to inspect it.");
  let shown: unknown[] = [];
  parts.store.watch(["details", "paint", "scene"], ({ details }) => {
    // An edit may leave the facts of an item as they were, and its edges without effect.
    const now = [details, ...(details ? edgeStates(details.name, parts.store) : [])];
    if (now.length === shown.length && now.every((one, k) => one === shown[k])) return;
    shown = now;
    const name = details?.name ?? "";
    const page = body.closest(".tgw-tab-page");
    // the name of another item is in view
    if (page && name !== body.dataset["name"]) page.scrollTop = 0;
    body.setAttribute("data-name", name);
    releaseFocus(body);
    hint.hidden = details !== null;
    body.replaceChildren(...(details ? contents(details, parts, examined) : []));
  });
  parts.store.watch(["run"], ({ run }) => {
    const value =
      run?.name === body.dataset["name"] ? body.querySelector(".tgw-outputs .tgw-seen") : null;
    if (value) scrollToShow(value);
  });
  return element("section", { "aria-label": "Inspector" }, hint, body);
}

function contents(details: InspectReply, parts: Parts, examined: HTMLElement): HTMLElement[] {
  const go = (name: string) => void parts.actions.reveal(name);
  const isOp = details.op_type !== "";
  const name = details.name.replace(/\/$/, "") || "the whole graph";
  const leave = button(
    {
      class: "tgw-text-button",
      title: "Inspect nothing (Esc)",
      "aria-label": "Close the inspector",
    },
    () => void parts.actions.inspectItem(0),
    "Close",
  );
  const facts = element("dl", { class: "tgw-facts" });
  if (isOp) facts.append(...typeFact(details, parts));
  if (details.device) addFact(facts, "Device", details.device);
  if (!isOp) addFact(facts, "Holds", sizeText(details.ops, details.variables));
  for (const state of edgeStates(details.name, parts.store)) addFact(facts, "Edges", state);
  for (const effect of details.effects) addFact(facts, "Effect", effect);
  if (details.effects.length > 0) addFact(facts, "Runs", "only if you trust the file");
  return [
    element(
      "div",
      { class: "tgw-titled" },
      element("p", { class: "tgw-name" }, breakableName(name)),
      leave,
    ),
    facts,
    ...likeButtons(details, parts),
    ...(isOp ? [markButtons(details.name, parts)] : []),
    ...functionsAndContexts(details, parts),
    examined,
    traceButtons(details.name, parts),
    hideButtons(details.name, parts),
    ...(canEdit(parts) ? [commandButtons(details, parts)] : []),
    ...inputsOf(details, parts, go),
    ...outputsOf(details, parts, go),
    ...controlsOf(details, parts, go),
    ...attributesOf(details, parts),
  ];
}

/**
 * How many more are like this, which the drawing outlines: one click selects them, another finds
 * its pattern, of which all matches can be replaced.
 */
function likeButtons({ name, op_type, alike, alike_count }: InspectReply, parts: Parts) {
  if (alike_count === 0) return [];
  const { actions } = parts;
  const count = alike_count.toLocaleString("en");
  const select = button(
    { class: "tgw-button", title: `Select this and ${alike.length} that are like it` },
    () => void actions.selectAll([name, ...alike]),
    `×${count} more ${op_type ? "of this type" : "like this"}`,
  );
  const replace = button(
    { class: "tgw-button", title: "Find the pattern of this, to replace all of its matches" },
    () => void actions.findLike([name]),
    "Replace all …",
  );
  return [element("div", { class: "tgw-buttons" }, select, ...(canEdit(parts) ? [replace] : []))];
}

/** That an item has no edges, or that edits have taken its consumers. */
function edgeStates(name: string, { value: { scene, paint } }: Store): string[] {
  const item = scene ? visibleItem(scene, name) : -1;
  if (!scene || item <= 0) return [];
  const unused = paint !== null && at(paint.unused, item) === 1;
  return [
    at(scene.isolated, item) === 1 ? "not connected" : "",
    unused ? "unused: edits have left it without consumers" : "",
  ].filter(Boolean);
}

/** The type of an op, which can be replaced by another. */
function typeFact(details: InspectReply, parts: Parts): HTMLElement[] {
  const replace = commandsFor(details).find(({ command }) => command === "replace");
  const slot = new FormSlot(parts);
  const shown = element(
    "div",
    { class: "tgw-titled" },
    element("span", {}, breakableName(details.op_type)),
  );
  if (replace && canEdit(parts))
    shown.append(
      pencilButton("Replace by another op type", slot, () =>
        commandForm(replace, parts, slot.close),
      ),
    );
  return [element("dt", {}, "Type"), element("dd", {}, shown), slot.root];
}

function commandButtons(details: InspectReply, parts: Parts): HTMLElement {
  return editButtons(
    details.op_type === "" ? "Edit this scope" : "Edit this op",
    commandsFor(details),
    parts,
  );
}

function addFact(list: HTMLElement, term: string, value: string): void {
  list.append(element("dt", {}, term), element("dd", {}, breakableName(value)));
}

/** The same as Shift-click and Alt-click, without a mouse. */
function markButtons(name: string, { actions }: Parts): HTMLElement {
  const row = element("div", { class: "tgw-buttons" });
  row.append(
    button(
      { class: "tgw-button", title: "Mark or unmark as input boundary (i)" },
      () => actions.toggleBoundary(name, "inputs"),
      icon(ICONS.down),
      "Input",
    ),
    button(
      { class: "tgw-button", title: "Mark or unmark as output boundary (o)" },
      () => actions.toggleBoundary(name, "outputs"),
      icon(ICONS.up),
      "Output",
    ),
  );
  return row;
}

// The functions that an op calls, with buttons that enter them, and the loops and conditionals
// around an op.

export function functionText({ label, function: name, ops }: CalledFunction): string {
  return `Enter ${label ? `${label}: ` : ""}${name} (${sizeText(ops, 0)})`;
}

export function contextText({ kind, name, ops }: ControlFlowContext): string {
  return `in ${kind} '${name}' (${sizeText(ops, 0)})`;
}

function functionsAndContexts(
  { name, called_functions, contexts }: InspectReply,
  { actions }: Parts,
): HTMLElement[] {
  const links = called_functions.map((called) =>
    button(
      {
        class: "tgw-button tgw-called-function",
        "data-label": called.label,
        title: functionText(called),
      },
      () => actions.enter(name, called.label),
      icon(ICONS.enter),
      element("span", {}, functionText(called)),
    ),
  );
  const list = element("ul", { class: "tgw-contexts" });
  for (const one of contexts) list.append(element("li", {}, contextText(one)));
  return [
    ...(links.length > 0 ? [element("div", { class: "tgw-functions" }, ...links)] : []),
    ...(contexts.length > 0 ? [list] : []),
  ];
}

// Tracing from the inspected item: select what it depends on, what depends on it, or a path to
// another op.

interface TraceContext {
  readonly store: Store;
  readonly actions: Pick<Actions, "selectRegion" | "derive" | "showStatus">;
}

/**
 * "Trace: Upstream · Downstream · Path to…"; a path begins at an op, so a scope has no third
 * button.
 */
function traceButtons(name: string, parts: Parts): HTMLElement {
  const tool = (text: string, title: string, act: () => unknown, ...before: Node[]) =>
    button(
      { class: "tgw-button", title, "aria-label": `Trace ${text.toLowerCase()}` },
      act,
      ...before,
      text,
    );
  const op = isOp(parts.store, name);
  const row = element(
    "div",
    { class: "tgw-derive tgw-trace", role: "group", "aria-label": "Trace" },
    element("span", { class: "tgw-label", "aria-hidden": "true" }, "Trace"),
    tool("Upstream", "Select it and all ops it depends on", () =>
      trace(parts, name, "upstream", !op),
    ),
    tool("Downstream", "Select it and all ops that depend on it", () =>
      trace(parts, name, "downstream", !op),
    ),
  );
  if (op) {
    const title = "Click another op to select all ops on the path";
    row.append(tool("Path to …", title, () => pickPath(parts, name), icon(ICONS.target)));
  }
  return row;
}

function isOp({ value: { details } }: Store, name: string): boolean {
  return details?.name === name && details.op_type !== "";
}

/** Select an op, or a scope's ops, with everything it needs or that needs it. */
export async function trace(
  { actions }: TraceContext,
  name: string,
  command: SelectionCommandName,
  isScope = false,
): Promise<void> {
  // Both take their turn now: nothing comes between them.
  void selectOps(actions, isScope ? [] : [name], isScope ? [name] : []);
  await actions.derive(command);
}

/** The op that is clicked next is the other end of a path. */
export function pickPath({ store, actions }: TraceContext, name: string): void {
  const ask = `Click the other end of the path from ${name}; press Escape to cancel.`;
  store.set({
    picking: { ask, take: (other) => void selectPath({ store, actions }, name, other) },
  });
}

/** Select all ops between two, whichever comes first. */
export async function selectPath(
  { actions }: TraceContext,
  first: string,
  last: string,
): Promise<void> {
  if (first === last) {
    const text = "A path needs two different ops: click Path to … again, then another op.";
    return actions.showStatus({ kind: "refused", text });
  }
  void selectOps(actions, [first, last], []);
  await actions.derive("path");
}

function selectOps(
  actions: TraceContext["actions"],
  ops: string[],
  scopes: string[],
): Promise<void> {
  return actions.selectRegion(
    { items: [], ops, scopes },
    { shape: "box", points: [], command: "set" },
  );
}
