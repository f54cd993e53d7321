// The graph of a page: its ops by name, their inputs and consumers, and the containers around them.
import { at } from "../protocol/scene";
import type { Data } from "./page-data";

/** A tensor: the op that makes it, and the number of its output. */
export interface Output {
  readonly op: number;
  readonly port: number;
}

export class Graph {
  readonly data: Data;
  readonly names: readonly string[];
  /** Op or node of each name. */
  readonly #ops: ReadonlyMap<string, number>;
  readonly #nodes: ReadonlyMap<string, number>;
  #scopes: ReadonlySet<string> | null = null;
  #consumers: readonly [start: Uint32Array, consumer: Int32Array] | null = null;

  constructor(data: Data) {
    this.data = data;
    this.names = data.head.names;
    this.#ops = new Map(data.head.names.map((name, op) => [name, op]));
    this.#nodes = new Map(data.head.nodes.map((name, node) => [name, node]));
  }

  /** The op of an op's or a tensor's name, or -1. */
  op(name: string): number {
    return this.#ops.get(name) ?? this.#ops.get(name.replace(/^\^/, "").replace(/:\d+$/, "")) ?? -1;
  }

  /** Whether an op has this very name. */
  hasOp(name: string): boolean {
    return this.#ops.has(name);
  }

  /** The scope or group of a name, with or without a slash at its end, or -1. */
  node(name: string): number {
    return this.#nodes.get(name.replace(/\/$/, "")) ?? -1;
  }

  inputs(op: number): Output[] {
    const [start, end] = this.#range("input_start", op);
    const [ops, ports] = [this.data.column("input_op"), this.data.column("input_port")];
    return Array.from({ length: end - start }, (_, k) => ({
      op: at(ops, start + k),
      port: at(ports, start + k),
    }));
  }

  controls(op: number): number[] {
    const [start, end] = this.#range("control_start", op);
    return [...this.data.column("control_op").subarray(start, end)];
  }

  /** The consumers of an op, data and control, each once, in graph order. */
  consumers(op: number): number[] {
    this.#consumers ??= this.#turned();
    const [start, consumer] = this.#consumers;
    return [...new Set(consumer.subarray(at(start, op), at(start, op + 1)))];
  }

  /** What an op reads or waits for, each once. */
  sources(op: number): number[] {
    return [...new Set([...this.inputs(op).map((tensor) => tensor.op), ...this.controls(op)])];
  }

  /** The rows of the op's outputs. */
  outputs(op: number): number[] {
    const [start, end] = this.#range("output_start", op);
    return Array.from({ length: end - start }, (_, k) => start + k);
  }

  /** Of each attribute its name, its text, and the texts that a query compares it by. */
  attributes(op: number): { name: string; text: string; texts: readonly string[] }[] {
    const [start, end] = this.#range("attribute_start", op);
    const values = this.data.column("attribute_value");
    return Array.from({ length: end - start }, (_, k) => {
      const [text = "", ...texts] = this.data.head.values[at(values, start + k)] ?? [];
      return { name: this.data.text("attribute_name", start + k), text, texts };
    });
  }

  /** Whether an op has a trait; null if there is no trait of that name. */
  trait(word: string): ((op: number) => boolean) | null {
    const bit = this.data.page.traits.indexOf(word);
    const bits = this.data.column("op_is");
    return bit < 0 ? null : (op) => ((at(bits, op) >> bit) & 1) === 1;
  }

  /**
   * The name scopes around an op, the innermost first; the op's own name is one if others lie in
   * it.
   */
  scopes(op: number): string[] {
    const name = this.names[op] ?? "";
    const around = scopesOf(name);
    return this.allScopes.has(name) ? [name, ...around] : around;
  }

  /** The names of all name scopes. */
  get allScopes(): ReadonlySet<string> {
    this.#scopes ??= new Set(this.names.flatMap(scopesOf));
    return this.#scopes;
  }

  type(op: number): string {
    return this.data.text("op_type", op);
  }

  /** The nodes around a node, innermost first, without the top level; the node too. */
  around(node: number): number[] {
    const parent = this.data.column("node_parent");
    const found: number[] = [];
    for (let up = node; up > 0; up = at(parent, up)) found.push(up);
    return found;
  }

  /** The scopes and groups around an op, innermost first. */
  containers(op: number): number[] {
    return this.around(at(this.data.column("op_home"), op));
  }

  /** All ops in a scope or group, 1 for each. */
  inside(node: number): Uint8Array {
    const parent = this.data.column("node_parent");
    const within = new Int8Array(parent.length).fill(-1);
    within[node] = 1;
    if (node > 0) within[0] = 0;
    const known = (inner: number): number => {
      const trail: number[] = [];
      let up = inner;
      for (; within[up] === -1; up = at(parent, up)) trail.push(up);
      for (const each of trail) within[each] = at(within, up);
      return at(within, up);
    };
    return Uint8Array.from(this.data.column("op_home"), known);
  }

  #range(column: string, op: number): [number, number] {
    const start = this.data.column(column);
    return [at(start, op), at(start, op + 1)];
  }

  #turned(): readonly [Uint32Array, Int32Array] {
    const count = this.names.length;
    const start = new Uint32Array(count + 1);
    const columns = [
      ["input_start", "input_op"],
      ["control_start", "control_op"],
    ] as const;
    for (const [, sources] of columns)
      for (const op of this.data.column(sources)) start[op + 1] = at(start, op + 1) + 1;
    for (let op = 0; op < count; op++) start[op + 1] = at(start, op + 1) + at(start, op);
    const next = start.slice();
    const consumer = new Int32Array(at(start, count));
    for (let op = 0; op < count; op++)
      for (const [offsets, sources] of columns) {
        const [from, end] = this.#range(offsets, op);
        for (const source of this.data.column(sources).subarray(from, end)) {
          consumer[at(next, source)] = op;
          next[source] = at(next, source) + 1;
        }
      }
    return [start, consumer];
  }
}

function scopesOf(name: string): string[] {
  const parts = name.split("/").slice(0, -1);
  return parts.map((_, k) => parts.slice(0, parts.length - k).join("/"));
}
