// A field for a parameter of an op type or a function: a switch, a list of the allowed values, or a
// text that is checked.
import { quote } from "../../interaction/edits";
import type { Parameter } from "../../protocol/messages";
import { suggest } from "../controls/combobox";
import { ErrorLine, TEXT } from "../controls/form-fields";
import { breakableName, element, setAttributes, uniqueId } from "../dom";

export interface ParameterField {
  readonly name: string;
  readonly root: HTMLElement;
  /** The value as Python; "" for the default. */
  value(): string;
  /** Why the value cannot be, or ""; shows it at the field. */
  check(): string;
  /** Show a refusal of the kernel at the field. */
  refuse(why: string): void;
}

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

export function parameterField(parameter: Parameter): ParameterField {
  const { name, about, required } = parameter;
  const control = controlOf(parameter);
  const id = uniqueId();
  const error = new ErrorLine();
  error.root.id = uniqueId();
  setAttributes(control.input, { id, name, "aria-describedby": error.root.id, title: about });
  const refuse = (why: string) => {
    error.say(why);
    setAttributes(control.input, { "aria-invalid": why === "" ? undefined : "true" });
  };
  const check = () => {
    const why = problemOf(parameter, control.text());
    refuse(why);
    return why;
  };
  control.input.addEventListener("input", () => !error.root.hidden && check());
  control.input.addEventListener("change", check);
  const label = element(
    "span",
    { class: "tgw-label", title: about },
    breakableName(name),
    required ? element("b", {}, " *") : "",
  );
  const row = element("label", { class: "tgw-row", for: id }, label, control.input);
  const root = element("div", { class: "tgw-parameter" }, row, ...control.others, error.root);
  const value = () => {
    const text = control.text();
    return text === control.initial || text === "" ? "" : pythonOf(parameter, text);
  };
  return { name, root, value, check, refuse };
}

interface Control {
  readonly input: HTMLInputElement | HTMLSelectElement;
  readonly others: readonly HTMLElement[];
  /** The text at the default. */
  readonly initial: string;
  text(): string;
}

function controlOf(parameter: Parameter): Control {
  const { kind, many, allowed } = parameter;
  if (kind === "bool" && !many) return switchControl(parameter);
  if (allowed.length > 0 && !many) return listControl(parameter);
  return textControl(parameter);
}

function switchControl({ default: preset }: Parameter): Control {
  const box = element("input", { type: "checkbox", role: "switch" });
  box.checked = preset === "True";
  const text = () => (box.checked ? "True" : "False");
  return { input: box, others: [], initial: preset, text };
}

function listControl({ allowed, default: preset, required }: Parameter): Control {
  const select = element("select", { class: "tgw-input" });
  for (const word of required ? ["", ...allowed] : allowed)
    select.append(element("option", { value: word }, word || "Choose …"));
  const initial = unquoted(preset);
  select.value = initial;
  return { input: select, others: [], initial, text: () => select.value };
}

function textControl({ kind, many, default: preset, required }: Parameter): Control {
  const isText = !many && (kind === "string" || kind === "type");
  const initial = isText ? unquoted(preset) : preset;
  const input = element("input", { ...TEXT, class: "tgw-input tgw-mono" });
  input.value = initial;
  input.placeholder = required ? hintOf(kind, many) : "";
  const text = () => input.value.trim();
  if (kind !== "type" || many) return { input, others: [], initial, text };
  return { input, others: [suggest(input, DTYPES)], initial, text };
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

function pythonOf({ kind, many }: Parameter, text: string): string {
  const isText = !many && (kind === "string" || kind === "type");
  return isText ? quote(text) : text;
}

function unquoted(python: string): string {
  return python.replace(/^(['"])(.*)\1$/s, "$2");
}
