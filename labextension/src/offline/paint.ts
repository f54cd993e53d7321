// How the items of a page are painted. Python twin: `paint` in tfgraphwidget/scene/scene.py.
import { at, BADGE, OPEN, OUTPUT_MARK, SOURCE_MARK } from "../protocol/scene";
import type { Graph } from "./graph";
import type { Drawing, Fields } from "./scene-builder";
import { countByNode, type OpMask } from "./selection";

export interface PaintInput {
  readonly chosen: OpMask;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** The number of the way to color, or -1. */
  readonly way: number;
}

export function addPaint(to: Fields, { items }: Drawing, graph: Graph, painted: PaintInput): void {
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
  for (const name of ["fresh", "differs", "probed", "unused"]) to.add(name, "u1", none);
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
