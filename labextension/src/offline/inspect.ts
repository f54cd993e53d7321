// The inspector's replies for an op or scope. Python twins: tfgraphwidget/widget/inspector.py.
import type { ExamineReply, InspectReply, Tensor } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Graph } from "./graph";
import { Refusal } from "./refusal";

/** Of the ops at the other end of a tensor: what a panel can show. */
const MOST_NAMES = 200;
/** Of inputs, outputs and control inputs: what a panel can show when it is asked for all. */
const MOST_TENSORS = 1000;
/** The structure of scopes is compared in a kernel only. */
const NONE_ALIKE = { alike: [], alike_count: 0 };

export function inspect(graph: Graph, name: string): InspectReply {
  const op = graph.op(name);
  if (op >= 0) return ofOp(graph, op);
  const node = graph.node(name);
  if (node < 0) throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
  return ofScope(graph, node, name);
}

/**
 * What TensorFlow says of the op's type; values and where it was made are known to a kernel only.
 */
export function examine(graph: Graph, name: string): ExamineReply {
  const op = graph.op(name);
  const docs = op < 0 ? undefined : graph.data.page.docs[graph.type(op)];
  return {
    type: "examine_reply",
    name: op < 0 ? name : (graph.names[op] ?? ""),
    value: null,
    why: "",
    images: [],
    summary: docs?.summary ?? "",
    about: docs?.about ?? "",
    arguments:
      docs?.arguments.map(([sort, arg, text]): [string, string, string] => [sort, arg, text]) ?? [],
    created: [],
    signature: signatureOf(graph, name, op),
  };
}

/**
 * The signatures of the functions that an op calls; for an argument or result, that of the current
 * function.
 */
function signatureOf(
  { data: { head } }: Graph,
  name: string,
  op: number,
): ExamineReply["signature"] {
  const called = head.called_functions.flatMap(([caller, , , , , , lines]) =>
    caller === op ? lines : [],
  );
  const isBoundary = op < 0 ? name.replace("/", "") === "" : head.boundary.includes(op);
  return [...called, ...(isBoundary ? head.signature : [])];
}

function ofOp(graph: Graph, op: number): InspectReply {
  const name = graph.names[op] ?? "";
  const inputs = graph
    .inputs(op)
    .map((input) => tensor(graph, input.op, input.port, [graph.names[input.op] ?? ""]));
  const consumers = consumersByPort(graph, op);
  const outputs = graph
    .outputs(op)
    .map((_, port) => tensor(graph, op, port, consumers.get(port) ?? []));
  return {
    type: "inspect_reply",
    name,
    op_type: graph.type(op),
    device: graph.data.text("op_device", op),
    ops: 1,
    variables: at(graph.data.column("op_variable"), op),
    trainable: 0, // for edits only
    input_count: inputs.length,
    output_count: outputs.length,
    control_input_count: graph.controls(op).length,
    inputs: inputs.slice(0, MOST_TENSORS),
    outputs: outputs.slice(0, MOST_TENSORS),
    control_inputs: graph
      .controls(op)
      .slice(0, MOST_TENSORS)
      .map((other) => graph.names[other] ?? ""),
    attributes: graph
      .attributes(op)
      .map(({ name: each, text }) => ({ name: each, text, settable: false })),
    shape: "",
    value: "",
    called_functions: graph.data.head.called_functions.flatMap(([caller, label, called, ops]) =>
      caller === op ? [{ label, function: called, ops }] : [],
    ),
    contexts: [],
    effects: effectsOf(graph, (other) => other === op),
    ...NONE_ALIKE,
  };
}

/**
 * On what ops do beside computing: what a panel shows. Python twin: `UntrustedOps` in
 * tfgraphwidget/graph/trust.py.
 */
const MOST_SENTENCES = 5;
const MORE = "And more.";

function effectsOf({ data }: Graph, isWanted: (op: number) => boolean): string[] {
  const wanted = data.head.effects.filter(([op]) => isWanted(op));
  const found = [...new Set(wanted.flatMap(([, , sentences]) => sentences))];
  const some = found.filter((sentence) => sentence !== MORE).slice(0, MOST_SENTENCES);
  return found.length > some.length ? [...some, MORE] : some;
}

function tensor(graph: Graph, op: number, port: number, peers: string[]): Tensor {
  const row = graph.outputs(op)[port];
  const text = (column: string) => (row === undefined ? "unknown" : graph.data.text(column, row));
  return {
    name: `${graph.names[op] ?? ""}:${port}`,
    dtype: text("output_dtype"),
    shape: text("output_shape"),
    peers: peers.slice(0, MOST_NAMES),
    peer_count: peers.length,
    value: null,
  };
}

/** Output -> the names of the ops that read it, once for each time they do. */
function consumersByPort(graph: Graph, op: number): Map<number, string[]> {
  const found = new Map<number, string[]>();
  for (const consumer of graph.consumers(op))
    for (const input of graph.inputs(consumer)) {
      if (input.op !== op) continue;
      const names = found.get(input.port) ?? [];
      found.set(input.port, names);
      names.push(graph.names[consumer] ?? "");
    }
  return found;
}

function ofScope(graph: Graph, node: number, name: string): InspectReply {
  const { data } = graph;
  const inside = graph.inside(node);
  const [inputs, outputs] = [new Set<string>(), new Set<string>()];
  for (let op = 0; op < inside.length; op++)
    for (const source of graph.inputs(op)) {
      if (inside[op] === inside[source.op]) continue;
      (inside[op] === 1 ? inputs : outputs).add(`${graph.names[source.op] ?? ""}:${source.port}`);
    }
  const named = (tensors: Set<string>) =>
    [...tensors].slice(0, MOST_TENSORS).map((each): Tensor => {
      const peer = each.replace(/:\d+$/, "");
      return { name: each, dtype: "", shape: "", peers: [peer], peer_count: 1, value: null };
    });
  return {
    type: "inspect_reply",
    name,
    op_type: "",
    device: "",
    ops: at(data.column("node_ops"), node),
    variables: at(data.column("node_variables"), node),
    trainable: 0,
    input_count: inputs.size,
    output_count: outputs.size,
    control_input_count: 0,
    inputs: named(inputs),
    outputs: named(outputs),
    control_inputs: [],
    attributes: [],
    shape: "",
    value: "",
    called_functions: [],
    contexts: [],
    effects: effectsOf(graph, (op) => inside[op] === 1),
    ...NONE_ALIKE,
  };
}
