// Inspector: inputs, outputs, control inputs and attributes of an op, with forms that edit them.
import { opName } from "../../interaction/actions";
import { quote } from "../../interaction/edits";
import { canEdit, type Parts } from "../../interaction/parts";
import type { InspectReply, Tensor } from "../../protocol/messages";
import { createForm, pencilButton } from "../controls/edit-form";
import type { Values } from "../controls/form-fields";
import { FormSlot } from "../controls/form-slot";
import { appendFirst, opLink } from "../controls/name-list";
import { breakableName, button, element, ICONS, icon, taskButton } from "../dom";
import { createFeedSlot } from "../forms/feed-form";
import { variableButton } from "../forms/variable-form";
import { withDrawnShapes } from "../shape-text";
import { valueEntry } from "./value-summary";

/** Of longer lists the rest is shown on demand: an op may feed thousands. */
const PEERS = 30;

type Go = (name: string) => void;

function titledField(title: string, body: HTMLElement, ...tools: HTMLElement[]): HTMLElement {
  const heading = element("h4", { class: "tgw-label" }, title);
  const head =
    tools.length > 0 ? element("div", { class: "tgw-titled" }, heading, ...tools) : heading;
  return element("div", { class: "tgw-field" }, head, body);
}

export function inputsOf(
  { name, op_type: type, inputs, input_count: count }: InspectReply,
  parts: Parts,
  go: Go,
): HTMLElement[] {
  if (inputs.length === 0) return [];
  const entryOf = (tensor: Tensor, k: number) => {
    const slot = new FormSlot(parts);
    const fields = [{ key: "to", label: "Read", initial: tensor.name, kind: "tensor" as const }];
    const title = `Connect input ${k} to another tensor`;
    const apply = ({ to = "" }: Values) =>
      parts.actions.edits.change("connect", [to, name], { k: String(k) });
    const edit = pencilButton(title, slot, () => createForm({ fields, apply }, parts, slot.close));
    return tensorEntry(
      tensor,
      "from",
      go,
      type !== "" && canEdit(parts) ? [edit] : [],
      slot.root,
      parts,
    );
  };
  return [
    titledField(`Inputs (${count.toLocaleString("en")})`, listOf("inputs", inputs, entryOf, count)),
  ];
}

export function outputsOf(
  { name, op_type: type, outputs, output_count: count }: InspectReply,
  parts: Parts,
  go: Go,
): HTMLElement[] {
  if (outputs.length === 0) return [];
  const entryOf = (tensor: Tensor) => {
    const slot = new FormSlot(parts);
    const fields = [{ key: "to", label: "Read", kind: "tensor" as const }];
    const title = `Connect the consumers of ${tensor.name} to another tensor`;
    const apply = ({ to = "" }: Values) =>
      parts.actions.edits.change("reroute", [tensor.name], { to: quote(to) });
    const edit = pencilButton(title, slot, () => createForm({ fields, apply }, parts, slot.close));
    return tensorEntry(
      tensor,
      "to",
      go,
      tensor.peers.length > 0 && canEdit(parts) ? [edit] : [],
      slot.root,
      parts,
    );
  };
  const feeding = createFeedSlot({ name, measure: false }, parts);
  const look = taskButton(
    { class: "tgw-text-button tgw-look", title: "Run the graph and show the outputs" },
    () => feeding.run(),
    icon(ICONS.play),
    "Values",
  );
  const feeds = taskButton(
    { class: "tgw-text-button", title: "The values of placeholders" },
    () => feeding.edit(),
    "Feeds …",
  );
  const title = `Outputs (${count.toLocaleString("en")})`;
  return [
    titledField(
      title,
      element(
        "div",
        { class: "tgw-outputs" },
        feeding.slot,
        listOf("outputs", outputs, entryOf, count),
      ),
      ...(type === "" || parts.readOnly ? [] : [feeds, look]),
    ),
  ];
}

