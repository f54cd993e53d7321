// The Model tab: what the graph is, its problems, and what can be done with the whole of it. It is
// asked for while nothing else is, after the drawing is there.
import type { Parts } from "../../interaction/parts";
import type { ModelEnd, ModelReply } from "../../protocol/messages";
import type { Screen } from "../../state/store";
import { selectField } from "../controls/form-fields";
import { appendFirst, opLink } from "../controls/name-list";
import { costText } from "../costs/cost-table";
import { breakableName, button, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import { withDrawnShapes } from "../shape-text";
import { graphCommands } from "./graph-commands";
import { createProblems, signatureRow } from "./problems";

/** Milliseconds without other requests before the kernel is asked. */
const IDLE = 300;
/** Inputs and outputs that are shown at first. */
const FEW = 6;
const BATCHES = { 1: "1", 8: "8", 32: "32", 128: "128" };

export function createModel(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const summary = element("div", { class: "tgw-model-summary" });
  const facts = element("div", { class: "tgw-model", "data-known": "false" });
  const problems = createProblems(parts);
  let [shown, asked, timer] = ["", "", 0];
  let last: ModelReply | null = null;
  // What was asked for of this graph, if it still is in view.
  const describe = async (
    what: Parameters<typeof actions.edits.describeModel>[0],
    byUser: boolean,
  ) => {
    const key = keyOf(store.value);
    const model = await actions.edits.describeModel(what, byUser);
    if (asked !== key) return null;
    if (model) show(model);
    else asked = "";
    return model;
  };
  const ask = async () => {
    asked = keyOf(store.value);
    facts.setAttribute("data-known", "false");
    const model = await describe({}, false);
    if (model?.is_small) await problems.look();
    else if (model) problems.forget();
    if (model?.is_ready && weighs(model)) await describe({ batch: 1 }, false);
    if (model) facts.setAttribute("data-known", "true");
  };
  const count: Count = async (what) => void (await describe({ ...what, large: true }, true));
  const show = (model: ModelReply) => {
    const text = JSON.stringify({ ...model, id: 0 });
    if (text === shown) return;
    shown = text;
    last = model;
    for (const part of [summary, facts]) releaseFocus(part);
    summary.replaceChildren(...summaryOf(model, count));
    facts.replaceChildren(...(model.is_complete ? boundaryAndSignatures(model, parts) : []));
  };
  store.watch(ASKED_WHILE, (screen) => {
    clearTimeout(timer);
    if (isInView(screen) && keyOf(store.value) !== asked)
      timer = window.setTimeout(() => isInView(store.value) && void ask(), IDLE);
  });
  const commands = graphCommands(parts, () => last);
  return element(
    "section",
    { class: "tgw-model-tab", "aria-label": "Model" },
    summary,
    commands.usual, // in sight in a small window, too
    facts,
    problems.root,
    commands.passes,
  );
}

const ASKED_WHILE = ["state", "tab", "panelOpen", "drawn", "pending", "kernelGone"] as const;

function isInView(screen: Pick<Screen, (typeof ASKED_WHILE)[number]>): boolean {
  const { state, tab, panelOpen, drawn, pending, kernelGone } = screen;
  return state !== null && tab === "model" && panelOpen && drawn && pending === 0 && !kernelGone;
}

/** What the facts depend on: not on the selection, nor on the view. */
function keyOf({ state }: Screen): string {
  return JSON.stringify([state?.path, state?.ops, state?.code, state?.values, state?.untrusted]);
}

/** Ask for what takes a moment. */
type Count = (what: { readonly batch?: number }) => Promise<void>;

/** Whether it has something to compute with. */
function weighs({ parameters, ops }: ModelReply): boolean {
  return parameters > 0 && ops > 0;
}

function summaryOf(model: ModelReply, count: Count): HTMLElement[] {
  const { title, inside, about, values, flops } = model;
  const name = element("p", { class: "tgw-name" }, breakableName(title));
  const line = (text: string) => element("p", { class: "tgw-model-line" }, text);
  return [
    name,
    ...(inside ? [line(`inside ${inside}`)] : []),
    line([...about, ...sizeTexts(model)].join(" · ")),
    ...(values ? [line(values)] : []),
    ...(model.is_complete ? [] : [largeLine(count)]),
    ...(weighs(model) || flops > 0 ? [flopsLine(model, count)] : []),
  ];
}

/** Of a large graph these are found on request. */
function largeLine(count: Count): HTMLElement {
  const title = "Find the inputs, outputs, parameters and signatures; this takes a moment";
  const text = "Find inputs, outputs and parameters";
  const find = taskButton({ class: "tgw-text-button", title }, () => count({}), text);
  return element("p", { class: "tgw-model-line" }, find);
}

function boundaryAndSignatures(model: ModelReply, parts: Parts): HTMLElement[] {
  const { signatures } = model;
  return [
    endsOf("Inputs", "inputs", model.inputs, model.input_count, parts),
    endsOf("Outputs", "outputs", model.outputs, model.output_count, parts),
    ...(signatures.length > 0
      ? [
          field(
            "Signatures",
            element(
              "ul",
              { class: "tgw-lint", "aria-label": "Signatures" },
              ...signatures.map((row) =>
                signatureRow(parts, row, (edit) => parts.actions.edits.fix(edit)),
              ),
            ),
          ),
        ]
      : []),
  ];
}

/** "3,379 ops", "27.2M parameters", "109 MB of float32". */
export function sizeTexts({ ops, variables, parameters, size, dtypes }: ModelReply): string[] {
  const count = (number: number, one: string) =>
    number === 0 ? "" : `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  const held = size > 0 ? `${costText(size, "bytes")}B of ${dtypes.join(", ")}` : "";
  const numbers = parameters > 0 ? `${costText(parameters, "parameters")} parameters` : "";
  return [count(ops, "op"), count(variables, "variable"), numbers, held].filter(Boolean);
}

/** The FLOPs, for a batch size that can be chosen; or the button that counts them. */
function flopsLine({ flops, batch }: ModelReply, count: Count): HTMLElement {
  if (flops < 0) {
    const title = "Count the floating-point operations of one run; this may take some seconds";
    const start = taskButton(
      { class: "tgw-text-button", title },
      () => count({ batch: 1 }),
      "Count FLOPs",
    );
    return element("p", { class: "tgw-model-line" }, start);
  }
  const text = `${costText(flops, "flops") || "0"} FLOPs`;
  if (batch === 0) return element("p", { class: "tgw-model-line" }, `${text} for a run`);
  const { select, value } = selectField("batch", { ...BATCHES, [batch]: String(batch) });
  select.setAttribute("aria-label", "Batch size of the FLOPs");
  select.value = String(batch);
  select.addEventListener("change", () => void count({ batch: Number(value()) }));
  return element("p", { class: "tgw-model-line" }, `${text} for a batch of `, select);
}

function field(title: string, ...body: HTMLElement[]): HTMLElement {
  const heading = element("h4", { class: "tgw-label" }, title);
  return element("div", { class: "tgw-field" }, heading, ...body);
}

/** Inputs or outputs: each leads there, and has a button that marks it. */
function endsOf(
  title: string,
  side: "inputs" | "outputs",
  ends: readonly ModelEnd[],
  total: number,
  { actions }: Parts,
): HTMLElement {
  const entryOf = ({ op, dtype, shape }: ModelEnd) => {
    const what = `Mark ${op} as ${side === "inputs" ? "input" : "output"} of a part`;
    const mark = button(
      { class: "tgw-tool tgw-pencil", title: what, "aria-label": what },
      () => actions.toggleBoundary(op, side),
      icon(ICONS[side === "inputs" ? "down" : "up"]),
    );
    const link = opLink(op, (name) => void actions.reveal(name), breakableName(op));
    const type = withDrawnShapes([dtype, shape].filter(Boolean).join(" "));
    return element(
      "li",
      { class: "tgw-model-end" },
      link,
      element("span", { class: "tgw-dtype" }, type),
      mark,
    );
  };
  const list = element("ul", { class: "tgw-tensors" });
  appendFirst(list, side, ends, entryOf, FEW, total);
  const none = element("p", { class: "tgw-none" }, "none found");
  const count = total > 1 ? ` (${total.toLocaleString("en")})` : "";
  return field(`${title}${count}`, ends.length > 0 ? list : none);
}
