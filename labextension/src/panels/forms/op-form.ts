// The form of Replace and Insert: an op type or a function of the notebook, its parameters, the
// name and scope of its ops.
import { type EditCall, type Options, quote } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { FormReply, LikelyType, OpType } from "../../protocol/messages";
import { createEditPreview } from "../controls/edit-preview";
import { FieldSet } from "../controls/fields";
import { createForm, ErrorLine, labeledField, submitButton } from "../controls/form-fields";
import { button, element, whileBusy } from "../dom";
import { createOpSearch } from "./op-search";
import { parameterField, parameterValue } from "./parameter-field";

type Entries = readonly (readonly [name: string, value: string])[];

export interface OpFormTarget {
  readonly command: "insert" | "replace";
  readonly what: readonly string[];
  /** The argument of the edit that is the op type. */
  readonly key: string;
  readonly initial: string;
  /** Of another edit, which is previewed: the label of the field, what is below and before it … */
  readonly label?: string;
  readonly hint?: string;
  readonly before?: readonly HTMLElement[];
  /**
   * … and the edit, for the name in the field, which may be text, and the parameters that differ
   * from their defaults.
   */
  readonly call?: (name: string, attributes: Entries, isVariable: boolean) => EditCall | null;
}

/** What the form is filled in with, as an edit. */
export type ApplyOp = (call: EditCall) => Promise<boolean>;

export function opForm(
  target: OpFormTarget,
  parts: Parts,
  apply: ApplyOp,
  close: () => void,
): HTMLFormElement {
  const { command, key, initial } = target;
  const what = [...target.what];
  const details = element("div", { class: "tgw-op-parameters" });
  const error = new ErrorLine();
  let described: FormReply | null = null;
  let fields = new FieldSet([], parts);
  // What is typed there stays when another op type is described.
  const naming = target.call ? null : nameFields(parts);
  const names = element("div", { hidden: true }, ...(naming ? [naming.root] : []));
  let shown = "";
  let describing: Promise<unknown> = Promise.resolve();
  const describe = (found: OpType | null) => {
    latest = found;
    const wanted = found ? `${found.kind} ${found.name}` : "";
    if (wanted === shown) return;
    shown = wanted;
    describing = show(found, wanted);
  };
  const show = async (found: OpType | null, wanted: string) => {
    const request = found && {
      name: found.name,
      function: found.kind === "function",
      command,
      what,
    };
    const answer = request && (await parts.actions.edits.describe(request));
    if (shown !== wanted) return;
    described = answer;
    fields = new FieldSet((answer?.parameters ?? []).map(parameterField), parts);
    if (answer) naming?.propose(answer.scope);
    names.hidden = !naming || !answer;
    details.replaceChildren(...contents(answer), fields.root);
    preview?.update(true);
  };
  const likely = element("div", {
    class: "tgw-likely",
    role: "group",
    "aria-label": "Likely",
    hidden: true,
  });
  let likelyNames = "";
  const showLikely = (types: readonly LikelyType[]) => {
    const names = types.map(({ name }) => name).join();
    if (names === likelyNames) return; // a button that is pressed stays
    likelyNames = names;
    likely.hidden = types.length === 0;
    likely.replaceChildren(...types.map((type) => likelyButton(type, use)));
  };
  const search = createOpSearch(
    parts,
    { command, what },
    describe,
    undefined,
    target.call ? undefined : showLikely,
    !target.call, // what replaces all may be a text, and is previewed
  );
  search.input.name = key;
  search.input.value = initial;
  const submit = keepFocus(submitButton(target.call ? "Replace all" : "Apply"));
  const callOf = (found: OpType | null): EditCall | null => {
    const name = search.input.value.trim();
    if (name === "") return null;
    const isFunction = found?.kind === "function";
    if (target.call) return target.call(name, entriesOf(described, fields), isFunction);
    const options = {
      [key]: isFunction ? name : quote(name),
      ...attributes(described, fields),
      ...(described && naming?.options()),
    };
    return { command, what, options, variables: isFunction ? [key] : [] };
  };
  let latest: OpType | null = null;
  const preview = target.call && createEditPreview(parts, () => callOf(latest));
  const end = () => {
    preview?.close();
    close();
  };
  const refuse = (why: string, argument = "") => {
    error.say(fields.refuse(why, argument) ? "" : why);
  };
  const make = async (call: EditCall) => {
    if (await apply(call)) return end();
    const { status } = parts.store.value;
    refuse(status?.text ?? "", status?.argument);
    parts.store.set({ status: null }); // the form says it
  };
  const use = ({ name, attributes: taken }: LikelyType) => {
    refuse("");
    const options = { [key]: quote(name), ...(taken && { attributes: taken }) };
    return make({ command, what, options, variables: [] });
  };
  const run = async () => {
    refuse("");
    const found = await search.chosen();
    describe(found);
    await describing;
    const call = callOf(found);
    if (!call) return refuse("Choose an op type, or a function of the notebook.");
    if (fields.check()) await make(call);
  };
  const form = createForm({
    attributes: { class: "tgw-inline tgw-op-form", novalidate: true },
    content: [
      ...(target.before ?? []),
      likely,
      labeledField(target.label ?? "Op type", search.input),
      search.list,
      ...(target.hint ? [element("p", { class: "tgw-hint" }, target.hint)] : []),
      details,
      names,
      error.root,
      ...(preview ? [preview.root] : []),
    ],
    buttons: [submit],
    submit: run,
    close: end,
  });
  form.addEventListener("input", () => {
    if (described) refuse("");
    preview?.update();
  });
  return form;
}