function listOf(
  what: string,
  tensors: readonly Tensor[],
  entryOf: (tensor: Tensor, k: number) => HTMLElement,
  total: number,
): HTMLElement {
  const list = element("ul", { class: "tgw-tensors" });
  appendFirst(list, what, tensors, entryOf, PEERS, total);
  return list;
}

function tensorEntry(
  tensor: Tensor,
  word: string,
  go: Go,
  tools: readonly HTMLElement[],
  slot: HTMLElement,
  parts: Parts,
): HTMLElement {
  const kind = withDrawnShapes([tensor.dtype, tensor.shape].filter(Boolean).join(" "));
  const [take, ...variable] =
    tensor.value && !parts.readOnly ? variableButton(tensor.name, parts) : [];
  const type = element("span", { class: "tgw-dtype" }, kind);
  // Above the value, which may be higher than the panel.
  const about = take ? element("div", { class: "tgw-titled" }, type, take) : type;
  const value = tensor.value ? [...variable, valueEntry(tensor.value)] : [];
  const [first, ...others] = tensor.peers;
  // An input comes from the op it is named after: once is enough.
  if (first === opName(tensor.name) && others.length === 0) {
    const head = element(
      "div",
      { class: "tgw-titled" },
      opLink(first, go, breakableName(tensor.name)),
      ...tools,
    );
    return element("li", {}, head, about, slot, ...value);
  }
  const peers = element("ul", { class: "tgw-list", "aria-label": word });
  const link = (peer: string) => element("li", {}, opLink(peer, go, breakableName(peer)));
  appendFirst(
    peers,
    word === "to" ? `consumers of ${tensor.name}` : `sources of ${tensor.name}`,
    tensor.peers,
    link,
    PEERS,
    tensor.peer_count,
  );
  const name = element("span", { class: "tgw-tensor" }, breakableName(tensor.name));
  const head = element("div", { class: "tgw-titled" }, name, ...tools);
  return element("li", {}, head, about, slot, ...value, peers);
}

export function controlsOf(
  { name, control_inputs: names, control_input_count: count }: InspectReply,
  parts: Parts,
  go: Go,
): HTMLElement[] {
  if (names.length === 0) return [];
  const list = element("ul", { class: "tgw-list" });
  const entryOf = (waited: string) => {
    const title = `Remove control input ${waited}`;
    const drop = button(
      { class: "tgw-tool tgw-pencil", title, "aria-label": title },
      () => parts.actions.edits.change("remove_control_inputs", [name], { ops: quote([waited]) }),
      icon(ICONS.close),
    );
    return element(
      "li",
      { class: "tgw-titled" },
      opLink(waited, go, breakableName(waited)),
      ...(canEdit(parts) ? [drop] : []),
    );
  };
  appendFirst(list, "control inputs", names, entryOf, PEERS, count);
  return [titledField(`Control inputs (${count.toLocaleString("en")})`, list)];
}

export function attributesOf({ name: op, attributes }: InspectReply, parts: Parts): HTMLElement[] {
  if (attributes.length === 0) return [];
  const list = element("dl", { class: "tgw-facts tgw-attributes" });
  for (const { name, text: value, settable } of attributes) {
    const slot = new FormSlot(parts);
    const fields = [{ key: "value", label: name, initial: value, kind: "python" as const }];
    const apply = ({ value: text = "" }: Values) =>
      parts.actions.edits.change("set_attr", [op], { name: quote(name), value: text });
    const edit = pencilButton(`Set ${name}`, slot, () =>
      createForm({ fields, apply }, parts, slot.close),
    );
    const tools = settable && canEdit(parts) ? [edit] : [];
    const shown = element(
      "div",
      { class: "tgw-titled" },
      element("span", {}, breakableName(value)),
      ...tools,
    );
    list.append(element("dt", {}, name), element("dd", {}, shown), slot.root);
  }
  return [titledField("Attributes", list)];
}
