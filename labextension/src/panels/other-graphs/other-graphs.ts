// Forms for another graph, of a file or a variable of the notebook: add it to this one, or compare
// with it.
import type { Parts } from "../../interaction/parts";
import type { Joint } from "../../protocol/messages";
import { browseButton } from "../controls/browse-button";
import { suggest } from "../controls/combobox";
import { completion } from "../controls/fields";
import { createForm, labeledField, submitButton, TEXT } from "../controls/form-fields";
import { element, taskButton } from "../dom";

export interface OtherGraphForm {
  readonly name: string;
  readonly title: string;
  /** The method of the editor, and other names by which the form is found. */
  readonly command: string;
  readonly keywords: string;
  /** The form; `source` is what its first field holds, `close` is called when it is done. */
  create(parts: Parts, source: string, close: () => void): HTMLFormElement;
}

export const ADD_MODEL: OtherGraphForm = {
  name: "Add a model",
  title: "Add a graph of the notebook or of a file to this one, and connect its inputs",
  command: "add",
  keywords: "import_graph_def join merge combine append another graph",
  create: addForm,
};
export const COMPARE_WITH: OtherGraphForm = {
  name: "Compare with",
  title: "Show how this graph differs from one of the notebook or of a file",
  command: "compare",
  keywords: "diff difference another graph model",
  create: compareForm,
};

/** Inputs that a form lists; the rest stay placeholders. */
const MOST = 12;
const HINT = "A graph of the notebook, or the path of a file.";
const JOINED = "Each of its inputs, and the tensor that it becomes:";
/** What the button says before the inputs of the model are shown, and after. */
const NEXT = "Next";
const ADD = "Add";

function compareForm(parts: Parts, source: string, close: () => void): HTMLFormElement {
  const { actions } = parts;
  const { field, input, browse } = sourceField(parts, source);
  const beside = taskButton(
    { class: "tgw-button tgw-quiet", title: "Show both graphs in two panes that move together" },
    async () => {
      if (await actions.edits.beside(input.value.trim())) close();
    },
    "Side by side",
  );
  return createForm({
    content: [field, ...browse, hint(HINT)],
    buttons: [submitButton("Compare"), ...(parts.canSplit ? [beside] : [])],
    submit: async () => {
      if (await actions.edits.compareWith(input.value.trim())) close();
    },
    close,
  });
}

function addForm(parts: Parts, source: string, close: () => void): HTMLFormElement {
  const { edits } = parts.actions;
  const { field, input, browse } = sourceField(parts, source);
  const into = element("input", { ...TEXT, class: "tgw-input tgw-mono", name: "into" });
  const joints = element("div", { class: "tgw-joints" });
  const button = submitButton(NEXT);
  const rest = element("div", { hidden: true }, labeledField("Scope", into), joints);
  let known = "";
  const show = async (): Promise<boolean> => {
    const name = input.value.trim();
    if (name === "" || name === known) return name !== "";
    const answer = await edits.inputsOf(name);
    if (!answer || name !== input.value.trim()) return false;
    // Both a press on the button and the field that loses the focus by it ask: what is typed by now
    // stays.
    if (name === known) return true;
    known = name;
    into.value = answer.into;
    const fields = answer.joints.slice(0, MOST).flatMap((joint) => jointField(joint, parts));
    joints.replaceChildren(...(fields.length > 0 ? [hint(JOINED)] : []), ...fields);
    rest.hidden = false;
    button.textContent = ADD;
    return true;
  };
  input.addEventListener("change", () => void show());
  input.addEventListener("input", () => {
    const isKnown = input.value.trim() === known;
    button.textContent = isKnown ? ADD : NEXT;
    rest.hidden = !isKnown; // nothing is clicked or typed for the graph that was named before
  });
  // A press on the button does not take the focus from the field first, which would move the button
  // away.
  button.addEventListener("mousedown", (event) => event.preventDefault());
  if (source) void show();
  const submit = async () => {
    // The first Enter shows the inputs of what was typed.
    if (input.value.trim() !== known) return void (await show());
    const fields = [...joints.querySelectorAll<HTMLInputElement>("input[data-input]")];
    const joined = fields.filter(({ value }) => value.trim() !== "");
    const pairs = new Map(
      joined.map(({ dataset, value }) => [dataset["input"] ?? "", value.trim()]),
    );
    if (await edits.add(known, into.value.trim(), pairs)) close();
  };
  return createForm({
    content: [field, ...browse, hint(HINT), rest],
    buttons: [button],
    submit,
    close,
  });
}

/** The tensor that represents an input; if it is empty, the input stays a placeholder. */
function jointField({ input: name, about, tensor }: Joint, parts: Parts): HTMLElement[] {
  const attributes = {
    ...TEXT,
    class: "tgw-input tgw-mono",
    "data-input": name,
    placeholder: "stays an input",
  };
  const input = element("input", { ...attributes, title: about });
  input.value = tensor;
  return [labeledField(name, input), ...completion(input, parts)];
}

interface SourceField {
  readonly field: HTMLElement;
  readonly input: HTMLInputElement;
  readonly browse: HTMLButtonElement[];
}

/** Which graph: a variable is chosen from the list, or the path of a file typed or browsed for. */
function sourceField(parts: Parts, source: string): SourceField {
  const attributes = { ...TEXT, class: "tgw-input tgw-mono", name: "source", required: true };
  const input = element("input", attributes);
  const list = suggest(input);
  input.value = source;
  void parts.actions.edits.sources().then((sources) => {
    list.replaceChildren(
      ...sources.map(({ name, kind }) => element("option", { value: name }, `${name} (${kind})`)),
    );
    // The first variable, or the only file, is the one that is meant, as a rule.
    const first =
      sources.find(({ kind }) => kind !== "file") ??
      (sources.length === 1 ? sources[0] : undefined);
    if (first && input.value === "") {
      input.value = first.name;
      input.select();
      input.dispatchEvent(new Event("change"));
    }
  });
  const browse = browseButton(input, parts, { title: "Choose a graph", kind: "file" });
  return { field: element("div", {}, labeledField("Graph", input), list), input, browse };
}

function hint(text: string): HTMLElement {
  return element("p", { class: "tgw-hint" }, text);
}
