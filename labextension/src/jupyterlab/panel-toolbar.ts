// The toolbar of a panel: choice of graph, the editor's variable, the latest edit, and a button
// that inserts it.
import { addIcon, refreshIcon, Toolbar, ToolbarButton } from "@jupyterlab/ui-components";
import { Widget } from "@lumino/widgets";
import { element } from "./pane";

/**
 * Something with a graph in the kernel, by the name of its variable; "" is TensorFlow's default
 * graph.
 */
export interface GraphChoice {
  readonly name: string;
  readonly kind: string;
  readonly about: string;
}

interface ToolbarActions {
  choose(name: string): void;
  refresh(): void;
  insert(): void;
}

export const choiceTitle = ({ name }: { readonly name: string }): string => name || "default graph";

export const choiceDescription = (choice: GraphChoice): string =>
  [choice.kind, choice.about].filter((text) => text && text !== choiceTitle(choice)).join(", ");

export class PanelToolbar extends Toolbar {
  readonly #select = element("select", "tgw-bar-choice") as HTMLSelectElement;
  readonly #variable = element("code", "tgw-bar-variable");
  readonly #line = element("code", "tgw-bar-line");
  readonly #insert: ToolbarButton;
  #shown = "";

  constructor({ choose, refresh, insert }: ToolbarActions) {
    super();
    this.addClass("tgw-bar");
    this.#select.title = "Variables of the notebook that hold a graph";
    this.#select.setAttribute("aria-label", "Graph to show");
    this.#select.addEventListener("change", () => {
      const { value } = this.#select;
      if (value !== this.#shown) choose(value.slice(1));
    });
    this.#insert = new ToolbarButton({
      icon: addIcon,
      label: "Insert as cell",
      tooltip: "Put this line into the notebook, as a cell below the active one",
      onClick: insert,
      enabled: false,
    });
    this.#insert.addClass("tgw-with-label");
    this.addItem("choice", new Widget({ node: this.#select }));
    this.addItem(
      "refresh",
      new ToolbarButton({
        icon: refreshIcon,
        tooltip: "Refresh the list of graphs in the notebook",
        onClick: refresh,
      }),
    );
    this.addItem("variable", new Widget({ node: this.#variable }));
    this.addItem("line", new Widget({ node: this.#line }));
    this.addItem("insert", this.#insert);
    this.setChoices([], null);
    this.setEdit("", "");
  }

  /** What can be chosen, and what is. */
  setChoices(choices: readonly GraphChoice[], chosen: string | null): void {
    const none = new Option(choices.length ? "Choose a graph …" : "No graph yet", "");
    none.hidden = choices.length > 0;
    const isKnown = chosen === null || choices.some(({ name }) => name === chosen);
    const gone = isKnown
      ? []
      : [new Option(`${choiceTitle({ name: chosen })} (gone)`, `:${chosen}`)];
    const options = choices.map((choice) => {
      const about = choiceDescription(choice);
      return new Option(
        about ? `${choiceTitle(choice)} — ${about}` : choiceTitle(choice),
        `:${choice.name}`,
      );
    });
    this.#select.replaceChildren(none, ...gone, ...options);
    // A colon, since "" is both the default graph's name and an option's that is none.
    this.#shown = chosen === null ? "" : `:${chosen}`;
    this.#select.value = this.#shown;
    this.#select.disabled = choices.length === 0;
  }

  /**
   * The variable that the editor is in the notebook, and the line of its newest edit; "" is none.
   */
  setEdit(variable: string, line: string): void {
    this.#variable.textContent = variable;
    this.#variable.title = variable && `Variable of this editor in the notebook: ${variable}`;
    this.#line.textContent = line;
    this.#line.title = line && `Latest edit: ${line}`;
    this.#insert.enabled = line !== "";
  }
}
