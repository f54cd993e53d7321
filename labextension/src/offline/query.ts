// The query language of the search box. Python twin: tfgraphwidget/graph/query.py.
import { Refusal } from "./refusal";

type Kind = "plain" | "glob" | "regex";

export interface Term {
  /** "" is a word, which is found in names and types. */
  readonly key: string;
  readonly value: string;
  readonly kind: Kind;
  readonly negated: boolean;
}

const KEYS = ["name", "type", "dtype", "shape", "attr", "device", "scope", "is"] as const;
const MOST_TERMS = 50;
const LONGEST = 4000;

/** The terms of a query; throws a Refusal if it is invalid. */
export function parse(text: string): Term[] {
  if (text.length > LONGEST)
    throw new Refusal(
      `A query has at most ${LONGEST.toLocaleString("en")} characters; shorten it.`,
    );
  const terms: Term[] = [];
  let rest = text.trimStart();
  while (rest !== "") {
    const [term, length] = termOf(rest);
    terms.push(term);
    rest = rest.slice(length).trimStart();
  }
  if (terms.length > MOST_TERMS)
    throw new Refusal(
      `A query has at most ${MOST_TERMS} terms, and this one ${terms.length}; leave some out.`,
    );
  return terms;
}

function termOf(text: string): [Term, number] {
  const negated = /^-\S/.test(text);
  const from = negated ? 1 : 0;
  const rest = text.slice(from);
  const regex = /^\/(\S+)\/(?=\s|$)/.exec(rest);
  if (regex)
    return [{ key: "name", value: regex[1] ?? "", kind: "regex", negated }, from + regex[0].length];
  if (/^["']/.test(rest)) {
    const [value, length] = quotedValue(rest);
    return [{ key: "", value, kind: "plain", negated }, from + length];
  }
  const written = /^([A-Za-z_]+):/.exec(rest);
  const key = written?.[1]?.toLowerCase() ?? "";
  if (written && (KEYS as readonly string[]).includes(key)) {
    const [value, kind, length] = valueAfter(rest.slice(written[0].length), key);
    const plain = key === "name" && kind === "plain" ? value.replace(/:\d+$/, "") : value;
    return [{ key, value: plain, kind, negated }, from + written[0].length + length];
  }
  if (key === "pattern")
    throw new Refusal(
      "A saved page does not match patterns; open the graph in a notebook for that.",
    );
  const word = /^\S+/.exec(rest)?.[0] ?? rest;
  if (written && !/:\d+$/.test(word))
    throw new Refusal(
      `There is no key "${written[0]}". ` +
        `The keys are ${KEYS.map((each) => `${each}:`).join(", ")}; ` +
        "put quotes around text with a colon in it.",
    );
  const name = word.replace(/:\d+$/, "");
  return [{ key: "", value: name, kind: kindOf(name), negated }, from + word.length];
}

const BRACKETS = /^[^\s[("']*[[(][^\])]*[\])](?=\s|$)/;
const ASSIGNED = /^[^\s="']+=(?:"[^"]*"|'[^']*'|\/\S+\/)(?=\s|$)/;

function valueAfter(text: string, key: string): [string, Kind, number] {
  const regex = key === "shape" || key === "is" ? null : /^\/(\S+)\/(?=\s|$)/.exec(text);
  if (regex) return [regex[1] ?? "", "regex", regex[0].length];
  if (/^["']/.test(text)) {
    const [value, length] = quotedValue(text);
    return [value, "plain", length];
  }
  const longer = { shape: [BRACKETS], attr: [ASSIGNED, BRACKETS] }[key] ?? [];
  const held = [...longer, /^\S+/]
    .map((pattern) => pattern.exec(text)?.[0])
    .find((each) => each !== undefined);
  if (held === undefined || held === "/" || (key === "attr" && held.startsWith("=")))
    throw new Refusal(`Write what you look for after "${key}:".`);
  return [held, kindOf(held), held.length];
}

function quotedValue(text: string): [string, number] {
  const match = /^(?:"([^"]*)"|'([^']*)')(?=\s|$)/.exec(text);
  if (!match)
    throw new Refusal(
      `The quote before ${text.slice(1, 30)} has no end; write a second one, and a space.`,
    );
  return [match[1] ?? match[2] ?? "", match[0].length];
}

function kindOf(value: string): Kind {
  return value.includes("*") ? "glob" : "plain";
}

/** Small letters, so that a text is found however it is written; as Python's casefold, nearly. */
export function foldCase(text: string): string {
  return /^[ -~]*$/.test(text)
    ? text.toLowerCase()
    : text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/** Whether a text fits a term's value. */
export function matcherOf({
  value,
  kind,
}: Pick<Term, "value" | "kind">): (text: string) => boolean {
  if (kind === "regex") {
    const pattern = compileRegex(value);
    return (text) => text.length <= 1000 && pattern.test(text);
  }
  const low = foldCase(value);
  if (kind === "glob") {
    const pieces = low.split("*");
    return (text) => matchesGlob(pieces, foldCase(text));
  }
  return (text) => foldCase(text).includes(low);
}

/**
 * A repetition in a repetition: a browser may take for ever to see that a name does not fit, and
 * cannot be stopped.
 */
const ENDLESS = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)(?:[+*]|\{\d+,)/;

function compileRegex(pattern: string): RegExp {
  if (ENDLESS.test(pattern))
    throw new Refusal(
      `/${pattern.slice(0, 60)}/ repeats a repetition, which may take for ever in a page; ` +
        "write a simpler one.",
    );
  const small = /^\(\?i\)/.exec(pattern)?.[0] ?? "";
  const flags = small === "" ? "" : "i";
  const plain = translateRegex(pattern.slice(small.length));
  try {
    return new RegExp(plain, `u${flags}`);
  } catch {
    // Python takes "\_" or "{" as they are; so does this without the u.
  }
  try {
    return new RegExp(plain, flags);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Refusal(
      `/${pattern.slice(0, 60)}/ is not a regular expression: ${why}; ` +
        "put quotes around it to find it as text.",
    );
  }
}

/** What Python writes otherwise: the ends of the text, and groups with names. */
function translateRegex(pattern: string): string {
  return pattern.replace(/\\.|\(\?P<|\(\?P=(\w+)\)/gs, (found, name) => {
    if (found === "\\A") return "^";
    if (found === "\\Z") return "$";
    if (found === "(?P<") return "(?<";
    return name ? `\\k<${name}>` : found;
  });
}

/** Whether a text, or a part of it after a slash, matches the pieces with any text between them. */
function matchesGlob(pieces: readonly string[], text: string): boolean {
  const [first = "", ...middle] = pieces;
  const last = middle.pop() ?? "";
  const start = text.startsWith(first) ? 0 : text.indexOf(`/${first}`) + 1;
  if (start === 0 && !text.startsWith(first)) return false;
  let at = start + first.length;
  for (const piece of middle) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.endsWith(last) && text.length - last.length >= at;
}

/** The values that a term means: those that are just so, or else those that it is a part of. */
export function meantValues(values: Iterable<string>, term: Term, tails = false): Set<string> {
  const fits = matcherOf(term);
  const parts = [...values].filter((value) => fits(value));
  if (term.kind !== "plain") return new Set(parts);
  const low = foldCase(term.value);
  const exact = parts.filter((value) => {
    const own = foldCase(value);
    return own === low || (tails && own.endsWith(`/${low}`));
  });
  return new Set(exact.length > 0 ? exact : parts);
}

/**
 * A size, null for an unknown one, "*" for any, "..." for any number of sizes; null: of unknown
 * rank.
 */
export type Pattern = readonly (number | null | "*" | "...")[] | null | "*";

export function patternOf(text: string): Pattern {
  const low = text.trim().toLowerCase();
  if (low === "*") return "*";
  if (low === "unknown") return null;
  const bracketed = /^\[.*\]$|^\(.*\)$/.test(low);
  const inside = low === "scalar" ? "" : bracketed ? low.slice(1, -1) : low;
  const sizes = inside.split(bracketed ? "," : /[x×,]/).map((size) => size.trim());
  if (sizes.at(-1) === "") sizes.pop();
  const read = sizes.map((size) => {
    if (["?", "none", "-1"].includes(size)) return null;
    if (size === "*") return "*";
    if (size === "..." || size === "…") return "...";
    if (/^\d{1,15}$/.test(size)) return Number(size);
    throw notAShape(text);
  });
  if (read.filter((size) => size === "...").length > 1) throw notAShape(text);
  return read;
}

function notAShape(text: string): Refusal {
  return new Refusal(
    `"${text.slice(0, 40)}" is not a shape; write shape:?x224x224x3 or shape:[None, 10], ` +
      "with * for any size, and once ... for any number of them.",
  );
}

/**
 * Whether a shape as TensorFlow prints it, "(None, 3)" or "unknown", is one that a pattern means.
 */
export function matchesShape(shape: string, pattern: Pattern): boolean {
  if (pattern === "*") return true;
  if (pattern === null || shape === "unknown") return pattern === null && shape === "unknown";
  const sizes = (shape.match(/None|\d+/g) ?? []).map((size) =>
    size === "None" ? null : Number(size),
  );
  const gap = pattern.indexOf("...");
  const fits = (
    some: readonly (number | null)[],
    wanted: readonly (number | null | "*" | "...")[],
  ) => some.length === wanted.length && wanted.every((size, k) => size === "*" || size === some[k]);
  if (gap < 0) return fits(sizes, pattern);
  const tail = pattern.slice(gap + 1);
  if (sizes.length < gap + tail.length) return false;
  return (
    fits(sizes.slice(0, gap), pattern.slice(0, gap)) &&
    fits(sizes.slice(sizes.length - tail.length), tail)
  );
}
