// The content of a panel or document: the editor, or a message with suggested actions.

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { type Message, MessageLoop } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import files from "./file.css";
import { graphIcon } from "./icon";
import css from "./pane.css";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const EDITOR = ".tfgraphwidget";
/** Milliseconds in which a widget's view comes once its model is known. */
const PATIENCE = 20_000;

/** A way out: a button. */
export interface PaneAction {
  readonly label: string;
  run(): void;
}
export const paneAction = (label: string, run: () => unknown): PaneAction => ({
  label,
  run: () => void run(),
});
/** Something to choose: a wide button with a name and a few words on it. */
export interface ChoiceRow extends PaneAction {
  readonly about: string;
}
export interface PaneMessage {
  readonly title: string;
  readonly text: string;
  readonly actions: readonly PaneAction[];
  readonly rows?: readonly ChoiceRow[];
}

export class Pane extends Widget {
  readonly #icon = element("div", "");
  /** It stays in the page, so that screen readers announce its changes. */
  readonly #status = element("div", "tgw-pane-status");
  readonly #rows = element("ul", "tgw-pane-rows");
  readonly #actions = element("div", "tgw-pane-actions");
  readonly #message = element("div", "tgw-pane-message");
  #shown: Widget | null = null;
  /**
   * Incremented by each request to show something, so that a late result does not replace a newer
   * one.
   */
  #turn = 0;

  constructor() {
    super();
    injectStyles();
    this.addClass("tgw-pane");
    this.node.dataset["status"] = "empty";
    this.node.tabIndex = -1;
    this.#status.setAttribute("role", "status");
    graphIcon.element({ container: this.#icon });
    this.#message.append(this.#icon, this.#status, this.#rows, this.#actions);
    this.node.append(this.#message);
  }

  /** Show a message in place of the content; the first action is the default one. */
  showMessage({ title, text, actions, rows = [] }: PaneMessage): void {
    const wasPressed = this.#message.contains(document.activeElement);
    this.#replace("message");
    this.#status.replaceChildren(
      element("h2", "", title),
      ...(text ? [element("p", "", text)] : []),
    );
    this.#rows.replaceChildren(...rows.map(rowOf));
    this.#actions.replaceChildren(...actions.map((way, index) => button(way, index === 0)));
    // Not if the focus was in the editor: the next key would press it.
    if (wasPressed) this.node.querySelector("button")?.focus();
  }

  /**
   * Show the widget with this model. Resolves to true when it is on the page, false if something
   * else is to be shown meanwhile; rejects, in a sentence, when this page cannot show it.
   */
  async showEditor(modelId: string, rendermime: IRenderMimeRegistry): Promise<boolean> {
    this.#replace("loading");
    const turn = this.#turn;
    const host = element("div", "tgw-pane-editor");
    this.#host = host;
    this.node.append(host);
    if (!rendermime.mimeTypes.includes(WIDGET)) {
      throw new Error(
        "This page cannot show widgets; install ipywidgets where JupyterLab runs, " +
          "and reload the page.",
      );
    }
    const renderer = rendermime.createRenderer(WIDGET);
    this.#attach(renderer, host);
    const data = { [WIDGET]: { model_id: modelId, version_major: 2, version_minor: 0 } };
    await Promise.race([
      renderer.renderModel(rendermime.createModel({ data, trusted: true })),
      sleep(PATIENCE),
    ]);
    const isThere = await waitUntilShown(
      () => renderer.node.querySelector(EDITOR),
      () => turn !== this.#turn,
    );
    if (turn !== this.#turn) return false;
    if (!isThere)
      throw new Error(
        "The kernel has the editor, but this page could not show it; reload the page.",
      );
    this.node.dataset["status"] = "shown";
    this.resized();
    if (document.activeElement === this.node) {
      renderer.node.querySelector<HTMLElement>(EDITOR)?.focus({ preventScroll: true });
    }
    return true;
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.#turn++;
    this.#shown?.dispose();
    super.dispose();
  }

  protected override onResize(message: Widget.ResizeMessage): void {
    super.onResize(message);
    this.resized();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.#shown && !this.#shown.isAttached) Widget.attach(this.#shown, this.#host ?? this.node);
  }

  protected override onBeforeDetach(message: Message): void {
    if (this.#shown?.isAttached) Widget.detach(this.#shown);
    super.onBeforeDetach(message);
  }

  /** The editor takes the size that the panel has got. */
  protected resized(): void {
    if (this.#shown?.isAttached)
      MessageLoop.sendMessage(this.#shown, Widget.ResizeMessage.UnknownSize);
  }

  #host: HTMLElement | null = null;

  /** Remove the content; if it had the focus, the pane takes it. */
  #replace(status: string): void {
    this.#turn++;
    if (this.node.contains(document.activeElement)) this.node.focus();
    this.#shown?.dispose();
    this.#shown = null;
    this.#host?.remove();
    this.#host = null;
    for (const part of [this.#status, this.#rows, this.#actions]) part.replaceChildren();
    this.node.dataset["status"] = status;
  }

  #attach(widget: Widget, host: HTMLElement): void {
    this.#shown = widget;
    if (this.isAttached) Widget.attach(widget, host);
  }
}

function button(way: PaneAction, isFirst: boolean): HTMLElement {
  const control = element(
    "button",
    `jp-mod-styled ${isFirst ? "jp-mod-accept" : "jp-mod-reject"}`,
    way.label,
  );
  control.addEventListener("click", () => way.run());
  return control;
}

function rowOf(row: ChoiceRow): HTMLElement {
  const item = element("li", "");
  const control = element("button", "tgw-pane-row");
  control.append(element("code", "", row.label), element("span", "", row.about));
  control.addEventListener("click", () => row.run());
  item.append(control);
  return item;
}

export function element(tag: string, className: string, text = ""): HTMLElement {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function waitUntilShown(find: () => Element | null, isOver: () => boolean): Promise<boolean> {
  for (
    const end = performance.now() + PATIENCE;
    performance.now() < end && !isOver();
    await sleep(30)
  ) {
    if (find()) return true;
  }
  return false;
}

// Adds the style sheet of panes to the page, with the first pane.

let isWorn = false;

function injectStyles(): void {
  if (isWorn) return;
  const style = document.createElement("style");
  style.textContent = css + files;
  document.head.append(style);
  isWorn = true;
}
