// A field that finds op types and functions of the notebook: a combobox with a list below.
import type { Parts } from "../../interaction/parts";
import type { LikelyType, OpType, PaletteRequest } from "../../protocol/messages";
import { Combobox } from "../controls/combobox";
import { element, hasFocus, setAttributes, uniqueId } from "../dom";

/** Milliseconds without a key before types are looked for. */
const PAUSE = 100;
const SHOWN = 40;

export interface OpSearch {
  readonly input: HTMLInputElement;
  readonly list: HTMLElement;
  /** What the text names, once the kernel has replied. */
  chosen(): Promise<OpType | null>;
}

interface OpSearchNeeds {
  /** Makes the entries of a palette, whose list stays open. */
  readonly palette?: (found: OpType) => HTMLElement;
  /** Called with types that can take the place of the op as they are. */
  readonly showLikely?: (likely: readonly LikelyType[]) => void;
  /** Whether the name of a type is not the only text that can be typed. */
  readonly isText?: boolean;
}

/** `choose` is called with each type that is chosen, or typed in full; null while there is none. */
export function createOpSearch(
  { actions }: Parts,
  place: Pick<PaletteRequest, "command" | "what">,
  choose: (found: OpType | null) => void,
  { palette, showLikely, isText }: OpSearchNeeds,
): OpSearch {
  const list = element("ul", {
    class: "tgw-options",
    role: "listbox",
    id: uniqueId(),
    "aria-label": "Op types",
    hidden: true,
  });
  const field = new Combobox(
    { class: "tgw-input tgw-mono", placeholder: "Op type or function" },
    list,
  );
  const { input } = field;
  let found: readonly OpType[] = [];
  let timer = 0;
  let last: Promise<OpType | null> = Promise.resolve(null);
  const open = (isOpen: boolean) => {
    list.hidden = !(isOpen || palette) || list.children.length === 0;
    field.expand(!list.hidden);
  };
  const pick = (type: OpType) => {
    input.value = type.name;
    last = Promise.resolve(type);
    open(false);
    choose(type);
    input.dispatchEvent(new Event("change", { bubbles: true }));
    input.focus();
  };
  const search = async (): Promise<OpType | null> => {
    const text = input.value.trim();
    const answer = await actions.edits.palette({ text, ...place, limit: SHOWN });
    if (!answer || input.value.trim() !== text) return last;
    found = answer.types;
    if (text === "") showLikely?.(answer.likely);
    list.replaceChildren(
      ...answer.types.map((type) => {
        const option = (palette ?? optionOf)(type);
        setAttributes(option, { id: uniqueId(), role: "option", "aria-selected": "false" });
        // the field keeps the focus
        option.addEventListener("mousedown", (event) => event.preventDefault());
        option.addEventListener("click", () => pick(type));
        return option;
      }),
    );
    if (!isText && found.length === 0)
      list.replaceChildren(
        element(
          "li",
          { class: "tgw-none", role: "option", "aria-disabled": "true" },
          `No op type and no function is called ${text}.`,
        ),
      );
    const exact = found.find(({ name }) => name === text) ?? null;
    field.reset();
    open(hasFocus(input) && exact === null);
    // The palette is at the end of the panel, and its list may be below what is to be seen of it.
    if (palette && hasFocus(input)) list.scrollIntoView({ block: "nearest" });
    choose(exact);
    return exact;
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    last = new Promise((resolve) => {
      timer = window.setTimeout(() => resolve(search()), PAUSE);
    });
  });
  input.addEventListener(
    "focus",
    () => found.length === 0 && input.dispatchEvent(new Event("input")),
  );
  input.addEventListener("blur", () => open(false));
  input.addEventListener("keydown", (event) => {
    const step = ({ ArrowDown: 1, ArrowUp: -1 } as const)[event.key];
    const taken = field.taken();
    const chosen = taken && found[field.options.indexOf(taken)];
    if (step) {
      open(true);
      field.move(step);
    } else if (event.key === "Enter" && !list.hidden && chosen) pick(chosen);
    else if (event.key === "Escape" && !list.hidden) open(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { input, list, chosen: () => last };
}

/** An entry of the list: the name, what it is, and the first sentence of its documentation. */
export function optionOf({ name, kind, summary, fits }: OpType): HTMLElement {
  const badge = kind === "function" ? [element("span", { class: "tgw-badge" }, "function")] : [];
  return element(
    "li",
    {
      class: fits ? "tgw-option" : "tgw-option tgw-barred",
      title: fits ? summary : `Needs other inputs. ${summary}`,
    },
    element("span", { class: "tgw-option-name" }, name, ...badge),
    element("span", { class: "tgw-dtype" }, summary.replaceAll("`", "")),
  );
}
