// The selection of a page, and the commands that derive a new one. Python twin:
// tfgraphwidget/widget/selection_requests.py.
import type { DeriveRequest, SelectRequest } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Graph } from "./graph";
import { NO_KERNEL, Refusal } from "./refusal";

/** 1 for each op that is chosen. */
export type OpMask = Uint8Array;

/** The selection with these ops and scopes set, added, removed or toggled. */
export function applySelect(
  graph: Graph,
  old: OpMask,
  { command, ops, scopes }: SelectRequest,
): OpMask {
  const mask = new Uint8Array(old.length);
  for (const name of ops) mask[checkKnown(graph.op(name), name)] = 1;
  for (const name of scopes) {
    const inside = graph.inside(checkKnown(graph.node(name), name));
    for (let op = 0; op < inside.length; op++) if (inside[op] === 1) mask[op] = 1;
  }
  const all = mask.every((chosen, op) => chosen === 0 || old[op] === 1);
  const use = command === "toggle" ? (all ? "remove" : "add") : command;
  if (use === "set") return mask;
  return old.map((was, op) => (use === "add" ? was | at(mask, op) : was & ~at(mask, op)));
}

function checkKnown(number: number, name: string): number {
  if (number < 0) throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
  return number;
}

type Next = (op: number) => readonly number[];

/** A new selection from the present one. */
export function deriveSelection(
  graph: Graph,
  old: OpMask,
  command: DeriveRequest["command"],
): OpMask {
  const sources: Next = (op) => graph.sources(op);
  const consumers: Next = (op) => graph.consumers(op);
  switch (command) {
    case "clear":
      return new Uint8Array(old.length);
    case "invert":
      return old.map((chosen) => 1 - chosen);
    case "upstream":
      return reachable(old, sources);
    case "downstream":
      return reachable(old, consumers);
    case "grow":
      return withNeighbors(old, (op) => [...sources(op), ...consumers(op)]);
    case "shrink":
      return old.map((chosen, op) =>
        chosen === 1 && [...sources(op), ...consumers(op)].every((other) => old[other] === 1)
          ? 1
          : 0,
      );
    case "scope":
      return inScopes(graph, old);
    case "path":
    case "shortest":
      return opsBetween(graph, old, command);
    default:
      throw new Refusal(NO_KERNEL);
  }
}

export function count(chosen: OpMask): number {
  return chosen.reduce((sum, each) => sum + each, 0);
}

function opsOf(chosen: OpMask): number[] {
  return [...chosen.keys()].filter((op) => chosen[op] === 1);
}

function reachable(from: OpMask, next: Next): OpMask {
  const found = from.slice();
  const waiting = opsOf(from);
  for (let op = waiting.pop(); op !== undefined; op = waiting.pop())
    for (const other of next(op)) {
      if (found[other] === 1) continue;
      found[other] = 1;
      waiting.push(other);
    }
  return found;
}

function withNeighbors(old: OpMask, next: Next): OpMask {
  const found = old.slice();
  for (const op of opsOf(old)) for (const other of next(op)) found[other] = 1;
  return found;
}

/** Extend the selection to the enclosing name scopes; what lies in none stays alone. */
function inScopes(graph: Graph, old: OpMask): OpMask {
  const around = new Set(opsOf(old).flatMap((op) => graph.scopes(op).slice(0, 1)));
  return old.map((chosen, op) => (graph.scopes(op).some((each) => around.has(each)) ? 1 : chosen));
}

/**
 * All that lies on the way from the one op to the other, whichever comes first, or the fewest that
 * join them.
 */
function opsBetween(graph: Graph, old: OpMask, command: "path" | "shortest"): OpMask {
  const ops = opsOf(old);
  const [a, b] = ops;
  if (a === undefined || b === undefined || ops.length !== 2)
    throw new Refusal(
      `A path needs two selected ops, and ${ops.length} are; Ctrl-click its two ends.`,
    );
  const alone = (op: number) => Uint8Array.from(old, (_, other) => (other === op ? 1 : 0));
  const below = [a, b].find(
    (op) => reachable(alone(op), (each) => graph.consumers(each))[op === a ? b : a] === 1,
  );
  if (below === undefined)
    throw new Refusal("No way leads from the one to the other; select two other ops.");
  const last = below === a ? b : a;
  const after = reachable(alone(below), (op) => graph.consumers(op));
  const before = reachable(alone(last), (op) => graph.sources(op));
  const between = after.map((each, op) => each & at(before, op));
  return command === "path" ? between : shortest(graph, below, last, between);
}

function shortest(graph: Graph, first: number, last: number, between: OpMask): OpMask {
  const from = new Map([[first, first]]);
  const waiting = [first];
  for (const op of waiting) {
    if (op === last) break;
    for (const next of graph.consumers(op)) {
      if (between[next] !== 1 || from.has(next)) continue;
      from.set(next, op);
      waiting.push(next);
    }
  }
  const found = new Uint8Array(between.length);
  for (let op = last; op !== first; op = from.get(op) ?? first) found[op] = 1;
  found[first] = 1;
  return found;
}

/** How many chosen ops each node holds, nested ones included. */
export function countByNode(graph: Graph, chosen: OpMask): Uint32Array {
  const counts = new Uint32Array(graph.data.head.nodes.length);
  for (let op = 0; op < chosen.length; op++) {
    if (chosen[op] !== 1) continue;
    counts[0] = at(counts, 0) + 1;
    for (const node of graph.containers(op)) counts[node] = at(counts, node) + 1;
  }
  return counts;
}
