// Forms for another graph, of a file or a variable of the notebook: add it to this one, or compare
// with it.
import type { Parts } from "../../interaction/parts";
import { FORMS } from "../../protocol/messages";
import { createForm, type FormSpec } from "../controls/edit-form";
import { innerValues } from "../controls/fields";
import type { Values } from "../controls/form-fields";

export interface OtherGraphForm {
  readonly name: string;
  readonly title: string;
  /** The method of the editor, and other names by which the form is found. */
  readonly command: string;
  readonly keywords: string;
  readonly form: (parts: Parts) => FormSpec;
}

export const ADD_MODEL: OtherGraphForm = {
  name: "Add a model",
  title: "Add a graph of the notebook or of a file to this one, and connect its inputs",
  command: "add",
  keywords: "import_graph_def join merge combine append another graph",
  form: ({ actions: { edits } }) => ({
    fields: FORMS.add,
    submit: "Add",
    apply: (values) => {
      const { into = "", ...joined } = innerValues(values, "source");
      return edits.add(values["source"] ?? "", into, joined);
    },
  }),
};
export const COMPARE_WITH: OtherGraphForm = {
  name: "Compare with",
  title: "Show how this graph differs from one of the notebook or of a file",
  command: "compare",
  keywords: "diff difference another graph model",
  form: ({ actions: { edits }, canSplit }) => ({
    fields: FORMS.compare,
    submit: "Compare",
    apply: ({ source = "" }) => edits.compareWith(source),
    others: canSplit
      ? [{ ...BESIDE, apply: ({ source = "" }: Values) => edits.beside(source) }]
      : [],
  }),
};
const BESIDE = {
  text: "Side by side",
  title: "Show both graphs in two panes that move together",
};

/** The form; `source` is what its field holds at first. */
export function otherGraphForm(
  { form }: OtherGraphForm,
  parts: Parts,
  close: () => void,
  source = "",
): HTMLFormElement {
  const { fields, ...spec } = form(parts);
  const initial = { initial: source };
  return createForm(
    { ...spec, fields: fields.map((one) => ({ ...one, ...initial })) },
    parts,
    close,
  );
}
