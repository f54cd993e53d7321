// Which edits make sense for what is looked at.

import type { Field, Verb } from "./panels/forms";
import type { Inspected } from "./protocol";

const PLACEHOLDER = /^Placeholder(WithDefault|V2)?$/;
const FUNCTIONS = [
  "Identity",
  "StopGradient",
  "Cast",
  "Reshape",
  "Transpose",
  "CheckNumerics",
  "Print",
  "Relu",
];
const DEVICES = ["/device:CPU:0", "/device:GPU:0"];

function device(initial: string): Field {
  return {
    key: "device",
    label: "Device",
    initial,
    words: DEVICES,
    python: false,
    hint: "Left empty, TensorFlow chooses.",
  };
}

/** Of several ops: the selection when `what` is empty, or a name scope. */
export function partVerbs(what: readonly string[], at = ""): Verb[] {
  return [
    { verb: "bypass", name: "Bypass", title: "Who reads what comes out reads what goes in", what },
    {
      verb: "remove",
      name: "Remove",
      title: "Take them out of the graph, and what only they needed (Delete)",
      what,
    },
    {
      verb: "detach",
      name: "Detach",
      title: "Cut all edges in and out; placeholders take their place",
      what,
    },
    {
      verb: "place",
      name: "Device",
      title: "Where they run",
      what,
      fields: [{ ...device(at), optional: false }],
    },
  ];
}

/** Of the chosen outputs, or those that the graph seems to be for. */
export const GRAPH_VERBS: readonly Verb[] = [
  {
    verb: "freeze",
    name: "Freeze",
    title: "Variables become constants; only what the outputs need stays",
    what: [],
  },
  {
    verb: "strip_training",
    name: "Strip training",
    title: "Gradients, optimisers, savers and summaries go",
    what: [],
  },
  {
    verb: "fold_batch_norm",
    name: "Fold batch norm",
    title: "Batch normalisation goes into the weights before it",
    what: [],
  },
];

function renaming(name: string): Verb {
  const fields = [{ key: "new", label: "Name", initial: name.replace(/\/$/, "") }];
  return { verb: "rename", name: "Rename", title: "Another name", what: [name], fields };
}

/** Of the op or the scope in the inspector. */
export function verbsOf(details: Inspected): Verb[] {
  const { name, op_type: type, inputs, outputs } = details;
  const all = partVerbs([name], details.device);
  if (type === "") return [...all, renaming(name)];
  const through = inputs.length > 0 && outputs.length > 0;
  return [
    ...all.filter(({ verb }) => verb !== "bypass" || through),
    renaming(name),
    ...(outputs.length > 0 ? [inserting(details)] : []),
    ...(PLACEHOLDER.test(type) ? [resizing(details)] : []),
    ...(type === "Const" || PLACEHOLDER.test(type) ? [setting(details)] : []),
    {
      verb: "add_control_inputs",
      name: "Wait for",
      title: "Another op that runs before this one",
      what: [name],
      fields: [{ key: "ops", label: "Op", tensor: true }],
    },
  ];
}

function inserting({ name }: Inspected): Verb {
  return {
    verb: "insert",
    name: "Insert after",
    title: "Put an op between this one and its readers",
    what: [`${name}:0`],
    fields: [
      { key: "function", label: "Op type", initial: "Identity", words: FUNCTIONS },
      {
        key: "options",
        label: "Options",
        python: true,
        optional: true,
        hint: 'Python, such as {"dtype": "float16"}. A function of your own: editor.insert in a cell.',
      },
    ],
  };
}

function resizing({ name, outputs }: Inspected): Verb {
  const [tensor] = outputs;
  return {
    verb: "replace_input",
    name: "Replace input",
    title: "Another shape or dtype",
    what: [`${name}:0`],
    fields: [
      { key: "shape", label: "Shape", initial: shapeOf(tensor?.shape ?? ""), python: true, optional: true },
      { key: "dtype", label: "Dtype", initial: tensor?.dtype ?? "", optional: true },
    ],
  };
}

/** What is not known is left empty, and stays as it is. */
function shapeOf(text: string): string {
  return text.startsWith("(") ? text : "";
}

function setting({ name, op_type: type, attributes }: Inspected): Verb {
  const held = attributes.find(([key]) => key === "value")?.[1] ?? "";
  return {
    verb: "set_constant",
    name: "Set constant",
    title: type === "Const" ? "Another value" : "A value for ever, which its readers get",
    what: [`${name}:0`],
    fields: [{ key: "value", label: "Value", initial: constantOf(held), python: true }],
  };
}

/** "int32 (2) [1, 2]" → "[1, 2]"; "" where the value is too long to be shown. */
export function constantOf(text: string): string {
  return /^\S+ \([^)]*\) (.+)$/.exec(text)?.[1] ?? "";
}
