// The inspector of a page: everything about what was clicked, and nothing that would change it.
import { breakable, element, releaseFocus } from "../../dom";
import { doorsAndAround } from "../../panels/doors";
import { createExamined } from "../../panels/examined";
import { hideButtons } from "../../panels/filter";
import type { createInspector as Original } from "../../panels/inspector";
import type { Parts } from "../../panels/parts";
import { section } from "../../panels/section";
import { attributesOf, controlsOf, inputsOf, outputsOf } from "../../panels/tensors";
import { traceButtons } from "../../panels/trace";
import type { Inspected } from "../../protocol";
import { sizeText } from "../../scene";

export const createInspector: typeof Original = (parts) => {
  const body = element("div", { class: "tgw-inspector" });
  const examined = createExamined(parts);
  const nothing = () => element("p", { class: "tgw-hint" }, "Click an op or a scope to see what it is.");
  parts.store.watch(["details"], ({ details }) => {
    body.setAttribute("data-name", details?.name ?? "");
    releaseFocus(body);
    body.replaceChildren(...(details ? contents(details, parts, examined) : [nothing()]));
  });
  return section("Inspector", {}, [], body);
};

function contents(details: Inspected, parts: Parts, examined: HTMLElement): HTMLElement[] {
  const go = (name: string) => void parts.actions.reveal(name);
  const { name, op_type: type, device, ops, variables } = details;
  const facts = element("dl", { class: "tgw-facts" });
  const fact = (term: string, value: string) =>
    facts.append(element("dt", {}, term), element("dd", {}, breakable(value)));
  if (type !== "") fact("Type", type);
  else fact("Holds", sizeText(ops, variables));
  if (device) fact("Device", device);
  return [
    element("p", { class: "tgw-name" }, breakable(name.replace(/\/$/, "") || "the whole graph")),
    facts,
    ...doorsAndAround(details, parts),
    examined,
    traceButtons(name, parts),
    hideButtons(name, parts),
    ...inputsOf(details, parts, go),
    ...outputsOf(details, parts, go),
    ...controlsOf(details, parts, go),
    ...attributesOf(details, parts),
  ];
}