/** A button that replaces the op at once. */
function likelyButton(type: LikelyType, use: (type: LikelyType) => Promise<void>): HTMLElement {
  const attributes = { class: "tgw-button", title: type.summary.replaceAll("`", "") };
  const press = button(attributes, () => void whileBusy(press, () => use(type)), type.name);
  return keepFocus(press);
}

/**
 * A press on it leaves the focus in the field, whose list would close and move what is below the
 * pointer away.
 */
function keepFocus<T extends HTMLElement>(control: T): T {
  control.addEventListener("mousedown", (event) => event.preventDefault());
  return control;
}

function entriesOf(described: FormReply | null, fields: FieldSet): Entries {
  const values = fields.values();
  return (described?.parameters ?? [])
    .map((one) => [one.name, parameterValue(one, values[one.name] ?? "")] as const)
    .filter(([, value]) => value !== "");
}

/** The parameters that differ from their defaults, as an argument of the edit. */
function attributes(described: FormReply | null, fields: FieldSet): Options {
  const entries = entriesOf(described, fields);
  if (entries.length === 0) return {};
  return {
    attributes: `{${entries.map(([name, value]) => `${quote(name)}: ${value}`).join(", ")}}`,
  };
}

function contents(described: FormReply | null): readonly HTMLElement[] {
  if (!described?.summary) return [];
  return [element("p", { class: "tgw-hint" }, described.summary.replaceAll("`", ""))];
}

interface Naming {
  readonly root: HTMLElement;
  /** Another name and scope are proposed; what was typed stays. */
  propose(proposal: string): void;
  options(): Options;
}

/** The name of the new ops and the scope around; the proposal is left to the kernel. */
function nameFields(parts: Parts): Naming {
  const fields = new FieldSet(
    [
      { key: "name", label: "Name" },
      { key: "scope", label: "Scope", optional: true, placeholder: "(none)" },
    ],
    parts,
  );
  let proposed = partsOf("");
  const propose = (proposal: string) => {
    proposed = partsOf(proposal);
    fields.propose("name", proposed.name);
    fields.propose("scope", proposed.scope);
  };
  const options = (): Options => {
    const { name, scope = "" } = fields.values();
    const whole = inScope(scope, name || proposed.name);
    return whole === inScope(proposed.scope, proposed.name) ? {} : { name: quote(whole) };
  };
  return { root: fields.root, propose, options };
}

function inScope(scope: string, name: string): string {
  return [scope.replace(/\/+$/, ""), name].filter(Boolean).join("/");
}

/** The last part of a name, and the scope around. */
function partsOf(whole: string): { readonly name: string; readonly scope: string } {
  const start = whole.lastIndexOf("/") + 1;
  return { name: whole.slice(start), scope: whole.slice(0, start).replace(/\/$/, "") };
}
