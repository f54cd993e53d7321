// What a query finds among the ops of a page. The twin of tfgraphwidget/graph/terms.py.
import type { Found } from "../protocol";
import { at } from "../scene";
import type { Graph } from "./graph";
import { holdsOf, meant, parse, patternOf, suits, type Term } from "./query";
import { Refusal } from "./refusal";

type Fits = (op: number) => boolean;

/** The ops that fit all terms of a query, the nearest first; throws a Refusal for what is none. */
export function found(graph: Graph, text: string): number[] {
  const terms = parse(text);
  if (terms.length === 0) return [];
  const tests = terms.map((term): Fits => {
    const fits = FITTING[term.key === "" ? "word" : term.key]?.(graph, term) ?? (() => false);
    return term.negated ? (op) => !fits(op) : fits;
  });
  const ops: number[] = [];
  for (let op = 0; op < graph.names.length; op++) if (tests.every((fits) => fits(op))) ops.push(op);
  const words = terms.filter(
    ({ key, kind, negated }) => (key === "" || key === "name") && kind === "plain" && !negated,
  );
  const rank = new Map(
    ops.map((op) => [op, words.reduce((sum, { value }) => sum + rankOf(graph, op, value), 0)]),
  );
  return ops.sort((a, b) => (rank.get(a) ?? 0) - (rank.get(b) ?? 0) || a - b);
}

/** The reply to a search: at most `limit` hits, and how many there are. */
export function listed(graph: Graph, text: string, limit: number): Found {
  try {
    const ops = found(graph, text);
    const name = (op: number) => graph.names[op] ?? "";
    const scopes = new Set(ops.map((op) => name(op).slice(0, name(op).lastIndexOf("/") + 1)));
    const hits = ops.slice(0, limit).map((op) => ({ name: name(op), type: graph.type(op) }));
    return { type: "found", hits, total: ops.length, why: "", scopes: scopes.size };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { type: "found", hits: [], total: 0, why: error.message, scopes: 0 };
  }
}

/** 0 for what is called so, 1 where it is a part of the last part of the name or of the type, else 2. */
function rankOf(graph: Graph, op: number, value: string): number {
  const [name, low] = [(graph.names[op] ?? "").toLowerCase(), value.toLowerCase()];
  const place = name.lastIndexOf(low);
  if (place >= 0 && place + low.length === name.length && (place === 0 || name[place - 1] === "/")) return 0;
  const inLast = place >= 0 && place + low.length > name.lastIndexOf("/") + 1;
  return inLast || graph.type(op).toLowerCase().includes(low) ? 1 : 2;
}

/** The name scopes around an op, the innermost first. */
export function scopesOf(name: string): string[] {
  const parts = name.split("/").slice(0, -1);
  return parts.map((_, k) => parts.slice(0, parts.length - k).join("/"));
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
      const plain = new Map(texts.map((text) => [text, text.replace(/_ref$/, "")]));
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
  attr: (graph, term) => {
    const [name = "", ...more] = term.value.split("=");
    const bare = more.join("=").replace(/^(["'])(.*)\1$/, "$2");
    const wanted = bare.toLowerCase();
    const holds = bare.includes("*") ? holdsOf({ value: bare, kind: "glob" }) : null;
    const plain = (text: string) => text.replace(/^'(.*)'$/, "$1").toLowerCase();
    const fits = (text: string) => more.length === 0 || (holds ? holds(plain(text)) : plain(text) === wanted);
    return (op) =>
      graph.attributes(op).some(([key, text]) => key.toLowerCase() === name.toLowerCase() && fits(text));
  },
  scope: (graph, term) => {
    const value = term.value.replace(/\/+$/, "") || term.value;
    const all = new Set(graph.names.flatMap(scopesOf));
    const names = meant(all, { ...term, value }, true);
    return (op) => scopesOf(graph.names[op] ?? "").some((scope) => names.has(scope));
  },
  is: (graph, { value }) => {
    const low = value.toLowerCase();
    if (low === "variable") return (op) => at(graph.data.column("op_variable"), op) === 1;
    if (low === "constant") return (op) => graph.type(op) === "Const";
    if (low === "input") return (op) => /^Placeholder(WithDefault|V2)?$/.test(graph.type(op));
    throw new Refusal(
      `A page without a kernel knows variable, constant and input, not "${value.slice(0, 40)}"; ` +
        "open the graph with tgw.edit(…) for the others.",
    );
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
