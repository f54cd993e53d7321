// What a query finds among the ops of a page. The twin of tfgraphwidget/graph/query_terms.py.
import type { Found } from "../protocol";
import { at } from "../scene";
import { attributeFits } from "./attribute";
import type { Graph } from "./graph";
import { folded, holdsOf, meant, parse, patternOf, suits, type Term } from "./query";
import { Refusal } from "./refusal";

type Fits = (op: number) => boolean;

/** Milliseconds for what a query looks through. */
const PATIENCE = 1000;
const CUT = "The search was cut after a second, so there may be more; write a simpler regular expression.";
/** What can be listed at most. */
const MOST = 1000;

/** The ops that fit all terms of a query, the nearest first; throws a Refusal for what is none. */
export function found(graph: Graph, text: string): { ops: number[]; isCut: boolean } {
  const terms = parse(text);
  if (terms.length === 0) return { ops: [], isCut: false };
  const tests = terms.map((term): Fits => {
    const fits = FITTING[term.key === "" ? "word" : term.key]?.(graph, term) ?? (() => false);
    return term.negated ? (op) => !fits(op) : fits;
  });
  const end = performance.now() + PATIENCE;
  const ops: number[] = [];
  let [op, isCut] = [0, false];
  for (; op < graph.names.length && !isCut; op++) {
    if (tests.every((fits) => fits(op))) ops.push(op);
    isCut = op % 64 === 0 && performance.now() > end;
  }
  const words = terms.filter(
    ({ key, kind, negated }) => (key === "" || key === "name") && kind === "plain" && !negated,
  );
  const rank = new Map(
    ops.map((op) => [op, words.reduce((sum, { value }) => sum + rankOf(graph, op, value), 0)]),
  );
  return { ops: ops.sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0) || a - b), isCut };
}

/** The reply to a search: at most `limit` hits, and how many there are. */
export function listed(graph: Graph, text: string, limit: number): Found {
  try {
    const { ops, isCut } = found(graph, text);
    const name = (op: number) => graph.names[op] ?? "";
    const scopes = new Set(ops.map((op) => name(op).slice(0, name(op).lastIndexOf("/") + 1)));
    const some = ops.slice(0, Math.max(0, Math.min(limit, MOST)));
    const hits = some.map((op) => ({ name: name(op), type: graph.type(op) }));
    return { type: "found", hits, total: ops.length, why: isCut ? CUT : "", scopes: scopes.size };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { type: "found", hits: [], total: 0, why: error.message, scopes: 0 };
  }
}

/** 0 for what is called so, 1 where it is a part of the last part of the name or of the type, else 2. */
function rankOf(graph: Graph, op: number, value: string): number {
  const [name, low] = [folded(graph.names[op] ?? ""), folded(value)];
  const place = name.lastIndexOf(low);
  if (place >= 0 && place + low.length === name.length && (place === 0 || name[place - 1] === "/")) return 0;
  const inLast = place >= 0 && place + low.length > name.lastIndexOf("/") + 1;
  return inLast || folded(graph.type(op)).includes(low) ? 1 : 2;
}

const FITTING: Readonly<Record<string, (graph: Graph, term: Term) => Fits>> = {
  word: (graph, term) => {
    const holds = holdsOf(term);
    return (op) => holds(graph.names[op] ?? "") || holds(graph.type(op));
  },
  name: (graph, term) => {
    const holds = holdsOf(term);
    return (op) => holds(graph.names[op] ?? "");
  },
  type: (graph, term) => ofTexts(graph, term, "op_type"),
  device: (graph, term) => ofTexts(graph, term, "op_device"),
  dtype: (graph, term) => {
    const codes = textCodes(graph, "output_dtype", (texts) => {
      const told = texts.filter((text) => text !== "unknown");
      const plain = new Map(told.map((text) => [text, text.replace(/_ref$/, "")]));
      const wanted = meant(new Set([...plain.keys(), ...plain.values()]), term);
      return (text) => wanted.has(text) || wanted.has(plain.get(text) ?? text);
    });
    const column = graph.data.column("output_dtype");
    return (op) => graph.outputs(op).some((row) => codes.has(at(column, row)));
  },
  shape: (graph, term) => {
    const pattern = patternOf(term.value);
    const codes = textCodes(graph, "output_shape", () => (text) => suits(text, pattern));
    const column = graph.data.column("output_shape");
    return (op) => graph.outputs(op).some((row) => codes.has(at(column, row)));
  },
  attr: attributeFits,
  scope: (graph, term) => {
    const value = term.value.replace(/\/+$/, "") || term.value;
    const names = meant(["", ...graph.allScopes], { ...term, value }, true);
    if (names.has("")) return () => true;
    return (op) => graph.scopes(op).some((scope) => names.has(scope));
  },
  is: (graph, { value }) => {
    const fits = graph.trait(value.toLowerCase());
    if (fits) return fits;
    const known = graph.data.page.traits.join(", ");
    throw new Refusal(`An op can be ${known}, not "${value.slice(0, 40)}"; write one of these.`);
  },
};

function ofTexts(graph: Graph, term: Term, column: string): Fits {
  const codes = textCodes(graph, column, (texts) => {
    const wanted = meant(texts, term);
    return (text) => wanted.has(text);
  });
  return (op) => codes.has(at(graph.data.column(column), op));
}

/** The numbers of the texts of a column that fit. */
function textCodes(
  graph: Graph,
  column: string,
  test: (texts: string[]) => (text: string) => boolean,
): Set<number> {
  const codes = [...new Set(graph.data.column(column))];
  const text = (code: number) => graph.data.head.texts[code] ?? "";
  const fits = test(codes.map(text));
  return new Set(codes.filter((code) => fits(text(code))));
}
