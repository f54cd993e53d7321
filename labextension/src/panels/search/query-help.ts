// Examples of queries, to click.
import { button, element } from "../dom";

/** Queries and what they find; the tests run them too. */
export const EXAMPLES: readonly { readonly text: string; readonly what: string }[] = [
  { text: "softmax", what: "in the name or type" },
  { text: "relu -scope:gradients", what: "with the first word, without ops in the scope" },
  { text: "name:conv*/bias", what: "op name; * matches any text" },
  { text: "type:Conv2D", what: "the op type" },
  { text: "dtype:float16", what: "dtype of an output" },
  { text: "shape:?x224x224x3", what: "? is unknown, * any size, ... any number of sizes" },
  { text: "shape:[None, 10]", what: "the same in Python syntax" },
  { text: "attr:padding=SAME", what: "an attribute, with or without its value" },
  { text: "device:GPU", what: "device of the op" },
  { text: "scope:net/block1", what: "all ops in a name scope" },
  { text: "is:trainable", what: "or variable, constant, input, loop, call, stateful" },
  { text: "pattern:Relu(BiasAdd(x, b=Const))", what: "the ops of a structure, wherever it fits" },
  { text: "/^net.*_\\d+$/", what: "a regular expression; (?i) ignores case" },
];

export interface QueryHelp {
  readonly root: HTMLElement;
  readonly opener: HTMLButtonElement;
  isShown(): boolean;
  show(shown: boolean): void;
}

/** `ask` is called with the example that was clicked. */
export function createQueryHelp(id: string, ask: (text: string) => void): QueryHelp {
  const title = "How to search";
  const root = element(
    "div",
    { class: "tgw-syntax", id, role: "group", "aria-label": title, hidden: true },
    ...EXAMPLES.map((example) => row(example, ask)),
  );
  const opener = button(
    {
      class: "tgw-tool tgw-syntax-opener",
      title,
      "aria-label": title,
      "aria-expanded": "false",
      "aria-controls": id,
    },
    () => undefined,
    "?",
  );
  const show = (shown: boolean) => {
    root.hidden = !shown;
    opener.setAttribute("aria-expanded", String(shown));
  };
  return { root, opener, show, isShown: () => root.hidden === false };
}

function row({ text, what }: (typeof EXAMPLES)[number], ask: (text: string) => void): HTMLElement {
  const example = button({ class: "tgw-link", title: `Find ${text}` }, () => ask(text), text);
  return element("div", { class: "tgw-syntax-row" }, example, element("span", {}, what));
}
