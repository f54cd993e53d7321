// The part of a page's graph between marked inputs and outputs, and the tensors by which a part can
// be marked. Python twins: tfgraphwidget/graph/boundary.py; `ends` in graph/subgraph.py; `mark` and
// `crossings` in widget/selection_requests.py.
import type { BoundaryTensor } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Graph, Output } from "./graph";
import { Refusal } from "./refusal";
import type { OpMask } from "./selection";

/** A bit of the column "op_boundary" each; Python twin: `_boundary_facts` in page_data.py. */
const FROM_OUTSIDE = 1;
const PLACEHOLDER = 2;
const PERSISTENT = 4;
const HOLDER = 8;
const FORWARDING = 16;
const IN_CONTROL_FLOW = 32;
const TRAINING = 64;

/** The end of an edge: the op there, the output that it carries, or -1 of a control edge. */
interface Link {
  readonly op: number;
  readonly port: number;
}
const CONTROL = -1;

interface Limits {
  /** Which ops may be reached; the seeds need not be among them. */
  readonly within?: OpMask;
  readonly controls?: boolean;
  /** Tensors whose edges are not followed. */
  readonly stop?: readonly Output[];
}

export type Side = "inputs" | "outputs";
export interface Boundary {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

const ANY_PORT = -2;

export class BoundaryFinder {
  readonly #graph: Graph;
  readonly #facts: ArrayLike<number>;
  readonly #sources: readonly (readonly Link[])[];
  readonly #consumers: readonly (readonly Link[])[];

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#facts = graph.data.column("op_boundary");
    this.#sources = graph.names.map((_, op) => [
      ...graph.inputs(op),
      ...graph.controls(op).map((source) => ({ op: source, port: CONTROL })),
    ]);
    const consumers: Link[][] = graph.names.map(() => []);
    this.#sources.forEach((links, consumer) => {
      for (const { op, port } of links) consumers[op]?.push({ op: consumer, port });
    });
    this.#consumers = consumers;
  }

  /** The ops on a path from an input to an output, and the parameters that they read. */
  between({ inputs, outputs }: Boundary): OpMask {
    const cut = inputs.map((name) => this.#tensor(name));
    const producers = outputs.map((name) => this.#tensor(name).op);
    const needed = this.#backward(producers, { stop: cut });
    const reached = this.#forward(cut.flatMap((tensor) => this.#readersOf(tensor)));
    const path = needed.map((is, op) => is & at(reached, op));
    const missed = outputs.find((_, k) => path[producers[k] ?? 0] !== 1);
    if (missed !== undefined) throw new Refusal(this.#noPath(inputs, missed));
    const rest = needed.map((is, op) => is & ~at(path, op));
    const parameters = this.#parameters(path, rest, new Set(cut.map(({ op }) => op)));
    return path.map((is, op) => is | at(parameters, op));
  }

  /** The boundary after a click on an item; a scope's name has a slash at its end. */
  marked(old: Boundary, side: Side, name: string, tensors: readonly string[]): Boundary {
    const names = tensors.length > 0 ? tensors : this.#crossing(side, name);
    const rest = old[side].filter(
      (each) => each.replace(/:\d+$/, "") !== name && !names.includes(each),
    );
    return { ...old, [side]: rest.length < old[side].length ? rest : [...rest, ...names] };
  }

  /** The tensors by which values enter or leave an item; proposed ones first. */
  crossings(side: Side, name: string, marked: readonly string[]): BoundaryTensor[] {
    const names = this.#crossing(side, name);
    const proposed = new Set(side === "inputs" ? names : this.#readForward(names, name));
    const found = names.map((each) => ({
      tensor: each,
      about: this.#typeOf(this.#tensor(each)),
      marked: marked.includes(each),
      proposed: proposed.has(each),
    }));
    return [...found.filter((each) => each.proposed), ...found.filter((each) => !each.proposed)];
  }

  /** The inputs and outputs that a path through some ops joins. */
  boundary(part: OpMask): Boundary {
    const outside = this.#mask((op) => this.#is(op, FROM_OUTSIDE));
    const fed = outside.includes(1) ? this.#forward(opsOf(outside), { controls: false }) : null;
    const entering = opsOf(part).flatMap((owner) =>
      this.#graph
        .inputs(owner)
        .filter(
          ({ op }) => outside[op] === 1 || (part[op] !== 1 && (fed === null || fed[op] === 1)),
        )
        .map((tensor) => ({ owner, tensor })),
    );
    const reached = this.#forward(
      entering.map(({ owner }) => owner),
      { within: part },
    );
    const outputs = opsOf(part)
      .filter((op) => reached[op] === 1)
      .flatMap((op) => this.#outputsLeaving(part, op));
    const used = this.#backward(
      outputs.map(({ op }) => op),
      { within: part },
    );
    const inputs = entering.filter(({ owner }) => used[owner] === 1).map(({ tensor }) => tensor);
    return { inputs: this.#names(inputs), outputs: this.#names(outputs) };
  }

  #typeOf({ op, port }: Output): string {
    const row = this.#graph.outputs(op)[Math.max(port, 0)];
    const { data } = this.#graph;
    return row === undefined
      ? ""
      : `${data.text("output_dtype", row)} ${data.text("output_shape", row)}`.trim();
  }

  #crossing(side: Side, name: string): readonly string[] {
    const isScope = name.endsWith("/");
    const op = this.#graph.op(name);
    const node = this.#graph.node(name);
    if (isScope ? node < 0 : op < 0)
      throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
    if (!isScope && side === "outputs") return [name];
    const boundary = this.boundary(
      isScope ? this.#graph.inside(node) : this.#mask((each) => each === op),
    );
    const tensors = boundary[side];
    if (tensors.length > 0) return tensors;
    if (!isScope) return [name];
    const how = side === "inputs" ? "No value enters" : "No value goes through";
    throw new Refusal(`${how} "${name.slice(0, -1)}"; mark an op inside it.`);
  }

  /** The tensors of a scope that the forward computation reads, or no op, or else all. */
  #readForward(names: readonly string[], scope: string): readonly string[] {
    const inside = scope.endsWith("/") ? this.#graph.inside(this.#graph.node(scope)) : null;
    const leftOut = this.#mask(
      (op) => this.#is(op, TRAINING) || this.#graph.type(op).includes("Summary"),
    );
    const ahead = this.#mask((op) => leftOut[op] !== 1);
    const last = opsOf(ahead).filter(
      (op) =>
        !(this.#consumers[op] ?? []).some(
          (link) => link.port !== CONTROL && !this.#is(link.op, TRAINING),
        ),
    );
    const forward = this.#backward(last, { within: ahead, controls: false });
    const readers = names.map((name) => this.#readersOf(this.#tensor(name)));
    const read = names.filter((_, k) =>
      readers[k]?.some((op) => forward[op] === 1 && inside?.[op] !== 1),
    );
    if (read.length > 0) return read;
    const unread = names.filter((_, k) => readers[k]?.length === 0);
    return unread.length > 0 ? unread : names;
  }

  /** The outputs of an op inside that are read outside, or by no op if none of its others is. */
  #outputsLeaving(part: OpMask, op: number): Output[] {
    const links = (this.#consumers[op] ?? []).filter(({ port }) => port !== CONTROL);
    const isRead = links.length > 0;
    return this.#graph.outputs(op).flatMap((_, port) => {
      const readers = links.filter((link) => link.port === port);
      const leaves = readers.some((link) => part[link.op] !== 1);
      return leaves || (readers.length === 0 && !isRead) ? [{ op, port }] : [];
    });
  }

  #parameters(path: OpMask, rest: OpMask, inputs: ReadonlySet<number>): OpMask {
    const outside = rest.map((is, op) => is & Number(this.#is(op, FROM_OUTSIDE)));
    if (opsOf(outside).some((op) => this.#is(op, PERSISTENT))) {
      const own = this.#resourcesOf(path);
      for (const op of opsOf(outside))
        if (own[op] === 1 && !this.#is(op, PLACEHOLDER)) outside[op] = 0;
    }
    const fed = this.#forward(opsOf(outside), { within: rest, controls: false });
    const free = rest.map((is, op) => is & ~at(fed, op));
    const read = opsOf(path).flatMap((op) => this.#graph.inputs(op).map((tensor) => tensor.op));
    const parameters = this.#backward(
      read.filter((op) => free[op] === 1),
      { within: free, controls: false },
    );
    const waiting = path.map((is, op) => is | at(parameters, op));
    const awaited = opsOf(waiting).flatMap((op) => this.#graph.controls(op));
    for (const op of inputs) outside[op] = 0;
    const touched = this.#forward(opsOf(outside), { within: rest });
    for (const op of free.keys())
      if (touched[op] === 1 || this.#is(op, IN_CONTROL_FLOW)) free[op] = 0;
    const waitedFor = this.#backward(
      awaited.filter((op) => free[op] === 1),
      { within: free },
    );
    return parameters.map((is, op) => is | at(waitedFor, op));
  }

  /** The ops outside of a part whose state it reads, at first or second hand. */
  #resourcesOf(part: OpMask): OpMask {
    const found = new Uint8Array(part.length);
    const visited = part.slice();
    const waiting = opsOf(part).flatMap((op) => this.#graph.inputs(op).map((tensor) => tensor.op));
    for (let op = waiting.pop(); op !== undefined; op = waiting.pop()) {
      if (visited[op] === 1) continue;
      visited[op] = 1;
      found[op] = Number(this.#is(op, HOLDER));
      if (this.#is(op, FORWARDING)) waiting.push(...this.#graph.inputs(op).map((each) => each.op));
    }
    return found;
  }

  #noPath(inputs: readonly string[], output: string): string {
    const after = this.#forward(this.#readersOf({ op: this.#graph.op(output), port: ANY_PORT }));
    const isSwapped = inputs.some((name) => after[this.#graph.op(name)] === 1);
    const fix = isSwapped
      ? "they lie the other way round: mark the input as output and the output as input"
      : "mark two ends with tensors between";
    return `No path leads from ${inputs.map(quote).join(" or ")} to ${quote(output)}; ${fix}.`;
  }

  /** Of the name of an op all its tensors. */
  #tensor(name: string): Output {
    const op = this.#graph.op(name);
    if (op < 0) throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
    const port = this.#graph.hasOp(name) ? ANY_PORT : Number(/:(\d+)$/.exec(name)?.[1] ?? ANY_PORT);
    return { op, port };
  }

  #readersOf({ op, port }: Output): number[] {
    const links = this.#consumers[op] ?? [];
    return links.filter((link) => port === ANY_PORT || link.port === port).map((link) => link.op);
  }

  #names(tensors: readonly Output[]): string[] {
    const ordered = [...tensors].sort((a, b) => a.op - b.op || a.port - b.port);
    return [...new Set(ordered.map(({ op, port }) => `${this.#graph.names[op]}:${port}`))];
  }

  #is(op: number, bit: number): boolean {
    return (at(this.#facts, op) & bit) !== 0;
  }

  #mask(holds: (op: number) => boolean): OpMask {
    return Uint8Array.from(this.#graph.names, (_, op) => Number(holds(op)));
  }

  #forward(seeds: readonly number[], limits: Limits = {}): OpMask {
    return walk(this.#consumers, seeds, limits);
  }

  /** `stop` is of tensors that ops read. */
  #backward(seeds: readonly number[], limits: Limits = {}): OpMask {
    return walk(this.#sources, seeds, limits);
  }
}

/** The ops that edges lead to from some ops; these too. */
function walk(
  edges: readonly (readonly Link[])[],
  seeds: readonly number[],
  { within, controls = true, stop = [] }: Limits,
): OpMask {
  const found = new Uint8Array(edges.length);
  const waiting = [...seeds];
  for (const op of seeds) found[op] = 1;
  const isStopped = (link: Link) =>
    stop.some(({ op, port }) => op === link.op && (port === ANY_PORT || port === link.port));
  for (let op = waiting.pop(); op !== undefined; op = waiting.pop())
    for (const link of edges[op] ?? []) {
      if (found[link.op] === 1 || (within && within[link.op] !== 1)) continue;
      if ((!controls && link.port === CONTROL) || isStopped(link)) continue;
      found[link.op] = 1;
      waiting.push(link.op);
    }
  return found;
}

function opsOf(mask: OpMask): number[] {
  return [...mask.keys()].filter((op) => mask[op] === 1);
}

function quote(name: string): string {
  return `"${name.slice(0, 60)}"`;
}

/** The line of Python that clones the part between two boundaries. */
export function cloneLine({ inputs, outputs }: Boundary): string {
  const list = (names: readonly string[]) =>
    `[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
  return `editor.clone(inputs=${list(inputs)}, outputs=${list(outputs)}, into="copy")`;
}
