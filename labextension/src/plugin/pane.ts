// The inside of a panel or of a document: the editor, or a message that says what is the matter and gives the way out.
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { type Message, MessageLoop } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import { graphIcon } from "./icon";
import { wear } from "./wear";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const EDITOR = ".tfgraphwidget";
/** Milliseconds in which a widget's view comes once its model is known. */
const PATIENCE = 20_000;

/** A way out: a button. */
export interface Way {
  readonly label: string;
  run(): void;
}
export const way = (label: string, run: () => unknown): Way => ({ label, run: () => void run() });
/** Something to choose: a wide button with a name and a few words on it. */
export interface Row extends Way {
  readonly about: string;
}
export interface Said {
  readonly title: string;
  readonly text: string;
  readonly ways: readonly Way[];
  readonly rows?: readonly Row[];
}

export class Pane extends Widget {
  readonly #icon = element("div", "");
  /** It stays, so that what it says is read out when it changes. */
  readonly #said = element("div", "tgw-pane-said");
  readonly #rows = element("ul", "tgw-pane-rows");
  readonly #ways = element("div", "tgw-pane-ways");
  readonly #message = element("div", "tgw-pane-message");
  #shown: Widget | null = null;
  /** Counts what was asked to be shown, so that what comes late does not replace what was asked for since. */
  #turn = 0;

  constructor() {
    super();
    wear();
    this.addClass("tgw-pane");
    this.node.dataset["status"] = "empty";
    this.node.tabIndex = -1;
    this.#said.setAttribute("role", "status");
    graphIcon.element({ container: this.#icon });
    this.#message.append(this.#icon, this.#said, this.#rows, this.#ways);
    this.node.append(this.#message);
  }

  /** Show a message in place of what is here; the first way out is the one that most people want. */
  say({ title, text, ways, rows = [] }: Said): void {
    const wasPressed = this.#message.contains(document.activeElement);
    this.#replace("message");
    this.#said.replaceChildren(element("h2", "", title), ...(text ? [element("p", "", text)] : []));
    this.#rows.replaceChildren(...rows.map(rowOf));
    this.#ways.replaceChildren(...ways.map((way, index) => button(way, index === 0)));
    // Not when one was typing in the editor: the next key would press it.
    if (wasPressed) this.node.querySelector("button")?.focus();
  }

  /**
   * Show the widget with this model. Resolves when it is on the page, false when something else was asked for
   * meanwhile; rejects, in a sentence, when this page cannot show it.
   */
  async showEditor(modelId: string, rendermime: IRenderMimeRegistry): Promise<boolean> {
    this.#replace("loading");
    const turn = this.#turn;
    const host = element("div", "tgw-pane-editor");
    this.#host = host;
    this.node.append(host);
    if (!rendermime.mimeTypes.includes(WIDGET)) {
      throw new Error(
        "This page cannot show widgets; install ipywidgets where JupyterLab runs, and reload the page.",
      );
    }
    const renderer = rendermime.createRenderer(WIDGET);
    this.#attach(renderer, host);
    const data = { [WIDGET]: { model_id: modelId, version_major: 2, version_minor: 0 } };
    await Promise.race([
      renderer.renderModel(rendermime.createModel({ data, trusted: true })),
      slept(PATIENCE),
    ]);
    const isThere = await appeared(
      () => renderer.node.querySelector(EDITOR),
      () => turn !== this.#turn,
    );
    if (turn !== this.#turn) return false;
    if (!isThere)
      throw new Error("The kernel knows the editor, but this page could not show it; reload the page.");
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
    if (this.#shown?.isAttached) MessageLoop.sendMessage(this.#shown, Widget.ResizeMessage.UnknownSize);
  }

  #host: HTMLElement | null = null;

  /** Nothing is here any more; whoever had the focus in it has it here still. */
  #replace(status: string): void {
    this.#turn++;
    if (this.node.contains(document.activeElement)) this.node.focus();
    this.#shown?.dispose();
    this.#shown = null;
    this.#host?.remove();
    this.#host = null;
    for (const part of [this.#said, this.#rows, this.#ways]) part.replaceChildren();
    this.node.dataset["status"] = status;
  }

  #attach(widget: Widget, host: HTMLElement): void {
    this.#shown = widget;
    if (this.isAttached) Widget.attach(widget, host);
  }
}

function button(way: Way, isFirst: boolean): HTMLElement {
  const made = element("button", `jp-mod-styled ${isFirst ? "jp-mod-accept" : "jp-mod-reject"}`, way.label);
  made.addEventListener("click", () => way.run());
  return made;
}

function rowOf(row: Row): HTMLElement {
  const item = element("li", "");
  const made = element("button", "tgw-pane-row");
  made.append(element("code", "", row.label), element("span", "", row.about));
  made.addEventListener("click", () => row.run());
  item.append(made);
  return item;
}

export function element(tag: string, className: string, text = ""): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function slept(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function appeared(find: () => Element | null, isOver: () => boolean): Promise<boolean> {
  for (const end = performance.now() + PATIENCE; performance.now() < end && !isOver(); await slept(30)) {
    if (find()) return true;
  }
  return false;
}
