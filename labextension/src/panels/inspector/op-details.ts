// Inspector: current value, preview, signature, documentation and creation site of an op.
import type { Parts } from "../../interaction/parts";
import type { ExamineReply, InspectReply } from "../../protocol/messages";
import { copyTools } from "../controls/copy-button";
import { breakableName, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import { variableButton } from "../forms/variable-form";
import { withDrawnShapes } from "../shape-text";
import { preview, scaleOf } from "./preview";
import { valueEntry } from "./value-summary";

/** Folds that are open until the user closes them; the same for all ops. */
const OPEN_FIRST = ["Value", "Preview"];

export function createOpDetails(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const root = element("div", { class: "tgw-examined" });
  const open = new Set(OPEN_FIRST);
  const again = (name: string) => actions.examine(name);
  let last = "";
  store.watch(["details"], ({ details }) => {
    const { examined } = store.value;
    if (examined && examined.name !== details?.name) store.set({ examined: null });
    const key = details ? examinedKey(details) : "";
    if (details && key !== last) void actions.examine(details.name);
    last = key;
  });
  store.watch(["details", "examined"], ({ details, examined }) => {
    const shown = isAbout(examined, details) ? examined : null;
    root.setAttribute("data-name", shown?.name ?? "");
    releaseFocus(root);
    const summary = shown?.summary
      ? [element("p", { class: "tgw-doc" }, ...withCode(shown.summary))]
      : [];
    root.replaceChildren(...summary, ...(shown ? folds(shown, open, again, parts) : []));
  });
  return root;
}

/**
 * What the value, signature and documentation depend on: not on consumers, so that a clone requests
 * nothing.
 */
export function examinedKey({
  name,
  op_type,
  attributes,
  called_functions,
  outputs,
}: InspectReply): string {
  const types = op_type === "" ? [] : outputs.map(({ dtype, shape }) => [dtype, shape]);
  return JSON.stringify([name, op_type, attributes, called_functions, types]);
}

/** Whether a reply is about the inspected item. */
export function isAbout(examined: ExamineReply | null, details: InspectReply | null): boolean {
  return examined !== null && examined.name === details?.name;
}

type ReadAgain = (name: string) => Promise<void>;

function folds(
  shown: ExamineReply,
  open: Set<string>,
  again: ReadAgain,
  from: Parts,
): HTMLElement[] {
  const parts: [string, HTMLElement[]][] = [
    ["Value", currentValue(shown, again, from)],
    ["Preview", shown.images.map((image, _, all) => preview(image, scaleOf(image, all.length)))],
    [
      "Signature",
      shown.signature.length > 0
        ? [
            entries(
              shown.signature.map(([sort, name, type]) => [sort, name, withDrawnShapes(type)]),
            ),
          ]
        : [],
    ],
    ["Documentation", documentation(shown)],
    ["Created at", createdAt(shown.created)],
  ];
  return parts
    .filter(([, held]) => held.length > 0)
    .map(([title, held]) => fold(title, held, open));
}

function fold(title: string, held: HTMLElement[], open: Set<string>): HTMLElement {
  const body = element(
    "div",
    { class: `tgw-fold-body tgw-fold-${title.split(" ")[0]?.toLowerCase()}` },
    ...held,
  );
  const entry = element(
    "details",
    { class: "tgw-details", open: open.has(title) },
    element("summary", { class: "tgw-label" }, title),
    body,
  );
  entry.addEventListener("toggle", () => (entry.open ? open.add(title) : open.delete(title)));
  return entry;
}

function currentValue(
  { name, value, why }: ExamineReply,
  again: ReadAgain,
  parts: Parts,
): HTMLElement[] {
  const variable = parts.readOnly ? [] : variableButton(name, parts);
  if (!value) return why ? [element("p", { class: "tgw-hint" }, why), ...variable] : [];
  const refresh = taskButton(
    { class: "tgw-text-button", title: "Read the value again" },
    () => again(name),
    icon(ICONS.refresh),
    "Read again",
  );
  return [
    element(
      "div",
      { class: "tgw-titled" },
      element("span", { class: "tgw-dtype" }, value.dtype),
      refresh,
    ),
    valueEntry(value, "Current value"),
    ...variable,
  ];
}

function documentation({ about, arguments: held }: ExamineReply): HTMLElement[] {
  return [
    ...(held.length > 0 ? [entries(held)] : []),
    ...(about ? [element("p", { class: "tgw-doc tgw-about" }, ...withCode(about))] : []),
  ];
}

/** Text, with the parts between backticks as code. */
function withCode(text: string): (string | HTMLElement)[] {
  return text
    .split(/`([^`\n]+)`/)
    .map((part, k) => (k % 2 === 1 ? element("code", {}, part) : part));
}

/** Rows of name, sort and text. */
function entries(rows: readonly (readonly [string, string, string])[]): HTMLElement {
  const list = element("dl", { class: "tgw-arguments" });
  for (const [sort, name, text] of rows)
    list.append(
      element(
        "dt",
        {},
        element("code", {}, breakableName(name)),
        element("span", { class: "tgw-dtype" }, sort),
      ),
      element("dd", {}, ...withCode(text)),
    );
  return list;
}

function createdAt(lines: readonly string[]): HTMLElement[] {
  if (lines.length === 0) return [];
  const list = element("ol", {
    class: "tgw-code tgw-stack",
    "aria-label": "Stack trace of its creation, innermost call last",
  });
  for (const line of lines) list.append(element("li", { "data-line": line }, breakableName(line)));
  return [element("div", { class: "tgw-titled" }, ...copyTools(list, "Copy the lines")), list];
}
