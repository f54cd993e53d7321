// The ops hidden in a page. Their places stay empty, because there is no kernel to compute a new
// layout.
import type { HideRequest } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Graph } from "./graph";
import { count, countByNode, type OpMask } from "./selection";

export class HiddenOps {
  readonly #graph: Graph;
  #ops: OpMask;
  /**
   * How many hidden ops each node holds; and lines that only hidden ops have, as "source>target".
   */
  #held: Uint32Array;
  #lines: ReadonlySet<string> = new Set();

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#ops = new Uint8Array(graph.names.length);
    this.#held = new Uint32Array(graph.data.head.nodes.length);
  }

  get count(): number {
    return count(this.#ops);
  }

  /** Leave ops out, or all but them, or draw everything again. */
  hide(command: HideRequest["command"], ops: OpMask): void {
    if (command === "nothing") this.#set(new Uint8Array(ops.length));
    else if (command === "only") this.#set(ops.map((one) => 1 - one));
    else this.#set(ops.map((one, op) => one | at(this.#ops, op)));
  }

  /** Draw an op, and all of a node, again. */
  show(op: number, node: number): void {
    const inside = node > 0 ? this.#graph.inside(node) : new Uint8Array(this.#ops.length);
    if (op >= 0) inside[op] = 1;
    if (inside.some((one, k) => one & at(this.#ops, k)))
      this.#set(this.#ops.map((one, k) => one & ~at(inside, k)));
  }

  /** Whether an op, or all that a node holds, is left out; a child is -1 - op, or a node. */
  has(child: number): boolean {
    if (child < 0) return this.#ops[-1 - child] === 1;
    const hidden = at(this.#held, child);
    return hidden > 0 && hidden === at(this.#graph.data.column("node_ops"), child);
  }

  /**
   * Whether a line between two children of a container, or from or to its border (null), is left
   * out with its ops.
   */
  hasLine(container: number, source: number | null, target: number | null): boolean {
    return this.#lines.has(keyOf(container, source, target));
  }

  #set(ops: OpMask): void {
    this.#ops = ops;
    this.#held = countByNode(this.#graph, ops);
    const [shown, gone] = [new Set<string>(), new Set<string>()];
    if (this.count > 0)
      for (let op = 0; op < ops.length; op++)
        for (const source of this.#graph.sources(op)) {
          const lines = at(ops, op) | at(ops, source) ? gone : shown;
          for (const line of this.#linesOf(source, op)) lines.add(line);
        }
    for (const line of shown) gone.delete(line);
    this.#lines = gone;
  }

  /** What draws the edge between two ops, in each container on the way. */
  *#linesOf(source: number, target: number): Iterable<string> {
    const [out, into] = [this.#chain(source), this.#chain(target)];
    while (out.length > 1 && into.length > 1 && out.at(-2) === into.at(-2)) {
      out.pop();
      into.pop();
    }
    const common = out.at(-1) ?? 0;
    yield keyOf(common, out.at(-2) ?? null, into.at(-2) ?? null);
    for (let k = 1; k < out.length - 1; k++) yield keyOf(at(out, k), at(out, k - 1), null);
    for (let k = 1; k < into.length - 1; k++) yield keyOf(at(into, k), null, at(into, k - 1));
  }

  /** An op as a child, and the nodes around it up to the graph. */
  #chain(op: number): number[] {
    return [-1 - op, ...this.#graph.containers(op), 0];
  }
}

function keyOf(container: number, source: number | null, target: number | null): string {
  return `${container}:${source ?? ""}>${target ?? ""}`;
}
