// The form of "Order signature": the inputs and outputs of a signature, which the user moves up and
// down, with their keys.
import { type EditCall, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { SignatureRow } from "../../protocol/messages";
import {
  createForm,
  ErrorLine,
  labeledField,
  selectField,
  submitButton,
  TEXT,
} from "../controls/form-fields";
import { button, element, hasFocus, ICONS, icon } from "../dom";

const SIDES = ["inputs", "outputs"] as const;
type Side = (typeof SIDES)[number];
/** An input or output: its key as it is, and as it is typed. */
interface SignatureKey {
  readonly key: string;
  readonly typed: string;
}
type Keys = Readonly<Record<Side, readonly SignatureKey[]>>;

/** Where there is nothing to choose. */
export const NO_SIGNATURE =
  "The graph has no signature: Add signature makes one of the marked inputs and outputs.";

/** Enter applies, Escape closes. */
export function signatureForm(parts: Parts, close: () => void): HTMLFormElement {
  const body = element("div", { class: "tgw-ends" });
  const error = new ErrorLine();
  const button = submitButton("Apply");
  let shown: SignatureRow | null = null;
  const show = (row: SignatureRow) => {
    shown = row;
    error.say("");
    for (const old of body.querySelectorAll(".tgw-end-list, .tgw-subtitle")) old.remove();
    for (const side of SIDES)
      body.append(element("p", { class: "tgw-subtitle" }, capital(side)), endList(side, row[side]));
  };
  const fill = async () => {
    const rows = await namedSignatures(parts);
    const [first] = rows;
    if (!first) return error.say(NO_SIGNATURE);
    if (rows.length > 1) {
      const names = Object.fromEntries(rows.map(({ name }, i) => [` ${i}`, name]));
      const field = selectField("name", names); // a space before numbers keeps the order
      field.select.addEventListener("change", () =>
        show(rows[field.select.selectedIndex] ?? first),
      );
      body.append(labeledField("Signature", field.select));
    }
    show(first);
    // Where the focus was given to the form before it had fields.
    if (hasFocus(button)) body.querySelector<HTMLElement>("select, input")?.focus();
  };
  void fill();
  const submit = async () => {
    if (!shown) return;
    const keys: Keys = { inputs: keysOf(body, "inputs"), outputs: keysOf(body, "outputs") };
    const why = problemOf(keys);
    error.say(why);
    if (why) return;
    if (await makeAll(parts, callsFor(shown, keys))) close();
    else error.say(parts.store.value.status?.text ?? "");
  };
  return createForm({
    attributes: { novalidate: true },
    content: [body, error.root],
    buttons: [button],
    submit,
    close,
  });
}

async function namedSignatures({ actions: { edits } }: Parts): Promise<SignatureRow[]> {
  return (await edits.signatures())?.filter(({ name }) => name !== "") ?? [];
}

/** The names of the graph's signatures. */
export async function signatureNames(parts: Parts): Promise<string[]> {
  return (await namedSignatures(parts)).map(({ name }) => name);
}

type Call = Pick<EditCall, "command" | "what" | "options">;

/** Make all edits or none: those before one that is refused are undone. Whether they were made. */
export async function makeAll(
  { actions: { edits }, store }: Parts,
  calls: readonly Call[],
): Promise<boolean> {
  for (const [done, { command, what, options }] of calls.entries()) {
    if (await edits.change(command, what, options)) continue;
    const { status } = store.value; // says why; an undo would take its place
    for (let left = done; left > 0; left--) await edits.undo();
    store.set({ status });
    return false;
  }
  return true;
}

/** The inputs or outputs, each with its key, its tensor, and buttons that move it. */
function endList(side: Side, keys: readonly [string, string][]): HTMLElement {
  const list = element("ol", {
    class: "tgw-end-list",
    "data-side": side,
    "aria-label": capital(side),
  });
  for (const [key, tensor] of keys) list.append(endRow(list, key, tensor));
  return list;
}

function endRow(list: HTMLElement, key: string, tensor: string): HTMLElement {
  const input = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono tgw-end-key",
    "aria-label": `Key of ${tensor}`,
    "data-key": key,
    title: tensor,
  });
  input.value = key;
  const row = element("li", {}, input);
  const move = (name: string, path: string, to: () => void) => {
    const attributes = { class: "tgw-tool", title: name, "aria-label": `${name}: ${key}` };
    const control = button(
      attributes,
      () => {
        to();
        control.focus();
      },
      icon(path),
    );
    row.append(control);
  };
  move("Move up", ICONS.up, () => row.previousElementSibling?.before(row));
  move("Move down", ICONS.down, () => row.nextElementSibling?.after(row));
  list.append(row);
  return row;
}

/** The keys as they are in the form. */
function keysOf(body: HTMLElement, side: Side): SignatureKey[] {
  const inputs = body.querySelectorAll<HTMLInputElement>(`[data-side="${side}"] input`);
  return [...inputs].map(({ dataset, value }) => ({
    key: dataset["key"] ?? "",
    typed: value.trim(),
  }));
}

/** Why the keys cannot be, or "". */
export function problemOf(keys: Keys): string {
  for (const side of SIDES) {
    const typed = keys[side].map((end) => end.typed);
    if (typed.includes("")) return "Each input and output needs a key.";
    const twice = typed.find((key, i) => typed.indexOf(key) < i);
    if (twice !== undefined) return `Two ${side} have the key ${twice}; each needs its own.`;
  }
  return "";
}

/** The edits: the order first, then each key that is another one. */
export function callsFor(row: Pick<SignatureRow, "name" | Side>, keys: Keys): Call[] {
  const moved = SIDES.filter((side) => keys[side].some(({ key }, i) => key !== row[side][i]?.[0]));
  const order = moved.map((side) => [side, quote(keys[side].map(({ key }) => key))] as const);
  const renamed = SIDES.flatMap((side) => keys[side].filter(({ key, typed }) => key !== typed));
  return [
    ...(order.length > 0
      ? [
          {
            command: "order_signature" as const,
            what: [row.name],
            options: Object.fromEntries(order),
          },
        ]
      : []),
    ...renamed.map(({ key, typed }) => ({
      command: "rename" as const,
      what: [`${row.name}:${key}`],
      options: { new: quote(typed) },
    })),
  ];
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
