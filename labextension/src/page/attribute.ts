// What a query says of attributes: "attr:padding=SAME". The twin of tfgraphwidget/graph/op_predicates.py.
import type { Graph } from "./graph";
import { folded, holdsOf, type Term } from "./query";

/** Which ops have the attribute of a term, with its value when it has one; where an op leaves it out, by its default. */
export function attributeFits(graph: Graph, { value }: Term): (op: number) => boolean {
  const sign = value.indexOf("=");
  const [name, wanted] = sign < 0 ? [value, ""] : [value.slice(0, sign), value.slice(sign + 1)];
  const holds = sign < 0 ? null : matching(wanted);
  const fits = (told: readonly string[]) => holds === null || told.some(holds);
  const { defined } = graph.data.page;
  return (op) => {
    const known = defined[graph.type(op)] ?? [];
    const called =
      known.find(([each]) => each === name) ?? known.find(([each]) => folded(each) === folded(name));
    const own = called?.[0] ?? name;
    const held = graph.attributes(op).find((each) => each.name === own);
    const told = held ? held.told : called?.[1];
    return told !== null && told !== undefined && fits(told);
  };
}

/** Whether the text of an attribute is a value that was typed. */
function matching(value: string): (text: string) => boolean {
  const bare = value.slice(1, -1);
  const ends = `${value.slice(0, 1)}${value.slice(-1)}`;
  if (value.length > 2 && ends === "//") return holdsOf({ value: bare, kind: "regex" });
  const isQuoted = value.length > 1 && (ends === "''" || ends === '""');
  const wanted = normal(isQuoted ? bare : value);
  if (wanted.includes("*") && !isQuoted) return holdsOf({ value: wanted, kind: "glob" });
  return (text) => text === wanted;
}

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/;

/** A value as it is compared: in small letters, without spaces and quotes, numbers in the shortest way. */
export function normal(text: string): string {
  const low = folded(text.trim());
  if (/^(\?|\d+)([x×](\?|\d+))+$/.test(low)) return `[${low.split(/[x×]/).join(",")}]`;
  if (!["[]", "()"].includes(`${low.slice(0, 1)}${low.slice(-1)}`)) return short(low);
  const parts = low
    .slice(1, -1)
    .split(",")
    .map((part) => part.trim().replace(/^["']+|["']+$/g, ""));
  return `[${parts.map((part) => (part === "none" || part === "-1" ? "?" : short(part))).join(",")}]`;
}

function short(word: string): string {
  const isNumber = word.length < 40 && NUMBER.test(word) && !/^\d+$/.test(word);
  return isNumber ? general(Number(word)) : word;
}

/** With six digits, as Python's format "g" writes it. */
function general(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "0", power = "0"] = value.toExponential(5).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(Number(value.toPrecision(6)));
  const sign = exponent < 0 ? "-" : "+";
  return `${Number(digits)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
