// The inspector: everything about the op or scope that was clicked; every op it names leads there.
import { opOf } from "../actions";
import { breakable, button, element, ICONS, icon, releaseFocus } from "../dom";
import type { Inspected, Tensor } from "../protocol";
import { sizeText } from "../scene";
import { doorsAndAround } from "./doors";
import { more } from "./more";
import type { Parts } from "./parts";
import { opLink } from "./search";
import { section } from "./section";

/** Longer lists are cut: an op may feed thousands. */
const PEERS = 30;

export function createInspector(parts: Parts): HTMLElement {
  const body = element("div", { class: "tgw-inspector", "aria-live": "polite" });
  parts.store.watch(["details"], ({ details }) => {
    body.setAttribute("data-name", details?.name ?? "");
    releaseFocus(body);
    body.replaceChildren(...(details ? contents(details, parts) : [nothing()]));
  });
  return section("Inspector", { class: "tgw-inspector-section" }, [], body);
}

function nothing(): HTMLElement {
  return element("p", { class: "tgw-hint" }, "Click an op or a scope to see what it is.");
}

function contents(details: Inspected, parts: Parts): HTMLElement[] {
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
    ...tensors("Inputs", details.inputs, "from", go),
    ...tensors("Outputs", details.outputs, "to", go),
    ...controls(details.control_inputs, go),
    ...attributes(details.attributes),
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

function tensors(
  title: string,
  list: readonly Tensor[],
  word: string,
  go: (name: string) => void,
): HTMLElement[] {
  if (list.length === 0) return [];
  const entries = element("ul", { class: "tgw-tensors" });
  for (const tensor of list.slice(0, PEERS)) entries.append(tensorEntry(tensor, word, go));
  if (list.length > PEERS) entries.append(more(list.length - PEERS));
  return [titled(`${title} (${list.length})`, entries)];
}

function tensorEntry(tensor: Tensor, word: string, go: (name: string) => void): HTMLElement {
  const kind = [tensor.dtype, tensor.shape].filter(Boolean).join(" ");
  const about = element("span", { class: "tgw-dtype" }, kind);
  const [first, ...others] = tensor.peers;
  // An input comes from the op it is named after: once is enough.
  if (first === opOf(tensor.name) && others.length === 0)
    return element("li", {}, opLink(first, go, breakable(tensor.name)), about);
  const peers = element("ul", { class: "tgw-list", "aria-label": word });
  for (const peer of tensor.peers.slice(0, PEERS))
    peers.append(element("li", {}, opLink(peer, go, breakable(peer))));
  if (tensor.peers.length > PEERS) peers.append(more(tensor.peers.length - PEERS));
  return element("li", {}, element("span", { class: "tgw-tensor" }, breakable(tensor.name)), about, peers);
}

function controls(names: readonly string[], go: (name: string) => void): HTMLElement[] {
  if (names.length === 0) return [];
  const list = element("ul", { class: "tgw-list" });
  for (const name of names.slice(0, PEERS)) list.append(element("li", {}, opLink(name, go, breakable(name))));
  if (names.length > PEERS) list.append(more(names.length - PEERS));
  return [titled(`Control inputs (${names.length})`, list)];
}

function attributes(pairs: readonly (readonly [string, string])[]): HTMLElement[] {
  if (pairs.length === 0) return [];
  const list = element("dl", { class: "tgw-facts tgw-attributes" });
  for (const [name, value] of pairs) addFact(list, name, value);
  return [titled("Attributes", list)];
}

function titled(title: string, body: HTMLElement): HTMLElement {
  return element("div", { class: "tgw-field" }, element("h4", { class: "tgw-label" }, title), body);
}
