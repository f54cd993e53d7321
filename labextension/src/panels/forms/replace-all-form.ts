// The form of "Replace all": a pattern, and the op type, the function of the notebook or the text
// that takes its place.
import { quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { FormField } from "../../protocol/messages";
import { labeledField, TEXT } from "../controls/form-fields";
import { element } from "../dom";
import { opForm } from "./op-form";

/** The pattern of the search box, if the query is one. */
export function searchedPattern({ store }: Parts): string {
  return store.value.found?.matches?.text ?? "";
}

type Asked = Pick<FormField, "key" | "label" | "hint">;

/**
 * `fields` are those of the edit: the pattern, and what takes its place. `pattern` is the text in the form's own field; with null it is that of the search box. `applied`
 * is called once all matches are replaced, before `close`.
 */
export function replaceAllForm(
  fields: readonly Asked[],
  pattern: string | null,
  parts: Parts,
  close: () => void,
  applied: () => void = () => undefined,
): HTMLFormElement {
  const [ofPattern, by] = fields;
  const field = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: "pattern",
    required: true,
  });
  field.value = pattern ?? "";
  const text = () => (pattern === null ? searchedPattern(parts) : field.value.trim());
  const names = () => parts.store.value.found?.matches?.names ?? [];
  return opForm(
    {
      command: "insert", // op types that take what the pattern takes
      what: parts.store.value.found?.matches?.inputs ?? [],
      key: "by",
      initial: "",
      ...by,
      before: pattern === null ? [] : [labeledField(ofPattern?.label ?? "", field)],
      call: (name, attributes, isVariable) =>
        text() === ""
          ? null
          : {
              command: "replace_all",
              what: [],
              options: {
                pattern: quote(text()),
                by: isVariable ? name : quote(replacementText(name, names(), attributes)),
              },
              variables: isVariable ? ["by"] : [],
            },
    },
    parts,
    async ({ command, what, options, variables }) => {
      const isDone = await parts.actions.edits.change(command, what, options, variables);
      if (isDone) applied();
      return isDone;
    },
    close,
  );
}

/**
 * An op type with attributes as the text of a replacement; without any it is called on all that the
 * pattern names.
 */
export function replacementText(
  name: string,
  inputs: readonly string[],
  attributes: readonly (readonly [string, string])[],
): string {
  if (attributes.length === 0) return name;
  const written = attributes.map(([key, value]) => `${key}=${value}`);
  return `${name}(${[...inputs, ...written].join(", ")})`;
}
