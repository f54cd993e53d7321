// The field of an op type or a function of the notebook, which brings the fields of its parameters,
// and of the name and scope of its ops. What replaces the matches of a pattern takes what the
// pattern takes, and may be a text.
import { type Options, quote } from "../../interaction/edits";
import type { LikelyType, OpType } from "../../protocol/messages";
import {
  type Around,
  type Control,
  type Field,
  type Filled,
  inScope,
  pythonOf,
  splitName,
} from "../controls/form-fields";
import { element, taskButton } from "../dom";
import { createOpSearch } from "./op-search";
import { parameterField } from "./parameter-field";

export function opTypeControl(field: Field, { parts, bring }: Around): Control {
  const { store, actions } = parts;
  const { key, initial = "" } = field;
  const isReplacement = field.kind === "replacement";
  const found = () => store.value.found?.matches;
  const place = field.place ?? { command: "insert" as const, what: found()?.inputs ?? [] };
  const about = element("p", { class: "tgw-hint", hidden: true });
  const likely = element("div", { class: "tgw-likely", role: "group", "aria-label": "Likely" });
  let isFunction = false;
  let [asked, proposal] = ["", ""];
  let parameters: Field[] = [];
  let naming: Field[] = [];
  let describing: Promise<unknown> = Promise.resolve();
  let taken: LikelyType | null = null;
  const describe = (type: OpType | null) => {
    const wanted = type ? `${type.kind} ${type.name}` : "";
    if (wanted === asked) return;
    asked = wanted;
    isFunction = type?.kind === "function";
    about.hidden = true;
    if (type) describing = show(type.name, wanted);
  };
  const show = async (name: string, wanted: string) => {
    const described = await actions.edits.describe({ name, function: isFunction, ...place });
    if (asked !== wanted) return;
    if (!described || input.value.trim() !== name) {
      asked = "";
      return;
    }
    about.textContent = described.summary.replaceAll("`", "");
    about.hidden = about.textContent === "";
    parameters = described.parameters.map(parameterField);
    proposal = described.scope;
    naming = isReplacement ? [] : nameFields(proposal);
    bring([...parameters, ...naming]);
  };
  /** A button that replaces the op at once. */
  const likelyButton = (type: LikelyType) => {
    const take = async () => {
      [taken, input.value] = [type, type.name];
      input.form?.requestSubmit();
    };
    const attributes = { class: "tgw-button", title: type.summary.replaceAll("`", "") };
    const control = taskButton(attributes, take, type.name);
    // the field keeps the focus: its list would close and move what is below the pointer away
    control.addEventListener("mousedown", (event) => event.preventDefault());
    return control;
  };
  const showLikely = (types: readonly LikelyType[]) => {
    if (likely.childElementCount === 0) likely.append(...types.map(likelyButton));
  };
  const search = createOpSearch(parts, place, describe, { showLikely, isText: isReplacement });
  const { input } = search;
  input.value = initial;
  input.addEventListener("input", () => {
    taken = null;
  });
  const value = () => (isFunction ? input.value.trim() : quote(input.value.trim()));
  const options = (brought: readonly Filled[]): Options => {
    if (taken) return { [key]: value(), ...(taken.attributes && { attributes: taken.attributes }) };
    const attributes = brought
      .filter(([one, text]) => parameters.includes(one) && text !== "" && text !== one.initial)
      .map(([one, text]) => [one.key, pythonOf(one, text)] as const);
    if (isReplacement) {
      const text = replacementText(input.value.trim(), found()?.names ?? [], attributes);
      return { [key]: isFunction ? value() : quote(text) };
    }
    const [name, scope = ""] = brought.flatMap(([one, text]) => (naming.includes(one) ? text : []));
    const whole = inScope(scope, name || splitName(proposal).initial);
    return {
      [key]: value(),
      ...(attributes.length > 0 && { attributes: dictOf(attributes) }),
      ...(whole !== proposal && { name: quote(whole) }), // else the kernel's
    };
  };
  const settled = async () => {
    if (!taken) describe(await search.chosen());
    await describing;
  };
  const check = () => (input.value.trim() === "" ? "Choose an op type, or a function." : "");
  const fill = (text: string) => {
    input.value = text;
  };
  return { input, others: [likely, search.list, about], value, fill, check, settled, options };
}

/** The name of the new ops, and the scope around. */
function nameFields(proposal: string): Field[] {
  const { initial, prefix } = splitName(proposal);
  return [
    { key: "name", label: "Name", initial, optional: true },
    {
      key: "scope",
      label: "Scope",
      initial: prefix.slice(0, -1),
      optional: true,
      placeholder: "(none)",
    },
  ];
}

type Entries = readonly (readonly [name: string, value: string])[];

function dictOf(entries: Entries): string {
  return `{${entries.map(([name, value]) => `${quote(name)}: ${value}`).join(", ")}}`;
}

/**
 * An op type with attributes as the text of a replacement; without any it is called on all that the
 * pattern names.
 */
export function replacementText(
  name: string,
  inputs: readonly string[],
  attributes: Entries,
): string {
  if (attributes.length === 0) return name;
  const written = attributes.map(([key, value]) => `${key}=${value}`);
  return `${name}(${[...inputs, ...written].join(", ")})`;
}
