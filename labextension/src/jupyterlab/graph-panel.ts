// A panel beside a notebook, on the notebook's kernel: lists the variables that hold a graph, and
// shows the editor. In every state of notebook and kernel it shows a message with suggested
// actions.
import type { ISessionContext } from "@jupyterlab/apputils";
import { type Notebook, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type ISignal, Signal } from "@lumino/signaling";
import { KernelGone } from "../rpc/client";
import type { PanelContext } from "./context";
import { cellText, insertCell, type PanelEdit, parsePanelEdit } from "./insert-cell";
import {
  isEnding,
  isKernelGone,
  type KernelComm,
  type KernelReply,
  openKernelComm,
  RefusedError,
} from "./kernel-comm";
import {
  directionSetting,
  findHost,
  isRunning,
  kernelOf,
  openBeside,
  runAll,
  startKernel,
} from "./kernel-hosts";
import { Pane, type PaneAction } from "./pane";
import {
  busyMessage,
  choiceMessage,
  disconnectedMessage,
  errorMessage,
  kernelDiedMessage,
  noKernelMessage,
  notebookClosedMessage,
  restartingMessage,
  waitingMessage,
} from "./pane-messages";
import { choiceTitle, type GraphChoice, PanelToolbar } from "./panel-toolbar";

/** Milliseconds until a message about waiting is shown, and between its updates. */
const PATIENCE = 300;

export class GraphPanel extends Pane {
  readonly bar: PanelToolbar;
  readonly #services: PanelContext;
  readonly #layoutChanged = new Signal<this, void>(this);
  #path: string;
  #choice: string | null;
  #notebook: NotebookPanel | null = null;
  #comm: KernelComm | null = null;
  #choices: readonly GraphChoice[] = [];
  /** The kernel's last report about the editor; it survives the kernel. */
  #edit: PanelEdit = parsePanelEdit({});
  /** Incremented by each operation: a late reply is not taken for the reply to a newer one. */
  #turn = 0;

