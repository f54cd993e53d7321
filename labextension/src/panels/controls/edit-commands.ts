// The edits that apply to the inspected op, the selection or the whole graph, with the fields of their forms.
import type { Inspected } from "../../protocol/messages";
import type { EditCommand, Field } from "./edit-form";

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
    hint: "If empty, TensorFlow chooses.",
  };
}

/** Of several ops: the selection when `what` is empty, or a name scope. */
export function commandsForPart(what: readonly string[], at = ""): EditCommand[] {
  return [
    { verb: "bypass", name: "Bypass", title: "Connect the consumers directly to the inputs", what },
    {
      verb: "remove",
      name: "Remove",
      title: "Remove these ops and the ops that only they use (Delete)",
      what,
    },
    {
      verb: "detach",
      name: "Detach",
      title: "Cut all incoming and outgoing edges; placeholders replace the inputs",
      what,
    },
    {
      verb: "place",
      name: "Device",
      title: "Set the device",
      what,
      fields: [{ ...device(at), optional: false }],
    },
  ];
}

/** Of the chosen outputs, or those that the graph seems to be for. */
export const GRAPH_COMMANDS: readonly EditCommand[] = [
  {
    verb: "freeze",
    name: "Freeze",
    title: "Convert variables to constants and keep only what the outputs need",
    what: [],
  },
  {
    verb: "strip_training",
    name: "Strip training",
    title: "Remove gradients, optimizers, savers and summaries",
    what: [],
  },
  {
    verb: "fold_batch_norm",
    name: "Fold batch norm",
    title: "Fold batch normalization into the preceding weights",
    what: [],
  },
];

function renameCommand(name: string): EditCommand {
  const fields = [{ key: "new", label: "Name", initial: name.replace(/\/$/, "") }];
  return { verb: "rename", name: "Rename", title: "Change the name", what: [name], fields };
}

/** Of the op or the scope in the inspector. */
export function commandsFor(details: Inspected): EditCommand[] {
  const { name, op_type: type, inputs, outputs } = details;
  const all = commandsForPart([name], details.device);
  if (type === "") return [...all, renameCommand(name)];
  const through = inputs.length > 0 && outputs.length > 0;
  return [
    ...all.filter(({ verb }) => verb !== "bypass" || through),
    renameCommand(name),
    ...(outputs.length > 0 ? [insertCommand(details)] : []),
    ...(PLACEHOLDER.test(type) ? [replaceInputCommand(details)] : []),
    ...(type === "Const" || PLACEHOLDER.test(type) ? [setConstantCommand(details)] : []),
    {
      verb: "add_control_inputs",
      name: "Wait for",
      title: "Add a control input: an op that runs before this one",
      what: [name],
      fields: [{ key: "ops", label: "Op", tensor: true }],
    },
  ];
}

function insertCommand({ name }: Inspected): EditCommand {
  return {
    verb: "insert",
    name: "Insert after",
    title: "Insert an op between this op and its consumers",
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

function replaceInputCommand({ name, outputs }: Inspected): EditCommand {
  const [tensor] = outputs;
  return {
    verb: "replace_input",
    name: "Replace input",
    title: "Change the shape or dtype",
    what: [`${name}:0`],
    fields: [
      { key: "shape", label: "Shape", initial: shapeOf(tensor?.shape ?? ""), python: true, optional: true },
      { key: "dtype", label: "Dtype", initial: tensor?.dtype ?? "", optional: true },
    ],
  };
}

/** An unknown shape is left empty, and is not changed. */
function shapeOf(text: string): string {
  return text.startsWith("(") ? text : "";
}

function setConstantCommand({ name, op_type: type, attributes }: Inspected): EditCommand {
  const value = attributes.find(([key]) => key === "value")?.[1] ?? "";
  return {
    verb: "set_constant",
    name: "Set constant",
    title: type === "Const" ? "Change the value" : "Replace the placeholder by a constant",
    what: [`${name}:0`],
    fields: [{ key: "value", label: "Value", initial: constantOf(value), python: true }],
  };
}

/** "int32 (2) [1, 2]" → "[1, 2]"; "" where the value is too long to be shown. */
export function constantOf(text: string): string {
  return /^\S+ \([^)]*\) (.+)$/.exec(text)?.[1] ?? "";
}
