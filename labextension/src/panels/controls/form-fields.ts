// What a form asks for: each field is data, which the kernel writes for the arguments of its
// commands and requests. What it takes (its kind) says by which control it is shown.
import { type Options, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { DescribeRequest, FormField } from "../../protocol/messages";
import { element } from "../dom";

/** The kinds of the kernel; "path", where a file is saved; and "group", fields with a heading. */
export type FieldKind = NonNullable<FormField["kind"]> | "path" | "group";

/** A field of a form: what the kernel says of it, and what only the page knows. */
export interface Field extends Omit<FormField, "known" | "words" | "texts" | "kind"> {
  readonly kind?: FieldKind;
  readonly words?: readonly string[];
  readonly texts?: readonly string[];
  /** Text before the input, which is a part of the value: the scope of a name. */
  readonly prefix?: string;
  /** The input is a scope, "" for none; the value is this name in it. */
  readonly inScope?: string;
  /** The entries of a choice, in place of its words. */
  readonly choices?: readonly Choice[];
  /** Why there is nothing to apply where a choice has no entry. */
  readonly none?: string;
  /** The fields of a group. */
  readonly fields?: readonly Field[];
  /** The edit that an op type is for. */
  readonly place?: Pick<DescribeRequest, "command" | "what">;
  /** A tooltip, and what an empty field says. */
  readonly title?: string;
  readonly placeholder?: string;
  /** Whether its label is too long to stand before the input. */
  readonly isLong?: boolean;
  /** Why a text cannot be the value, or "". */
  readonly check?: (text: string) => string;
}

/** An entry of a list, and what fields hold by their keys once it is chosen. */
export interface Choice {
  readonly value: string;
  readonly text?: string;
  readonly fills?: Values;
}

/** What fields hold by their keys. */
export type Values = Readonly<Record<string, string>>;

/** A field with what it holds. */
export type Filled = readonly [Field, string];

/** What shows a field, and what it holds. */
export interface Control {
  readonly input: HTMLElement;
  /** What is below it. */
  readonly others?: readonly HTMLElement[];
  /** Text, or for kinds that are not text a Python literal; "" for nothing. */
  value(): string;
  fill(text: string): void;
  /** Why what it holds cannot be, or "". */
  check?(): string;
  /** Called with the word of the choice before it. */
  follow?(word: string): void;
  /** Whether the fields that it brings are yet to come, for the text that it holds. */
  waits?(): boolean;
  /** Resolves once it has brought them. */
  settled?(): Promise<unknown>;
  /** The arguments of an edit that it and the fields that it has brought say. */
  options?(brought: readonly Filled[]): Options;
}

/** What a control can do with the form around it. */
export interface Around {
  readonly parts: Parts;
  /** Fill other fields in. */
  fill(values: Values): void;
  /** Show more fields below it, until it holds another text. */
  bring(fields: readonly Field[]): void;
}

/** Whether a field of a kind holds text; the others hold Python literals. */
export function isTextual(kind: FieldKind): boolean {
  return ["text", "choice", "file", "tensor", "signature"].includes(kind);
}

/** What a field holds, as Python. */
export function pythonOf({ kind = "text", prefix = "" }: Field, value: string): string {
  return isTextual(kind) ? quote(`${prefix}${value}`) : value;
}

/** The values of a form as arguments of the edit. */
export function argumentsOf(fields: readonly Field[], values: Values): Options {
  const isFilled = (key: string) => (values[key] ?? "").trim() !== "";
  const filled = fields.filter(
    ({ key, optional, inScope }) => key !== "what" && (inScope || !optional || isFilled(key)),
  );
  return Object.fromEntries(
    filled.map((field) => {
      const typed = (values[field.key] ?? "").trim();
      const value = field.inScope === undefined ? typed : inScope(typed, field.inScope);
      return [field.key, pythonOf(field, value)];
    }),
  );
}

/** A name in a scope, which may be "" for none. */
export function inScope(scope: string, name: string): string {
  return [scope.replace(/\/+$/, ""), name].filter(Boolean).join("/");
}

/** A name as its last part, which is edited, and the scope before it. */
export function splitName(name: string): { initial: string; prefix: string } {
  const start = name.lastIndexOf("/") + 1;
  return { initial: name.slice(start), prefix: name.slice(0, start) };
}

export interface SelectField<T extends string> {
  readonly select: HTMLSelectElement;
  value(): T;
}

/** A drop-down list of `options`, value -> text. */
export function selectField<T extends string>(
  name: string,
  options: Readonly<Partial<Record<T, string>>>,
): SelectField<T> {
  const select = element("select", { name, class: "tgw-input" });
  const values = Object.keys(options) as T[];
  for (const value of values) select.append(element("option", { value }, options[value] ?? value));
  return { select, value: () => values[select.selectedIndex] ?? (values[0] as T) };
}

export const TEXT = { class: "tgw-input", spellcheck: "false", autocomplete: "off" } as const;
