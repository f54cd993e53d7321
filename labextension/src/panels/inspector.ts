// The inspector: everything about the op or scope that was clicked; every op it names leads there.
import { breakable, button, element, ICONS, icon, releaseFocus } from "../dom";
import type { Inspected } from "../protocol";
import { sizeText } from "../scene";
import { verbsOf } from "../verbs";
import { doorsAndAround } from "./doors";
import { createExamined } from "./examined";
import { hideButtons } from "./filter";
import { verbButtons } from "./forms";
import type { Parts } from "./parts";
import { section } from "./section";
import { attributesOf, controlsOf, inputsOf, outputsOf } from "./tensors";
import { traceButtons } from "./trace";

export function createInspector(parts: Parts): HTMLElement {
  const body = element("div", { class: "tgw-inspector" });
  const examined = createExamined(parts);
  parts.store.watch(["details"], ({ details }) => {
    body.setAttribute("data-name", details?.name ?? "");
    releaseFocus(body);
    body.replaceChildren(...(details ? contents(details, parts, examined) : [nothing()]));
  });
  return section("Inspector", {}, [], body);
}

function nothing(): HTMLElement {
  return element("p", { class: "tgw-hint" }, "Click an op or a scope to see what it is.");
}

function contents(details: Inspected, parts: Parts, examined: HTMLElement): HTMLElement[] {
  const go = (name: string) => void parts.actions.reveal(name);
  const isOp = details.op_type !== "";
  const name = details.name.replace(/\/$/, "") || "the whole graph";
  const facts = element("dl", { class: "tgw-facts" });
  if (isOp) addFact(facts, "Type", details.op_type);
  if (details.device) addFact(facts, "Device", details.device);
  if (!isOp) addFact(facts, "Holds", sizeText(details.ops, details.variables));
  return [
    element("p", { class: "tgw-name" }, breakable(name)),
    facts,
    ...(isOp ? [markButtons(details.name, parts)] : []),
    ...doorsAndAround(details, parts),
    examined,
    traceButtons(details.name, parts),
    hideButtons(details.name, parts),
    verbButtons(isOp ? "Edit this op" : "Edit this scope", verbsOf(details), parts),
    ...inputsOf(details, parts, go),
    ...outputsOf(details, parts, go),
    ...controlsOf(details, parts, go),
    ...attributesOf(details, parts),
  ];
}

function addFact(list: HTMLElement, term: string, value: string): void {
  list.append(element("dt", {}, term), element("dd", {}, breakable(value)));
}

/** What Shift-click and Alt-click do, for those who have no mouse. */
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
