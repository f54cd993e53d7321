// A small made-up graph as Python would send it: input → net(open){dense(closed) → (net)} with an
// edge in and one inside.
import type { CloneForm } from "../src/interaction/actions";
import type {
  ClonePreview,
  EditReport,
  Field,
  SceneReply,
  SelectionReply,
  State,
} from "../src/protocol/messages";

type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array;

/**
 * Arrays one after another, each at a multiple of 4, as tfgraphwidget/scene/scene.py to_bytes packs
 * them.
 */
export function packed(
  arrays: Record<string, Numbers>,
  shapes: Record<string, number[]> = {},
  shift = 0,
): { fields: Field[]; buffer: DataView } {
  const fields: Field[] = [];
  let end = 0;
  for (const [name, array] of Object.entries(arrays)) {
    fields.push({
      name,
      dtype: dtypeOf(array),
      shape: shapes[name] ?? [array.length],
      offset: end,
    });
    end += Math.ceil(array.byteLength / 4) * 4;
  }
  const bytes = new Uint8Array(end + shift);
  for (const [i, array] of Object.values(arrays).entries())
    bytes.set(
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength),
      shift + (fields[i]?.offset ?? 0),
    );
  return { fields, buffer: new DataView(bytes.buffer, shift) };
}

function dtypeOf(array: Numbers): Field["dtype"] {
  if (array instanceof Uint8Array) return "u1";
  if (array instanceof Uint32Array) return "u4";
  return array instanceof Int32Array ? "i4" : "f4";
}

export function texts(name: string, all: readonly string[]): Record<string, Numbers> {
  const encoded = all.map((text) => new TextEncoder().encode(text));
  const start = [0];
  for (const bytes of encoded) start.push((start.at(-1) ?? 0) + bytes.length);
  return {
    [`${name}_start`]: Uint32Array.from(start),
    [`${name}_bytes`]: Uint8Array.from(encoded.flatMap((bytes) => [...bytes])),
  };
}

export const NAMES = ["", "input", "net", "net/dense", "net"];

export function sceneArrays(names: readonly string[] = NAMES): Record<string, Numbers> {
  return {
    // biome-ignore format: one box per line
    box: Float32Array.from([
      0, 0, 400, 500,
      50, 20, 80, 30,
      40, 100, 300, 300,
      60, 140, 120, 46,
      60, 250, 80, 30,
    ]),
    parent: Int32Array.from([-1, 0, 0, 2, 2]),
    kind: Uint8Array.from([2, 0, 2, 1, 0]),
    family: Uint8Array.from([0, 1, 0, 4, 7]),
    aside: Uint8Array.from([0, 0, 0, 0, 0]),
    calls: Uint8Array.from([0, 0, 0, 0, 1]),
    count: Uint32Array.from([6, 1, 5, 4, 1]),
    variables: Uint32Array.from([2, 0, 2, 2, 0]),
    ...texts("name", names),
    ...texts("type", ["", "Placeholder", "", "", "Identity"]),
    members: Uint32Array.from([0, 0, 0, 0, 0]),
    part: Uint8Array.from([0, 0, 0, 0, 0]),
    loop: Uint8Array.from([0, 0, 0, 0, 0]),
    pinned: Uint8Array.from([0, 0, 0, 0, 0]),
    omitted: Uint32Array.from([0, 0, 0, 0, 0]),
    isolated: Uint8Array.from([0, 0, 0, 0, 0]),
    ...texts("label", ["", "", "", "", ""]),
    source: Int32Array.from([1, 3]),
    target: Int32Array.from([2, 4]),
    source_port: Uint8Array.from([0, 0]),
    target_port: Uint8Array.from([1, 0]),
    tensors: Uint32Array.from([1, 0]),
    route_start: Uint32Array.from([0, 2, 5]),
    route: Float32Array.from([90, 50, 90, 100, 120, 186, 120, 220, 100, 250]),
    back: Uint8Array.from([0, 0]),
    bytes: Float32Array.from([400, 0]),
    ...texts("edge_label", ["1×100", ""]),
  };
}

export function paintArrays(
  coverage: readonly number[] = [0, 0, 0, 0, 0],
): Record<string, Numbers> {
  return {
    coverage: Uint8Array.from(coverage),
    mark: Uint8Array.from(coverage.map(() => 0)),
    fresh: Uint8Array.from(coverage.map(() => 0)),
    differs: Uint8Array.from(coverage.map(() => 0)),
    probed: Uint8Array.from(coverage.map(() => 0)),
    unused: Uint8Array.from(coverage.map(() => 0)),
    effects: Uint8Array.from(coverage.map(() => 0)),
    tint: Uint8Array.from(coverage.map(() => 0)),
    selected_line: Uint8Array.from([0, 0]),
    ...texts(
      "note",
      coverage.map(() => ""),
    ),
    ...texts(
      "value",
      coverage.map(() => ""),
    ),
  };
}

export function state(change: Partial<State> = {}): State {
  return {
    revision: 1,
    path: ["graph"],
    warnings: [],
    untrusted: "",
    editable: "",
    fixed: "",
    expression: "",
    ops: 6,
    variables: 2,
    inputs: [],
    outputs: [],
    selected_ops: 0,
    selected_variables: 0,
    selected_trainable: 0,
    proposal: "copy",
    values: "current",
    undo: "",
    redo: "",
    code: [],
    ahead: [],
    sentences: [],
    comparing: false,
    comparison: "",
    explained: [],
    changes: [],
    offers: [],
    colors: [],
    legend: null,
    hidden: 0,
    direction: "down",
    likely: [],
    pinned: 0,
    ...change,
  };
}

export function drawn(
  change: Partial<State> = {},
  focus = "",
  edited: Partial<EditReport> | null = null,
  stamp = "",
): SceneReply & { buffer: DataView } {
  const shapes = { box: [5, 4], route: [5, 2] };
  return {
    type: "scene_reply",
    state: state(change),
    stamp,
    focus,
    edited: edited && { text: "", renamed: [], inspected: null, is_nothing: false, ...edited },
    ...packed({ ...sceneArrays(), ...paintArrays() }, shapes),
  };
}

export function painted(
  change: Partial<State>,
  coverage: readonly number[],
  stamp = "",
): SelectionReply & { buffer: DataView } {
  return {
    type: "selection_reply",
    state: state(change),
    stamp,
    text: "",
    ...packed(paintArrays(coverage)),
  };
}

/** The form as it stands when nobody has touched it. */
export const plainForm: CloneForm = {
  into: "copy",
  variables: "own",
  others: [],
  init: "current",
  placeholders: false,
  reseed: false,
  times: null,
  device: "",
};

export function previewed(change: Partial<ClonePreview> = {}): ClonePreview & { buffer: DataView } {
  return {
    type: "clone_preview",
    refusal: "",
    warned: [],
    offer: "",
    line: 'copy = editor.clone(inputs=["input"], outputs=["net"], into="copy")',
    ops: 5,
    scopes: ["copy"],
    outside: [],
    new: [],
    shared: [],
    stateful: [],
    dropped: [],
    states: [],
    states_total: 0,
    ...change,
    buffer: new DataView(new ArrayBuffer(0)),
  };
}
