// The tabs that show one document: they say the same, and one that comes later says what the others do.
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { FileWidget } from "./files";
import { type Bar, relabel } from "./files-bar";
import type { Working } from "./kernel";
import type { Pane, Said, Way } from "./pane";

/** Milliseconds after which waiting comes with ways out. */
const PATIENCE = 20_000;

export interface Tab {
  readonly widget: FileWidget;
  readonly pane: Pane;
  readonly bar: Bar;
}

export class Tabs {
  readonly #tabs = new Set<Tab>();
  #said: Said | null = null;
  #line: Parameters<Bar["say"]> = [""];
  #working: Working | null = null;
  #timer = 0;

  get size(): number {
    return this.#tabs.size;
  }

  has(one: unknown): boolean {
    return [...this.#tabs].some(({ widget }) => widget === one);
  }

  add(tab: Tab): void {
    this.#tabs.add(tab);
    tab.widget.disposed.connect(() => this.#tabs.delete(tab));
    tab.bar.say(...this.#line);
    tab.bar.show(this.#working);
    if (this.#said) tab.pane.say(this.#said);
  }

  /** In place of the editor. */
  say(title: string, text: string, ways: readonly Way[]): void {
    this.quiet();
    this.#said = { title, text, ways };
    for (const { pane } of this.#tabs) pane.say(this.#said);
  }

  /** That something is waited for; and the ways out when it takes long. */
  wait(title: string, text: string, ways: readonly Way[]): void {
    this.say(`${title} …`, text, []);
    const impatient = () => this.say(`${title} …`, `${text} It takes unusually long.`, ways);
    this.#timer = window.setTimeout(impatient, PATIENCE);
  }

  /** Nothing is waited for any more, and nothing has gone wrong. */
  quiet(): void {
    clearTimeout(this.#timer);
    this.#said = null;
  }

  /** Above the editor; see Bar. */
  line(...line: Parameters<Bar["say"]>): void {
    this.#line = line;
    for (const { bar } of this.#tabs) bar.say(...line);
  }

  /** The same of something long, and how far it is; null when it is over. */
  readonly tell = (text: string, working: Working | null): void => {
    this.line(text);
    this.#working = working;
    for (const { bar } of this.#tabs) bar.show(working);
  };

  /** The editor, in each of them or in one, unless there is something to say; a tab that cannot show it says why. */
  async showEditor(model: string, rendermime: IRenderMimeRegistry, way: Way, only?: Tab): Promise<void> {
    if (this.#said) return;
    const show = async ({ pane }: Tab) => {
      try {
        await pane.showEditor(model, rendermime);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        if (!this.#said) pane.say({ title: "The graph cannot be shown", text, ways: [way] });
      }
    };
    await Promise.all((only ? [only] : [...this.#tabs]).map(show));
  }

  entitle(label: string): void {
    for (const { widget } of this.#tabs) relabel(widget, label);
  }
}
