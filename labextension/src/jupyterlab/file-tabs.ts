// The tabs that show one document: all show the same message, news line and progress, also tabs
// opened later.
import { type ISessionContext, type ISessionContextDialogs, Toolbar } from "@jupyterlab/apputils";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { saveIcon, ToolbarButton } from "@jupyterlab/ui-components";
import { CommandRegistry } from "@lumino/commands";
import { Signal } from "@lumino/signaling";
import { Widget } from "@lumino/widgets";
import type { Progress } from "../rpc/client";
import type { FileWidget } from "./context";
import { element, type Pane, type PaneAction, type PaneMessage } from "./pane";

/** Milliseconds after which waiting comes with actions out. */
const PATIENCE = 20_000;

export interface DocumentTab {
  readonly widget: FileWidget;
  readonly pane: Pane;
  readonly bar: FileToolbar;
}

export class DocumentTabs {
  readonly #tabs = new Set<DocumentTab>();
  #message: PaneMessage | null = null;
  #line: Parameters<FileToolbar["setNews"]> = [""];
  #working: Progress | null = null;
  #timer = 0;

  get size(): number {
    return this.#tabs.size;
  }

  has(one: unknown): boolean {
    return [...this.#tabs].some(({ widget }) => widget === one);
  }

  add(tab: DocumentTab): void {
    this.#tabs.add(tab);
    tab.widget.disposed.connect(() => this.#tabs.delete(tab));
    tab.bar.setNews(...this.#line);
    tab.bar.setProgress(this.#working);
    if (this.#message) tab.pane.showMessage(this.#message);
  }

  /** In place of the editor. */
  showMessage(title: string, text: string, actions: readonly PaneAction[]): void {
    this.clearMessage();
    this.#message = { title, text, actions };
    for (const { pane } of this.#tabs) pane.showMessage(this.#message);
  }

  /** That something is waited for; and the actions out when it takes long. */
  showWaiting(title: string, text: string, actions: readonly PaneAction[]): void {
    this.showMessage(`${title} …`, text, []);
    const impatient = () =>
      this.showMessage(`${title} …`, `${text} It takes unusually long.`, actions);
    this.#timer = window.setTimeout(impatient, PATIENCE);
  }

  /** Nothing is waited for any more, and nothing has gone wrong. */
  clearMessage(): void {
    clearTimeout(this.#timer);
    this.#message = null;
  }

  /** Above the editor; see Bar. */
  setNews(...line: Parameters<FileToolbar["setNews"]>): void {
    this.#line = line;
    for (const { bar } of this.#tabs) bar.setNews(...line);
  }

  /** The same of something long, and how far it is; null when it is over. */
  readonly setProgress = (text: string, working: Progress | null): void => {
    this.setNews(text);
    this.#working = working;
    for (const { bar } of this.#tabs) bar.setProgress(working);
  };

  /**
   * The editor, in each of them or in one, unless there is something to say; a tab that cannot show
   * it says why.
   */
  async showEditor(
    model: string,
    rendermime: IRenderMimeRegistry,
    way: PaneAction,
    only?: DocumentTab,
  ): Promise<void> {
    if (this.#message) return;
    const show = async ({ pane }: DocumentTab) => {
      try {
        await pane.showEditor(model, rendermime);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        if (!this.#message)
          pane.showMessage({ title: "The graph cannot be shown", text, actions: [way] });
      }
    };
    await Promise.all((only ? [only] : [...this.#tabs]).map(show));
  }

  setTitle(label: string): void {
    for (const { widget } of this.#tabs) setLabel(widget, label);
  }
}

// The toolbar of a document: Save, a line of news, progress, and the kernel.

export interface FileToolbar {
  readonly items: readonly (readonly [string, Widget])[];
  /** Show a line of news with suggested actions, highlighted if it is a warning; "" clears it. */
  setNews(text: string, warns?: boolean, actions?: readonly PaneAction[]): void;
  /** Something long goes on, as far as that: a bar that fills, and Cancel; null when it is over. */
  setProgress(working: Progress | null): void;
}

export function createFileToolbar(
  session: ISessionContext,
  dialogs: ISessionContextDialogs | null,
  save: () => void,
  cancel: () => void,
): FileToolbar {
  const button = new ToolbarButton({
    icon: saveIcon,
    onClick: save,
    tooltip: `Save as … (${CommandRegistry.formatKeystroke("Accel S")})`,
    label: "Save",
  });
  button.addClass("tgw-with-label");
  const line = new Widget({ node: element("span", "tgw-file-line") });
  // The toolbar measures its items; an item with this class takes the remaining width.
  line.addClass("jp-Toolbar-spacer");
  const news = element("span", "tgw-file-news");
  news.setAttribute("role", "status");
  const bar = element("progress", "") as HTMLProgressElement;
  bar.setAttribute("aria-label", "Progress");
  const stop = minimalButton({
    label: "Cancel",
    run: () => {
      stop.disabled = true;
      cancel();
    },
  });
  stop.title = "Interrupt the kernel";
  const setProgress = (working: Progress | null) => {
    if (bar.hidden) stop.disabled = false;
    bar.hidden = stop.hidden = working === null;
    if (working?.total) Object.assign(bar, { max: working.total, value: working.done });
    else bar.removeAttribute("value");
  };
  setProgress(null);
  const buttons = element("span", "tgw-file-actions");
  line.node.append(news, buttons, bar, stop);
  const kernel = Toolbar.createKernelNameItem(session, dialogs ?? undefined);
  const status = Toolbar.createKernelStatusItem(session);
  return {
    items: [
      ["save", button],
      ["news", line],
      ["kernelName", kernel],
      ["kernelStatus", status],
    ],
    setProgress,
    setNews: (text, warns = false, actions = []) => {
      news.textContent = text;
      buttons.replaceChildren(...actions.map(minimalButton));
      news.title = text;
      news.classList.toggle("tgw-mod-warns", warns && text !== "");
    },
  };
}

/**
 * Give the tab another name than the file has; Jupyter would take that for a wish to rename the
 * file.
 */
function setLabel(widget: Widget, label: string): void {
  Signal.disconnectBetween(widget.title, widget);
  widget.title.label = label;
}

function minimalButton({ label, run }: PaneAction): HTMLButtonElement {
  const control = element("button", "jp-mod-styled jp-mod-minimal", label) as HTMLButtonElement;
  control.addEventListener("click", run);
  return control;
}
