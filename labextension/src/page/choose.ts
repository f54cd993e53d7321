// The selection of a page: ops that are chosen, and what can be made of them. The twin of tfgraphwidget/choosing.py.
import type { DeriveRequest, SelectRequest } from "../protocol";
import { at } from "../scene";
import type { Graph } from "./graph";
import { NO_KERNEL, Refusal } from "./refusal";

/** 1 for each op that is chosen. */
export type Chosen = Uint8Array;

/** The selection with these ops and scopes set, added, removed or toggled. */
export function selected(graph: Graph, old: Chosen, { verb, ops, scopes }: SelectRequest): Chosen {
  const given = new Uint8Array(old.length);
  for (const name of ops) given[known(graph.op(name), name)] = 1;
  for (const name of scopes) {
    const held = graph.inside(known(graph.node(name), name));
    for (let op = 0; op < held.length; op++) if (held[op] === 1) given[op] = 1;
  }
  const all = given.every((chosen, op) => chosen === 0 || old[op] === 1);
  const use = verb === "toggle" ? (all ? "remove" : "add") : verb;
  if (use === "set") return given;
  return old.map((was, op) => (use === "add" ? was | at(given, op) : was & ~at(given, op)));
}

function known(number: number, name: string): number {
  if (number < 0) throw new Refusal(`There is no op or scope "${name.slice(0, 60)}" in this page.`);
  return number;
}

type Next = (op: number) => readonly number[];

/** A new selection from the present one. */
export function derived(graph: Graph, old: Chosen, verb: DeriveRequest["verb"]): Chosen {
  const sources: Next = (op) => graph.sources(op);
  const readers: Next = (op) => graph.readers(op);
  switch (verb) {
    case "clear":
      return new Uint8Array(old.length);
    case "invert":
      return old.map((chosen) => 1 - chosen);
    case "upstream":
      return reached(old, sources);
    case "downstream":
      return reached(old, readers);
    case "grow":
      return grown(old, (op) => [...sources(op), ...readers(op)]);
    case "shrink":
      return old.map((chosen, op) =>
        chosen === 1 && [...sources(op), ...readers(op)].every((other) => old[other] === 1) ? 1 : 0,
      );
    case "scope":
      return inScopes(graph, old);
    case "path":
    case "shortest":
      return joined(graph, old, verb);
    default:
      throw new Refusal(NO_KERNEL);
  }
}

export function count(chosen: Chosen): number {
  return chosen.reduce((sum, each) => sum + each, 0);
}

function opsOf(chosen: Chosen): number[] {
  return [...chosen.keys()].filter((op) => chosen[op] === 1);
}

function reached(from: Chosen, next: Next): Chosen {
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

function grown(old: Chosen, next: Next): Chosen {
  const found = old.slice();
  for (const op of opsOf(old)) for (const other of next(op)) found[other] = 1;
  return found;
}

/** The name scopes around the selected ops, whole; what lies in none stays alone. */
function inScopes(graph: Graph, old: Chosen): Chosen {
  const around = new Set(opsOf(old).flatMap((op) => graph.scopes(op).slice(0, 1)));
  return old.map((chosen, op) => (graph.scopes(op).some((each) => around.has(each)) ? 1 : chosen));
}

/** All that lies on the way from the one op to the other, whichever comes first, or the fewest that join them. */
function joined(graph: Graph, old: Chosen, verb: "path" | "shortest"): Chosen {
  const ends = opsOf(old);
  const [a, b] = ends;
  if (a === undefined || b === undefined || ends.length !== 2)
    throw new Refusal(`A path needs two selected ops, and ${ends.length} are; Ctrl-click its two ends.`);
  const alone = (op: number) => Uint8Array.from(old, (_, other) => (other === op ? 1 : 0));
  const below = [a, b].find(
    (op) => reached(alone(op), (each) => graph.readers(each))[op === a ? b : a] === 1,
  );
  if (below === undefined) throw new Refusal("No way leads from the one to the other; select two other ops.");
  const last = below === a ? b : a;
  const after = reached(alone(below), (op) => graph.readers(op));
  const before = reached(alone(last), (op) => graph.sources(op));
  const between = after.map((each, op) => each & at(before, op));
  return verb === "path" ? between : shortest(graph, below, last, between);
}

function shortest(graph: Graph, first: number, last: number, between: Chosen): Chosen {
  const from = new Map([[first, first]]);
  const waiting = [first];
  for (const op of waiting) {
    if (op === last) break;
    for (const next of graph.readers(op)) {
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
