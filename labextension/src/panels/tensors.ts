// In the inspector: what an op reads and gives, each tensor with its ops, its values, and a way to rewire it.
import { opOf } from "../actions";
import { breakable, button, element, ICONS, icon, taskButton } from "../dom";
import { quoted } from "../edits";
import type { Inspected, Tensor } from "../protocol";
import { pencil } from "./forms";
import { more } from "./more";
import type { Parts } from "./parts";
import { opLink } from "./search";
import { seenEntry } from "./seen";

/** Longer lists are cut: an op may feed thousands. */
const PEERS = 30;

type Go = (name: string) => void;

export function titled(title: string, body: HTMLElement, ...tools: HTMLElement[]): HTMLElement {
  const heading = element("h4", { class: "tgw-label" }, title);
  const head = tools.length > 0 ? element("div", { class: "tgw-titled" }, heading, ...tools) : heading;
  return element("div", { class: "tgw-field" }, head, body);
}

export function inputsOf({ name, op_type: type, inputs }: Inspected, parts: Parts, go: Go): HTMLElement[] {
  if (inputs.length === 0) return [];
  const entries = inputs.slice(0, PEERS).map((tensor, k) => {
    const slot = element("div", { class: "tgw-form-slot" });
    const fields = [{ key: "to", label: "Read", initial: tensor.name, tensor: true }];
    const title = `Let input ${k} read another tensor`;
    const edit = pencil(title, slot, fields, parts, ({ to = "" }) =>
      parts.actions.edits.change("connect", [to.trim(), name], { k: String(k) }),
    );
    return tensorEntry(tensor, "from", go, type === "" ? [] : [edit], slot);
  });
  return [titled(`Inputs (${inputs.length})`, listOf(entries, inputs.length))];
}

export function outputsOf({ name, op_type: type, outputs }: Inspected, parts: Parts, go: Go): HTMLElement[] {
  if (outputs.length === 0) return [];
  const entries = outputs.slice(0, PEERS).map((tensor) => {
    const slot = element("div", { class: "tgw-form-slot" });
    const fields = [{ key: "to", label: "Read", tensor: true }];
    const edit = pencil("Let its readers read another tensor", slot, fields, parts, ({ to = "" }) =>
      parts.actions.edits.change("reroute", [tensor.name], { to: quoted(to.trim()) }),
    );
    return tensorEntry(tensor, "to", go, tensor.peers.length > 0 ? [edit] : [], slot);
  });
  const look = taskButton(
    { class: "tgw-text-button tgw-look", title: "Run the graph, and look at what comes out here" },
    () => parts.actions.edits.probe(name),
    icon(ICONS.play),
    "Values",
  );
  const title = `Outputs (${outputs.length})`;
  return [titled(title, listOf(entries, outputs.length), ...(type === "" ? [] : [look]))];
}

function listOf(entries: HTMLElement[], total: number): HTMLElement {
  const list = element("ul", { class: "tgw-tensors" }, ...entries);
  if (total > PEERS) list.append(more(total - PEERS));
  return list;
}

function tensorEntry(
  tensor: Tensor,
  word: string,
  go: Go,
  tools: readonly HTMLElement[],
  slot: HTMLElement,
): HTMLElement {
  const kind = [tensor.dtype, tensor.shape].filter(Boolean).join(" ");
  const about = element("span", { class: "tgw-dtype" }, kind);
  const seen = tensor.seen ? [seenEntry(tensor.seen)] : [];
  const [first, ...others] = tensor.peers;
  // An input comes from the op it is named after: once is enough.
  if (first === opOf(tensor.name) && others.length === 0) {
    const head = element("div", { class: "tgw-titled" }, opLink(first, go, breakable(tensor.name)), ...tools);
    return element("li", {}, head, about, slot, ...seen);
  }
  const peers = element("ul", { class: "tgw-list", "aria-label": word });
  for (const peer of tensor.peers.slice(0, PEERS))
    peers.append(element("li", {}, opLink(peer, go, breakable(peer))));
  if (tensor.peers.length > PEERS) peers.append(more(tensor.peers.length - PEERS));
  const name = element("span", { class: "tgw-tensor" }, breakable(tensor.name));
  const head = element("div", { class: "tgw-titled" }, name, ...tools);
  return element("li", {}, head, about, slot, ...seen, peers);
}

export function controlsOf({ name, control_inputs: names }: Inspected, parts: Parts, go: Go): HTMLElement[] {
  if (names.length === 0) return [];
  const list = element("ul", { class: "tgw-list" });
  for (const waited of names.slice(0, PEERS)) {
    const title = `No longer wait for ${waited}`;
    const drop = button(
      { class: "tgw-tool tgw-pencil", title, "aria-label": title },
      () => parts.actions.edits.change("remove_control_inputs", [name], { ops: quoted([waited]) }),
      icon(ICONS.close),
    );
    list.append(element("li", { class: "tgw-titled" }, opLink(waited, go, breakable(waited)), drop));
  }
  if (names.length > PEERS) list.append(more(names.length - PEERS));
  return [titled(`Control inputs (${names.length})`, list)];
}

/**
 * Attributes with an underscore are TensorFlow's own notes, a tensor's value is set as a constant, and what is cut would
 * be stored as it is shown.
 */
export const isSettable = (name: string, value: string): boolean => !/^_|^value:|…$/.test(`${name}:${value}`);

export function attributesOf({ name: op, attributes: pairs }: Inspected, parts: Parts): HTMLElement[] {
  if (pairs.length === 0) return [];
  const list = element("dl", { class: "tgw-facts tgw-attributes" });
  for (const [name, value] of pairs) {
    const slot = element("div", { class: "tgw-form-slot" });
    const fields = [{ key: "value", label: name, initial: value, python: true }];
    const edit = pencil(`Set ${name}`, slot, fields, parts, ({ value: text = "" }) =>
      parts.actions.edits.change("set_attr", [op], { name: quoted(name), value: text.trim() }),
    );
    const tools = isSettable(name, value) ? [edit] : [];
    const shown = element("div", { class: "tgw-titled" }, element("span", {}, breakable(value)), ...tools);
    list.append(element("dt", {}, name), element("dd", {}, shown), slot);
  }
  return [titled("Attributes", list)];
}
