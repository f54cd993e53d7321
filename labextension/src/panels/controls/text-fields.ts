// Fields with a text that names something: a file, a tensor, a graph. It is typed, chosen from what
// is proposed, browsed for, or clicked in the drawing.
import type { Joints } from "../../protocol/messages";
import { type Attributes, button, element, hasFocus, ICONS, icon } from "../dom";
import { browseButton } from "./browse-button";
import { suggest } from "./combobox";
import { type Around, type Control, type Field, TEXT } from "./form-fields";

/** Milliseconds without a key before names are looked for. */
const PAUSE = 150;
/** Inputs of a model that a form lists; the rest stay placeholders. */
const MOST = 12;

interface TextControl extends Control {
  readonly input: HTMLInputElement;
  readonly others: readonly HTMLElement[];
}

export function textControl(field: Field, attributes: Attributes = {}): TextControl {
  const { initial = "", optional, kind = "text", words, placeholder, check } = field;
  const input = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    required: !optional && kind !== "python" && !check,
    placeholder,
    ...attributes,
  });
  input.value = initial;
  const fill = (text: string) => {
    input.value = text;
    if (hasFocus(input)) input.select();
  };
  const others = words?.length ? [suggest(input, words)] : [];
  return { input, others, value: () => input.value.trim(), fill };
}

/** The path of a file to read; its word is the ending. */
export function fileControl({ words, ...field }: Field, { parts }: Around): TextControl {
  const [suffix = ""] = words ?? [];
  const control = textControl(field);
  const choice = { title: `Choose a ${suffix || "graph"} file`, kind: "file", suffix } as const;
  return { ...control, others: browseButton(control.input, parts, choice) };
}

/** The path of a file to save. */
export function pathControl(field: Field, { parts }: Around): TextControl {
  const control = textControl(field);
  const choice = { title: "Choose the folder to save in", kind: "folder" } as const;
  return { ...control, others: browseButton(control.input, parts, choice) };
}

/**
 * Tensors of ops with the text in their name; and a button that takes the op that is clicked next.
 */
export function tensorControl(field: Field, { parts: { store, actions } }: Around): TextControl {
  const control = textControl(field);
  const { input } = control;
  const list = suggest(input);
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      const hits = await actions.edits.complete(input.value.replace(/:\d*$/, ""));
      list.replaceChildren(...hits.map(({ name }) => element("option", { value: `${name}:0` })));
    }, PAUSE);
  });
  const take = (op: string) => {
    input.value = `${op}:0`;
    input.focus();
  };
  const pick = button(
    { class: "tgw-text-button tgw-pick", title: "Pick an op" },
    () => store.set({ picking: { ask: "Click an op to pick it; press Escape to cancel.", take } }),
    icon(ICONS.target),
    "Click an op",
  );
  return { ...control, others: [list, pick] };
}

/** Which graph: a variable is chosen from the list, or the path of a file typed or browsed for. */
export function graphControl(field: Field, around: Around): TextControl {
  const control = fileControl(field, around);
  const { input } = control;
  const list = suggest(input);
  void around.parts.actions.edits.sources().then((sources) => {
    list.replaceChildren(
      ...sources.map(({ name, kind }) => element("option", { value: name }, `${name} (${kind})`)),
    );
    // The first variable, or the only file, is the one that is meant, as a rule.
    const first =
      sources.find(({ kind }) => kind !== "file") ??
      (sources.length === 1 ? sources[0] : undefined);
    if (first && input.value === "") {
      control.fill(first.name);
      input.dispatchEvent(new Event("change"));
    }
  });
  return { ...control, others: [list, ...control.others] };
}

/** A graph that brings a field for its scope, and for each of its inputs. */
export function modelControl(field: Field, around: Around): Control {
  const control = graphControl(field, around);
  let known = "";
  const settled = async () => {
    const name = control.value();
    if (name === "" || name === known) return;
    const answer = await around.parts.actions.edits.inputsOf(name);
    // Both a press on the button and the field that loses the focus by it ask: what is typed by now
    // stays.
    if (!answer || name !== control.value() || name === known) return;
    known = name;
    around.bring(jointFields(answer));
  };
  control.input.addEventListener("change", () => void settled());
  void settled();
  return { ...control, waits: () => known === "" || control.value() !== known, settled };
}

/** Of each input the tensor that it becomes; if it is empty, the input stays a placeholder. */
function jointFields({ joints, into }: Joints): Field[] {
  const hint = joints.length > 0 ? "Each of its inputs, and the tensor that it becomes:" : "";
  const fields = joints.slice(0, MOST).map(({ input, about, tensor }) => ({
    key: input,
    label: input,
    initial: tensor,
    kind: "tensor" as const,
    optional: true,
    title: about,
    placeholder: "stays an input",
    isLong: true,
  }));
  return [{ key: "into", label: "Scope", initial: into, optional: true, hint }, ...fields];
}
