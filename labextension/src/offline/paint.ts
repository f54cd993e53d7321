// How the items of a page are painted. Python twin: `paint` in tfgraphwidget/scene/scene.py.
import { at, BADGE, OPEN, OUTPUT_MARK, SOURCE_MARK } from "../protocol/scene";
import type { Graph } from "./graph";
import type { Drawing, Edge, Fields, Item } from "./scene-builder";
import { countByNode, type OpMask } from "./selection";

export interface PaintInput {
  readonly chosen: OpMask;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The number of the way to color, or -1. */
  readonly way: number;
}

export function addPaint(to: Fields, drawing: Drawing, graph: Graph, painted: PaintInput): void {
  const { items } = drawing;
  const { data } = graph;
  const none = new Uint8Array(items.length);
  const counts = countByNode(graph, painted.chosen);
  const whole = data.column("node_ops");
  const coverage = items.map(({ op, node }) => {
    if (op >= 0) return 2 * at(painted.chosen, op);
    return at(counts, node) === 0 ? 0 : at(counts, node) === at(whole, node) ? 2 : 1;
  });
  const marks = marksOf(graph, painted);
  to.add("coverage", "u1", coverage);
  to.add(
    "mark",
    "u1",
    items.map(({ op, node }) => (op >= 0 ? (marks.ops.get(op) ?? 0) : at(marks.nodes, node))),
  );
  for (const name of ["fresh", "probed", "unused"]) to.add(name, "u1", none);
  to.add("differs", "u1", differences(items, graph));
  const isNumber = (data.head.legends[painted.way]?.high ?? "") !== "";
  const read = (what: "tint" | "note") =>
    items.map(({ kind, row }) => {
      // An open scope has no color, and as its note only a number.
      if (painted.way < 0 || (kind === OPEN && (row < 0 || what === "tint" || !isNumber))) return 0;
      return at(data.column(`${kind === BADGE ? "badge" : "child"}_${what}_${painted.way}`), row);
    });
  const effects = effectsOf(graph);
  to.add(
    "effects",
    "u1",
    items.map(({ op, node }) => (op >= 0 ? (effects.ops.get(op) ?? 0) : at(effects.nodes, node))),
  );
  to.add("tint", "u1", read("tint"));
  to.addTexts(
    "value",
    items.map(() => ""),
  );
  to.addTexts(
    "note",
    read("note").map((code) => data.head.texts[code] ?? ""),
  );
  to.add("selected_line", "u1", selectedLines(drawing, graph, painted.chosen));
}

const CHANGED = 2;

/** As mark_differences: a scope is what all its ops are, or else changed if one of them differs. */
function differences(items: readonly Item[], graph: Graph): number[] {
  const { data } = graph;
  if (!data.has("op_differs")) return items.map(() => 0);
  const marks = data.column("op_differs");
  const whole = data.column("node_ops");
  const counts = [0, 1, 2, 3, 4].map((mark) =>
    countByNode(
      graph,
      Uint8Array.from(marks, (each) => Number(each === mark)),
    ),
  );
  return items.map(({ op, node }) => {
    if (op >= 0) return at(marks, op);
    const only = counts.findIndex((count) => at(count, node) === at(whole, node));
    return only >= 0 ? only : CHANGED;
  });
}

/** As in VisibleGraph: the number of a tensor is its op's times this, and its output's. */
const OUTPUTS = 1024;

/** Which lines lead from a selected op to a selected one. Python twin: scene/selected_lines.py. */
function selectedLines({ items, edges }: Drawing, graph: Graph, chosen: OpMask): number[] {
  const chosenOps = [...chosen.keys()].filter((op) => chosen[op] === 1);
  const controls = chosenOps.flatMap((consumer) =>
    graph.controls(consumer).flatMap((op) => (chosen[op] === 1 ? [[op, consumer] as const] : [])),
  );
  const consumers = new Map<number, number[]>();
  for (const consumer of chosenOps)
    for (const { op, port } of graph.inputs(consumer)) {
      const tensor = op * OUTPUTS + port;
      const known = consumers.get(tensor);
      if (known) known.push(consumer);
      else if (chosen[op] === 1) consumers.set(tensor, [consumer]);
    }
  return edges.map((edge) => {
    const begins = (op: number) => beginsAt(graph, items, edge, op);
    const ends = (op: number) => endsAt(graph, items, edge, op);
    const isSelected =
      edge.tensors.length === 0
        ? controls.some(([producer, consumer]) => begins(producer) && ends(consumer))
        : edge.tensors.some((tensor) => consumers.get(tensor)?.some(ends));
    return isSelected ? 1 : 0;
  });
}

/** Whether a line may carry what an op gives: out of its source, or from outside inward. */
function beginsAt(graph: Graph, items: readonly Item[], { source, target }: Edge, op: number) {
  return holds(graph, items[source], op) === (items[target]?.parent !== source);
}

function endsAt(graph: Graph, items: readonly Item[], { source, target }: Edge, op: number) {
  return holds(graph, items[target], op) === (items[source]?.parent !== target);
}

function holds(graph: Graph, item: Item | undefined, op: number): boolean {
  if (!item) return false;
  if (item.op >= 0) return item.op === op;
  return item.node === 0 || graph.containers(op).includes(item.node);
}

interface Bits {
  readonly ops: ReadonlyMap<number, number>;
  readonly nodes: Uint8Array;
}

function marksOf(graph: Graph, { inputs, outputs }: PaintInput): Bits {
  const sides = [
    [inputs, SOURCE_MARK],
    [outputs, OUTPUT_MARK],
  ] as const;
  const marked = sides.flatMap(([names, bit]) =>
    names.map((name) => [graph.op(name), bit] as const),
  );
  return bitsOf(
    graph,
    marked.filter(([op]) => op >= 0),
  );
}

function effectsOf(graph: Graph): Bits {
  return bitsOf(
    graph,
    graph.data.head.effects.map(([op, bits]) => [op, bits] as const),
  );
}

/** Of ops with bits, these bits by op, and those of all that is in each scope or group. */
function bitsOf(graph: Graph, marked: readonly (readonly [op: number, bits: number])[]): Bits {
  const ops = new Map<number, number>();
  const nodes = new Uint8Array(graph.data.head.nodes.length);
  for (const [op, bits] of marked) {
    ops.set(op, (ops.get(op) ?? 0) | bits);
    for (const node of [0, ...graph.containers(op)]) nodes[node] = at(nodes, node) | bits;
  }
  return { ops, nodes };
}
