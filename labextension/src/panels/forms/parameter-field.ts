// The fields of the parameters of an op type or a function: a switch, a list of the allowed values,
// or a text that is checked.
import type { Parameter } from "../../protocol/messages";
import { type Field, type FieldKind, isTextual } from "../controls/form-fields";

const DTYPES = [
  "float32",
  "float64",
  "float16",
  "bfloat16",
  "int32",
  "int64",
  "int16",
  "int8",
  "uint8",
  "uint16",
  "bool",
  "string",
  "complex64",
  "complex128",
];

const HINTS: Record<Parameter["kind"], string> = {
  bool: "True or False",
  int: "a whole number",
  float: "a number",
  string: "a text",
  type: "a dtype, such as float32",
  shape: "a shape, such as [None, 4]",
  tensor: "a value as Python, such as [1.0, 2.0]",
  any: "a value as Python",
};
const LISTS: Partial<Record<Parameter["kind"], string>> = {
  int: "[1, 2]",
  float: "[0.5, 1.0]",
  bool: "[True, False]",
  string: "['a', 'b']",
  type: "['float32']",
  shape: "[[None, 4]]",
};

/** The field of a parameter: a text without its quotes, or a Python literal. */
export function parameterField(parameter: Parameter): Field {
  const { name, kind, many, required, allowed, default: preset, about } = parameter;
  const shown = kindOf(parameter);
  const isChoice = shown === "choice";
  return {
    key: name,
    label: required ? `${name} *` : name,
    initial: isTextual(shown) ? preset.replace(/^(['"])(.*)\1$/s, "$2") : preset,
    kind: shown,
    title: about,
    placeholder: required ? hintOf(kind, many) : "",
    words: isChoice ? [...(required ? [""] : []), ...allowed] : kind === "type" ? DTYPES : [],
    ...(isChoice && required && { texts: ["Choose …", ...allowed] }),
    check: (text) => problemOf(parameter, text),
  };
}

function kindOf({ kind, many, allowed }: Parameter): FieldKind {
  if (many) return "python";
  if (allowed.length > 0) return "choice";
  if (kind === "bool") return "switch";
  return kind === "string" || kind === "type" ? "text" : "python";
}

function hintOf(kind: Parameter["kind"], many: boolean): string {
  return many ? `a list, such as ${LISTS[kind] ?? "[1, 2]"}` : HINTS[kind];
}

/**
 * Why a text is not a value of a parameter, or "". The kernel knows best; this is what can be said
 * while one types.
 */
export function problemOf(parameter: Parameter, text: string): string {
  const { name, kind, many, required, minimum } = parameter;
  if (text === "") return required ? `${name} is required: ${hintOf(kind, many)}.` : "";
  if (text === "None" && !required) return "";
  if (!isOfKind(parameter, text)) return `${name} must be ${hintOf(kind, many)}.`;
  const isSmall = kind === "int" && !many && minimum !== null && Number(text) < minimum;
  return isSmall ? `${name} must be at least ${minimum}.` : "";
}

function isOfKind({ kind, many }: Parameter, text: string): boolean {
  const isList = /^[[(].*[\])]$/s.test(text) && isPython(text);
  if (many) return isList;
  const checks: Partial<Record<Parameter["kind"], () => boolean>> = {
    int: () => /^[+-]?\d+$/.test(text),
    float: () => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text),
    type: () => DTYPES.includes(text),
    shape: () => isList || text === "None",
    tensor: () => isPython(text),
    any: () => isPython(text),
  };
  return checks[kind]?.() ?? true;
}

/**
 * Whether a text is a Python literal of numbers, texts, lists and tuples, as far as JSON can say.
 */
function isPython(text: string): boolean {
  const json = text
    .replace(/'((?:[^'\\]|\\.)*)'/g, (_, inside: string) => JSON.stringify(inside))
    .replace(/\bNone\b/g, "null")
    .replace(/\bTrue\b/g, "true")
    .replace(/\bFalse\b/g, "false")
    .replace(/\(/g, "[")
    .replace(/\)/g, "]")
    .replace(/,\s*]/g, "]")
    .replace(/(^|[[,\s-])\.(\d)/g, "$10.$2")
    .replace(/(\d)\.(?=[\s,\]e]|$)/g, "$1.0");
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}
