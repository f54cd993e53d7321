// Finds the ops of a page that match a query. Python twin: tfgraphwidget/graph/query_terms.py.
import type { ScopeHit, SearchReply } from "../protocol/messages";
import { at } from "../protocol/scene";
import type { Graph } from "./graph";
import {
  foldCase,
  matcherOf,
  matchesShape,
  meantValues,
  parse,
  patternOf,
  type Term,
} from "./query";
import { Refusal } from "./refusal";

type OpTest = (op: number) => boolean;

/** Milliseconds for what a query looks through. */
const PATIENCE = 1000;
const CUT =
  "The search was cut after a second, so there may be more; write a simpler regular expression.";
/** What can be listed at most. */
const MOST = 1000;
const MOST_SCOPES = 5;
const NEVER = Number.POSITIVE_INFINITY;

/** The ops that fit all terms of a query, the nearest first; throws a Refusal for what is none. */
export function findOps(graph: Graph, text: string): { ops: number[]; isCut: boolean } {
  const terms = parse(text);
  if (terms.length === 0) return { ops: [], isCut: false };
  const tests = terms.map((term): OpTest => {
    const fits = TESTS[term.key === "" ? "word" : term.key]?.(graph, term) ?? (() => false);
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
export function searchReply(graph: Graph, text: string, limit: number): SearchReply {
  try {
    const { ops, isCut } = findOps(graph, text);
    const name = (op: number) => graph.names[op] ?? "";
    const scopes = new Set(ops.map((op) => name(op).slice(0, name(op).lastIndexOf("/") + 1)));
    const some = ops.slice(0, Math.max(0, Math.min(limit, MOST)));
    const hits = some.map((op) => ({ name: name(op), type: graph.type(op) }));
    return {
      type: "search_reply",
      hits,
      total: ops.length,
      why: isCut ? CUT : "",
      scopes: scopes.size,
      matches: null,
      excerpt: "",
      name_scopes: isCut ? [] : findScopes(graph, text, ops),
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return {
      type: "search_reply",
      hits: [],
      total: 0,
      why: error.message,
      scopes: 0,
      matches: null,
      excerpt: "",
      name_scopes: [],
    };
  }
}

/**
 * The name scopes that a query means, the nearest first, by the ops that fit it; none for a query
 * with other terms than words and names. Python twin: tfgraphwidget/graph/query_scopes.py.
 */
function findScopes(graph: Graph, text: string, ops: readonly number[]): ScopeHit[] {
  const terms = parse(text);
  const isWord = ({ key, kind, negated }: Term) =>
    (key === "" || key === "name") && kind === "plain" && !negated;
  if (!terms.every(isWord)) return [];
  const words = terms.map(({ value }) => foldCase(value));
  // What is in a scope's name is in the name of each op in it: all of them are among those that
  // fit.
  const counts = new Map<string, number>();
  for (const op of [...ops].sort((a, b) => a - b))
    for (const scope of graph.scopes(op).reverse()) counts.set(scope, (counts.get(scope) ?? 0) + 1);
  const typed = text.trim().replace(/\/+$/, "");
  return [...counts]
    .filter(([name]) => !graph.hasOp(name))
    .map(([name, held]) => ({
      hit: { name, ops: held },
      rank: name === typed ? -1 : scopeRank(name, words),
      depth: name.split("/").length,
    }))
    .filter(({ rank }) => rank < NEVER)
    .sort((a, b) => a.rank - b.rank || a.depth - b.depth)
    .slice(0, MOST_SCOPES)
    .map(({ hit }) => hit);
}

/**
 * How far the last part of a scope's name is from the words, 0 if it is them; NEVER where the scope
 * is not meant.
 */
function scopeRank(name: string, words: readonly string[]): number {
  const low = foldCase(name);
  const own = low.slice(low.lastIndexOf("/") + 1);
  const bare = words.map((word) => word.replace(/\/+$/, ""));
  const reaches = bare.some(
    (word) => low.lastIndexOf(word) + word.length > low.length - own.length,
  );
  if (!reaches || !words.every((word) => `${low}/`.includes(word))) return NEVER;
  const tails = bare.map((word) => word.slice(word.lastIndexOf("/") + 1));
  return tails.reduce((sum, tail) => sum + (own === tail ? 0 : own.includes(tail) ? 1 : 2), 0);
}

/**
 * 0 for what is called so, 1 where it is a part of the last part of the name or of the type, else
 * 2.
 */
function rankOf(graph: Graph, op: number, value: string): number {
  const [name, low] = [foldCase(graph.names[op] ?? ""), foldCase(value)];
  const place = name.lastIndexOf(low);
  if (place >= 0 && place + low.length === name.length && (place === 0 || name[place - 1] === "/"))
    return 0;
  const inLast = place >= 0 && place + low.length > name.lastIndexOf("/") + 1;
  return inLast || foldCase(graph.type(op)).includes(low) ? 1 : 2;
}

const TESTS: Readonly<Record<string, (graph: Graph, term: Term) => OpTest>> = {
  word: (graph, term) => {
    const holds = matcherOf(term);
    return (op) => holds(graph.names[op] ?? "") || holds(graph.type(op));
  },
  name: (graph, term) => {
    const holds = matcherOf(term);
    return (op) => holds(graph.names[op] ?? "");
  },
  type: (graph, term) => ofTexts(graph, term, "op_type"),
  device: (graph, term) => ofTexts(graph, term, "op_device"),
  dtype: (graph, term) => {
    const codes = textCodes(graph, "output_dtype", (texts) => {
      const known = texts.filter((text) => text !== "unknown");
      const plain = new Map(known.map((text) => [text, text.replace(/_ref$/, "")]));
      const wanted = meantValues(new Set([...plain.keys(), ...plain.values()]), term);
      return (text) => wanted.has(text) || wanted.has(plain.get(text) ?? text);
    });
    const column = graph.data.column("output_dtype");
    return (op) => graph.outputs(op).some((row) => codes.has(at(column, row)));
  },
  shape: (graph, term) => {
    const pattern = patternOf(term.value);
    const codes = textCodes(graph, "output_shape", () => (text) => matchesShape(text, pattern));
    const column = graph.data.column("output_shape");
    return (op) => graph.outputs(op).some((row) => codes.has(at(column, row)));
  },
  attr: attributeTest,
  scope: (graph, term) => {
    const value = term.value.replace(/\/+$/, "") || term.value;
    const names = meantValues(["", ...graph.allScopes], { ...term, value }, true);
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

function ofTexts(graph: Graph, term: Term, column: string): OpTest {
  const codes = textCodes(graph, column, (texts) => {
    const wanted = meantValues(texts, term);
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

// What a query says of attributes: "attr:padding=SAME". The twin of
// tfgraphwidget/graph/op_predicates.py.

/**
 * Which ops have the attribute of a term, with its value when it has one; where an op leaves it
 * out, by its default.
 */
function attributeTest(graph: Graph, { value }: Term): (op: number) => boolean {
  const sign = value.indexOf("=");
  const [name, wanted] = sign < 0 ? [value, ""] : [value.slice(0, sign), value.slice(sign + 1)];
  const holds = sign < 0 ? null : valueMatcher(wanted);
  const fits = (values: readonly string[]) => holds === null || values.some(holds);
  const { defined } = graph.data.page;
  return (op) => {
    const known = defined[graph.type(op)] ?? [];
    const called =
      known.find(([each]) => each === name) ??
      known.find(([each]) => foldCase(each) === foldCase(name));
    const own = called?.[0] ?? name;
    const attribute = graph.attributes(op).find((each) => each.name === own);
    const texts = attribute ? attribute.texts : called?.[1];
    return texts !== null && texts !== undefined && fits(texts);
  };
}

/** Whether the text of an attribute is a value that was typed. */
function valueMatcher(value: string): (text: string) => boolean {
  const bare = value.slice(1, -1);
  const ends = `${value.slice(0, 1)}${value.slice(-1)}`;
  if (value.length > 2 && ends === "//") return matcherOf({ value: bare, kind: "regex" });
  const isQuoted = value.length > 1 && (ends === "''" || ends === '""');
  const wanted = normalizeValue(isQuoted ? bare : value);
  if (wanted.includes("*") && !isQuoted) return matcherOf({ value: wanted, kind: "glob" });
  return (text) => text === wanted;
}

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/;

/**
 * A value as it is compared: in small letters, without spaces and quotes, numbers in the shortest
 * way.
 */
function normalizeValue(text: string): string {
  const low = foldCase(text.trim());
  if (/^(\?|\d+)([x×](\?|\d+))+$/.test(low)) return `[${low.split(/[x×]/).join(",")}]`;
  if (!["[]", "()"].includes(`${low.slice(0, 1)}${low.slice(-1)}`)) return shortNumber(low);
  const parts = low
    .slice(1, -1)
    .split(",")
    .map((part) => part.trim().replace(/^["']+|["']+$/g, ""))
    .map((part) => (part === "none" || part === "-1" ? "?" : shortNumber(part)));
  return `[${parts.join(",")}]`;
}

function shortNumber(word: string): string {
  const isNumber = word.length < 40 && NUMBER.test(word) && !/^\d+$/.test(word);
  return isNumber ? formatGeneral(Number(word)) : word;
}

/** With six digits, as Python's format "g" writes it. */
function formatGeneral(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "0", power = "0"] = value.toExponential(5).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(Number(value.toPrecision(6)));
  const sign = exponent < 0 ? "-" : "+";
  return `${Number(digits)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