  constructor(services: PanelContext, path: string, choice: string | null) {
    super();
    this.#services = services;
    this.#path = path;
    this.#choice = choice;
    this.bar = new PanelToolbar({
      choose: (name) => void this.#open(name),
      refresh: () => void this.#refresh(),
      insert: () => void this.#insert(),
    });
    this.addClass("tgw-graph-panel");
    this.#updateTitle();
    const { app, notebooks } = services;
    notebooks.widgetAdded.connect(this.#onNotebookAdded, this);
    NotebookActions.executed.connect(this.#onCellExecuted, this);
    const known = notebooks.find(({ context }) => context.path === path);
    if (known) this.#attachNotebook(known);
    else void app.restored.then(() => this.#notebook ?? this.#showClosed());
  }

  get path(): string {
    return this.#path;
  }
  /** The variable whose graph is open, or was to be opened. */
  get choice(): string | null {
    return this.#choice;
  }
  get notebook(): NotebookPanel | null {
    return this.#notebook;
  }
  get sessionContext(): ISessionContext | undefined {
    return this.#notebook?.sessionContext;
  }
  /** Emitted when `path` or `choice` has changed, which a reloaded page is to know. */
  get layoutChanged(): ISignal<this, void> {
    return this.#layoutChanged;
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.#turn++;
    this.#comm?.close();
    Signal.clearData(this);
    super.dispose();
  }

  // The notebook

  #onNotebookAdded(_: unknown, notebook: NotebookPanel): void {
    if (!this.#notebook && notebook.context.path === this.#path) this.#attachNotebook(notebook);
  }

  #attachNotebook(notebook: NotebookPanel): void {
    this.#notebook = notebook;
    const { sessionContext, context } = notebook;
    context.pathChanged.connect(this.#onPathChanged, this);
    sessionContext.kernelChanged.connect(this.#connect, this);
    sessionContext.statusChanged.connect(this.#onKernelStatus, this);
    notebook.disposed.connect(this.#onNotebookClosed, this);
    void this.#connect();
  }

  #onPathChanged(_: unknown, path: string): void {
    this.#path = path;
    this.#updateTitle();
    this.#layoutChanged.emit();
  }

  #onNotebookClosed({ context: { path } }: NotebookPanel): void {
    // Another view of it has the same kernel, and all else that is followed here.
    const other = this.#services.notebooks.find(
      (one) => !one.isDisposed && one.context.path === path,
    );
    this.#notebook = other ?? null;
    if (other) return void other.disposed.connect(this.#onNotebookClosed, this);
    this.#disconnect();
    this.#showClosed();
  }

  /** A cell has run: there may be new graphs. */
  #onCellExecuted(_: unknown, { notebook }: { notebook: Notebook }): void {
    if (!this.#notebook || notebook.model !== this.#notebook.content.model || !this.#comm?.isOpen)
      return;
    void this.#listChoices();
  }

  async #insert(): Promise<void> {
    if (this.#notebook && this.#edit.line) await insertCell(this.#notebook, cellText(this.#edit));
  }

  // The kernel

  #onKernelStatus(_: unknown, status: Kernel.Status): void {
    if (this.isDisposed) return;
    if (isEnding(status)) this.#showKernelGone();
    else if (!this.#comm && this.node.dataset["waits"] === "kernel") void this.#connect();
  }

  #disconnect(): void {
    this.#turn++;
    this.#comm?.close();
    this.#comm = null;
    this.#choices = [];
    this.bar.setChoices([], null);
    this.bar.setEdit("", "");
  }

  async #connect(): Promise<void> {
    const context = this.sessionContext;
    if (!context || this.isDisposed) return;
    this.#disconnect();
    delete this.node.dataset["waits"]; // or each change of status meanwhile would connect again
    const turn = this.#turn;
    const isOver = () => turn !== this.#turn;
    const patience = this.#showIfSlow(isOver);
    try {
      await context.ready;
      const kernel = context.session?.kernel;
      if (isOver()) return;
      if (!kernel || kernel.status === "dead") {
        this.#showKernelGone();
        return;
      }
      const comm = await openKernelComm(findHost(this.#services.app, kernel)?.kernel ?? kernel);
      if (isOver()) {
        comm.close();
        return;
      }
      this.#comm = comm;
      comm.onPush((push) => {
        this.#onEdited(push);
        // What the list says of the graph has changed; after a cell it is read again anyway.
        if (!isRunning(this.#notebook)) void this.#listChoices();
      });
      comm.onGone((isRenewed) => this.#onKernelGone(isRenewed));
      await this.#listChoices();
    } catch (error) {
      if (!isOver()) this.#showError(error, kernelOf(context));
    } finally {
      clearInterval(patience);
    }
  }

  #onKernelGone(isRenewed = false): void {
    const kernel = kernelOf(this.sessionContext);
    this.#disconnect();
    if (kernel && !isKernelGone(kernel) && !isRenewed)
      this.showMessage(disconnectedMessage([this.#again]));
    else this.#showKernelGone();
    if (isRenewed) void this.#connect();
  }

  // The graphs

  /**
   * The editor shown may be of a kernel that another program has restarted, which JupyterLab does
   * not report.
   */
  async #refresh(): Promise<void> {
    const turn = this.#turn;
    const isKnown = (await this.#comm?.isKnown().catch(() => true)) ?? true;
    if (isKnown && turn === this.#turn) await this.#listChoices();
  }

  /** List the graphs; open the one that was open, or the only one, else let the user choose. */
  async #listChoices(): Promise<void> {
    const comm = this.#comm;
    if (!comm?.isOpen) return void (await this.#connect());
    const turn = this.#turn;
    try {
      const reply = await comm.request({ type: "choices" });
      if (turn !== this.#turn) return;
      this.#choices = reply["choices"] as unknown as GraphChoice[];
      this.bar.setChoices(this.#choices, this.#choice);
      if (this.node.dataset["status"] === "shown" || this.node.dataset["status"] === "loading")
        return;
      const [first, ...more] = this.#choices;
      const known = this.#choices.some(({ name }) => name === this.#choice);
      if (this.#choice !== null && known) await this.#open(this.#choice);
      else if (this.#choice === null && first && more.length === 0 && !isRunning(this.#notebook))
        await this.#open(first.name);
      else this.#showChoices();
    } catch (error) {
      if (turn === this.#turn) this.#showError(error);
    }
  }

  async #open(name: string): Promise<void> {
    const [comm, notebook] = [this.#comm, this.#notebook];
    const kernel = kernelOf(this.sessionContext);
    if (!comm || !notebook || !kernel) return;
    const turn = ++this.#turn;
    const patience = this.#showIfSlow(() => turn !== this.#turn);
    this.#choice = name;
    this.bar.setChoices(this.#choices, name);
    this.#layoutChanged.emit();
    try {
      const reply = await comm.request({ type: "open", name, ...directionSetting() });
      clearInterval(patience); // the view that comes now is not to be replaced
      if (turn !== this.#turn) return;
      this.#updateTitle();
      this.#onEdited(reply);
      const { rendermime } = findHost(this.#services.app, kernel) ?? notebook.content;
      await this.showEditor(String(reply["model_id"]), rendermime);
    } catch (error) {
      if (turn === this.#turn) this.#showError(error);
    } finally {
      clearInterval(patience);
    }
  }

  /** The kernel reports the state of the editor. */
  #onEdited(reply: KernelReply): void {
    this.#edit = parsePanelEdit(reply);
    this.bar.setEdit(this.#edit.variable, this.#edit.line);
  }

  #updateTitle(): void {
    const notebook = this.#path.split("/").at(-1) ?? this.#path;
    this.title.label = this.#choice === null ? "Graph Editor" : choiceTitle({ name: this.#choice });
    this.title.caption = `Graphs of ${notebook}`;
  }

  // Messages

  readonly #again: PaneAction = { label: "Open it again", run: () => void this.#connect() };

  #showClosed(): void {
    this.showMessage(
      notebookClosedMessage(this.#path, () =>
        openBeside(this.#services, this.#path, this.parent?.id),
      ),
    );
  }

  /** Show the state of the kernel; `#onKernelStatus` connects when there is one again. */
  #showKernelGone(): void {
    this.#disconnect();
    this.node.dataset["waits"] = "kernel";
    const kernel = kernelOf(this.sessionContext);
    if (!kernel) this.showMessage(noKernelMessage(this.#start));
    else
      this.showMessage(
        kernel.status === "dead"
          ? kernelDiedMessage(this.#start)
          : restartingMessage([this.#choose]),
      );
  }

  get #start(): PaneAction[] {
    const start = async () => {
      if (await startKernel(this.sessionContext)) this.#choose.run();
    };
    const run = () => void start().catch((error) => this.#showError(error));
    return [{ label: "Start the kernel", run }, this.#choose];
  }

  readonly #choose: PaneAction = {
    label: "Choose a kernel",
    run: () =>
      void (this.sessionContext && this.#services.dialogs?.selectKernel(this.sessionContext)),
  };

  /** While waiting takes long, show for what, with actions that end it. Returns the timer. */
  #showIfSlow(isOver: () => boolean): number {
    let wasBusy: boolean | undefined;
    return window.setInterval(() => {
      const kernel = kernelOf(this.sessionContext);
      // a kernel that starts is not busy yet with what waits for it
      const isBusy = kernel?.status === "busy";
      if (isOver() || this.isDisposed || wasBusy === isBusy) return;
      wasBusy = isBusy;
      const interrupt = () => void kernel?.interrupt().catch(() => {});
      this.showMessage(isBusy ? busyMessage(interrupt) : waitingMessage([this.#choose]));
    }, PATIENCE);
  }

  #showChoices(): void {
    const open = (name: string) => void this.#open(name);
    const again = { label: "Look again", run: () => void this.#listChoices() };
    this.showMessage(
      choiceMessage(this.#choices, this.#choice, open, [this.#runAll, again], this.#edit.count),
    );
  }

  readonly #runAll: PaneAction = { label: "Run all cells", run: () => runAll(this.#notebook) };

  #showError(error: unknown, kernel?: Kernel.IKernelConnection | null): void {
    if (error instanceof KernelGone || (kernel && isKernelGone(kernel))) this.#onKernelGone();
    else if (error instanceof RefusedError && error.kind === "UnknownName") this.#showChoices();
    else this.showMessage(errorMessage(error, this.#again, this.#choose));
  }
}
