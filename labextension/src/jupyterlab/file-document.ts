// One open file: its kernel, its editor in the kernel, and the tabs that show it. In every state of
// the kernel a tab shows the editor or a message with suggested actions; long operations show their
// progress.
import { PathExt } from "@jupyterlab/coreutils";
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import { type Message, MessageLoop } from "@lumino/messaging";
import type { Progress } from "../rpc/client";
import type { DocumentContext, FileWidget } from "./context";
import { EditStore, rejectedActions, type SavedEdits } from "./file-edits";
import { isolateKernels, KernelShare } from "./file-kernel";
import { createFileToolbar, type DocumentTab, DocumentTabs } from "./file-tabs";
import { chooseFile } from "./host-files";
import { openFile } from "./host-requests";
import {
  isEnding,
  isKernelGone,
  type KernelComm,
  type KernelPush,
  type KernelReply,
  openKernelComm,
  RefusedError,
} from "./kernel-comm";
import {
  ClosedKernelError,
  directionSetting,
  fileLocation,
  findHost,
  isKernelShared,
  restoreKernel,
  widgetRendermime,
} from "./kernel-hosts";
import { type NotebookFile, notebookFile, openInNotebook } from "./notebook-files";
import { Pane, paneAction } from "./pane";
import { reloadAction } from "./pane-messages";
import { askToClose, CANCEL_ERROR, cancelError, refuseSave, saveAs } from "./save-dialog";

const PYTHON = "A separate Python kernel reads the graph.";

export class GraphDocument {
  readonly #context: DocumentRegistry.Context;
  readonly #services: DocumentContext;
  readonly #keep: EditStore;
  readonly #tabs = new DocumentTabs();
  readonly #kernelShare = new KernelShare();
  #comm: KernelComm | null = null;
  #rendermime: IRenderMimeRegistry | null = null;
  #model = "";
  #title = "";
  #edits = 0;
  #saving: Promise<void> | null = null;
  /** The kernel that had the file restarts, or has ended. */
  #isGone = false;
  /**
   * Incremented by each operation, so that a late reply is not taken for the reply to a newer one.
   */
  #turn = 0;
  #path: string;
  #mayClose = false;
  /**
   * How often a kernel that ends before it has opened the file is followed by another one unasked.
   */
  #chances = 2;
  #hasDied = false;

  constructor(context: DocumentRegistry.Context, services: DocumentContext) {
    this.#context = context;
    this.#services = services;
    this.#keep = new EditStore(services.state, context.path);
    this.#path = context.path;
    const { sessionContext: session } = context;
    // A file that is opened in a notebook has the notebook's kernel.
    if (notebookFile(this.#path))
      session.kernelPreference = { ...session.kernelPreference, canStart: false };
    isolateKernels(session);
    session.kernelChanged.connect((_, { oldValue, newValue }) => {
      if (newValue) void this.#open();
      else if (oldValue) this.#onKernelStatus("dead"); // without one before, one is being started
    });
    session.sessionChanged.connect(
      (_, now) => now.oldValue && !now.newValue && this.#onKernelStatus("dead"),
    );
    session.statusChanged.connect((_, status) => this.#onKernelStatus(status));
    context.pathChanged.connect((_, path) => void this.#onPathChanged(path).catch(() => {}));
    context.disposed.connect(() => this.#close());
    void this.#keep.read().then(() => this.#open());
  }

  /** Show it in one more tab. */
  add(widget: FileWidget): void {
    if (widget.isDisposed) return;
    const { sessionContext } = this.#context;
    const save = () => void this.save().catch(() => {});
    const cancel = () => void sessionContext.session?.kernel?.interrupt().catch(() => {});
    const bar = createFileToolbar(sessionContext, this.#services.dialogs, save, cancel);
    // A file that leads to a notebook has neither a kernel nor anything to save; its news has a
    // place.
    const items = notebookFile(this.#path)
      ? bar.items.filter(([name]) => name === "news")
      : bar.items;
    for (const [name, item] of items) widget.toolbar.addItem(name, item);
    const tab = { widget, pane: new Pane(), bar };
    widget.content.addWidget(tab.pane);
    this.#tabs.add(tab);
    MessageLoop.installMessageHook(widget, (_, message) => this.#onTabMessage(tab, message));
    if (this.#model) void this.#show(tab);
  }

  /**
   * Ask for name and format, and save; an error is shown in the line above the editor. Rejects as
   * Jupyter's own saving does if the user cancels.
   */
  save(): Promise<void> {
    this.#saving ??= this.#save()
      .catch((error: Error) => {
        if (error.name !== CANCEL_ERROR) this.#tabs.setNews(`Not saved: ${error.message}`, true);
        throw error;
      })
      .finally(() => {
        this.#saving = null;
      });
    return this.#saving;
  }

  /**
   * For Jupyter's "Save All": saves if the document is changed or in front, and shows errors
   * itself.
   */
  async saveIfActive(): Promise<void> {
    const { currentWidget } = this.#services.app.shell;
    if (this.#context.model.dirty || this.#tabs.has(currentWidget))
      await this.save().catch(() => {});
  }

  async #save(): Promise<void> {
    const comm = this.#comm;
    if (notebookFile(this.#path))
      return refuseSave("Nothing is edited here: open the file in a notebook.");
    if (!comm?.isOpen) return refuseSave();
    const saved = await saveAs(
      comm,
      { title: this.#title || this.#path, chooseFolder: () => this.#chooseFolder(comm) },
      this.#tabs.setProgress,
    );
    if (!saved) throw cancelError();
    const { commands } = this.#services.app;
    const open = paneAction("Open", () => openFile(this.#services.app, this.#path, saved.relative));
    const isHere = saved.relative !== "" && !saved.relative.startsWith("/");
    this.#tabs.setNews(saved.about, false, isHere ? [open] : []);
    if (commands.hasCommand("filebrowser:refresh"))
      await commands.execute("filebrowser:refresh").catch(() => {});
  }

  /**
   * A folder that the user chooses, as a path in the folder that names are relative to; null if
   * there is none.
   */
  async #chooseFolder(comm: KernelComm): Promise<string | null> {
    const { app } = this.#services;
    const choice = { title: "Choose the folder to save in", kind: "folder" } as const;
    const chosen = await chooseFile(app, choice, PathExt.dirname(this.#path));
    if (chosen === null) return null;
    return String((await comm.request({ type: "locate", ...fileLocation(app, chosen) }))["path"]);
  }

  /** Reload the file and discard the edits. The caller has asked the user. */
  async reopen(): Promise<void> {
    await this.#keep.write(null);
    await this.#open(true);
  }

  // The kernel

  async #open(again = false): Promise<void> {
    const inNotebook = notebookFile(this.#path);
    if (inNotebook) return this.#showNotebookWay(inNotebook);
    const turn = ++this.#turn;
    this.#isGone = false;
    const { sessionContext } = this.#context;
    this.#comm?.close();
    this.#comm = null;
    try {
      this.#showWaiting("Starting a kernel", PYTHON);
      await sessionContext.ready;
      const kernel = sessionContext.session?.kernel;
      if (turn !== this.#turn || this.#context.isDisposed) return;
      if (!kernel)
        return this.#tabs.showMessage("No kernel", "A Python kernel reads the graph; choose one.", [
          this.#choose,
        ]);
      this.#showWaiting(
        `Opening ${this.#name}`,
        "Loading TensorFlow takes a few seconds the first time.",
      );
      await this.#openFile(kernel, again, turn);
    } catch (error) {
      if (turn === this.#turn) this.#showError(error);
    }
  }

  async #openFile(kernel: Kernel.IKernelConnection, again: boolean, turn: number): Promise<void> {
    const host = findHost(this.#services.app, kernel);
    const isOwn = !(await isKernelShared(this.#services.app, this.#context.sessionContext));
    const comm = await openKernelComm(host?.kernel ?? kernel, isOwn);
    if (turn !== this.#turn) return comm.close();
    this.#comm = comm;
    this.#kernelShare.join(kernel.id);
    comm.onPush((push) => this.#onEdited(push));
    comm.onGone((isRenewed) => {
      if (isKernelGone(kernel)) this.#onKernelStatus(kernel.status);
      // else the other tab was closed
      else if (isRenewed || (host && host.kernel !== kernel)) void this.#open();
    });
    this.#rendermime =
      host?.rendermime ??
      (await widgetRendermime(this.#context, this.#services.rendermime, kernel.id));
    const before = again ? { again } : this.#keep.edits;
    const where = fileLocation(this.#services.app, this.#path);
    const onProgress = (working: Progress) => this.#tabs.setProgress(`${working.what} …`, working);
    const request = comm.request(
      { type: "file", ...where, ...before, ...directionSetting() },
      onProgress,
    );
    const reply = await request.finally(() => this.#tabs.setProgress("", null));
    if (turn !== this.#turn) return;
    this.#model = String(reply["model_id"]);
    this.#title = String(reply["title"]);
    this.#chances = 0;
    this.#tabs.clearMessage();
    if (reply["notice"]) void this.#keep.reject(String(reply["notice"])).catch(() => {});
    this.#onEdited(reply);
    await this.#show();
  }

  /** The editor, in all tabs or in one. */
  async #show(only?: DocumentTab): Promise<void> {
    if (this.#title !== this.#name) this.#tabs.setTitle(this.#title);
    if (this.#rendermime)
      await this.#tabs.showEditor(this.#model, this.#rendermime, this.#again, only);
  }

  async #onPathChanged(path: string): Promise<void> {
    this.#path = path;
    const stored = this.#keep.move(path);
    const reply = await this.#comm?.request({
      type: "moved",
      ...fileLocation(this.#services.app, path),
    });
    if (reply) this.#title = String(reply["title"]);
    await stored;
  }

  /** The kernel reports a change of the edits. */
  #onEdited(push: KernelPush | KernelReply): void {
    const { edits, stamp, saved } = push as unknown as SavedEdits;
    this.#edits = Number(push["count"]);
    this.#context.model.dirty = push["dirty"] === true;
    const saveable = edits?.length ? { edits, stamp, saved } : null;
    void this.#keep.write(saveable).catch(() => {});
    const lost = String(push["lost"] ?? "");
    const died = this.#hasDied
      ? "The kernel had died; the file was opened again, with its edits."
      : "";
    this.#hasDied = false;
    const why = this.#keep.rejected?.why;
    const warning =
      why || (lost && `A restart of the kernel would lose the edits: ${lost}`) || died;
    const ways = rejectedActions(this.#keep, this.#title, () => this.#tabs.setNews(""));
    this.#tabs.setNews(warning, warning !== "", ways);
  }

  #onKernelStatus(status: Kernel.Status): void {
    if (this.#context.isDisposed) return;
    if (isEnding(status)) {
      this.#turn++;
      this.#isGone = true;
      this.#hasDied ||= status === "autorestarting";
      this.#comm?.close();
      this.#comm = null;
      this.#model = "";
      const then = this.#keep.restoreText(this.#edits);
      const ways = [this.#restart, this.#choose];
      if (status.endsWith("restarting")) this.#showWaiting("The kernel restarts", `${then}.`);
      else if (status === "dead" && this.#chances > 0)
        void this.#restartKernel().catch((error) => this.#showError(error));
      else
        this.#tabs.showMessage("The kernel has ended", `${then} when it is started again.`, ways);
    } else if (status === "starting" && this.#isGone) {
      this.#showWaiting("Starting a kernel", PYTHON);
    } else if (status === "idle" && this.#isGone) {
      void this.#open();
    }
  }

  /**
   * A kernel that was joined while it ended, as that of a tab closed just now, is not the one that
   * is wanted.
   */
  async #restartKernel(): Promise<void> {
    const turn = this.#turn;
    this.#showWaiting("Starting a kernel", PYTHON);
    // removes ended sessions
    await this.#services.app.serviceManager.sessions.refreshRunning().catch(() => {});
    if (turn !== this.#turn || this.#context.isDisposed) return;
    this.#chances--;
    await restoreKernel(this.#context.sessionContext, this.#services.dialogs);
  }

  #close(): void {
    this.#turn++;
    this.#tabs.clearMessage();
    this.#comm?.close();
    this.#kernelShare.leave();
    void this.#keep.write(null).catch(() => {});
  }

  // Messages of the tabs

  get #name(): string {
    return this.#path.split("/").at(-1) ?? this.#path;
  }

  readonly #again = paneAction("Try again", () => this.#open());
  readonly #restart = paneAction("Restart kernel", () =>
    restoreKernel(this.#context.sessionContext, this.#services.dialogs).catch((error) =>
      this.#showError(error),
    ),
  );
  readonly #choose = paneAction("Choose a kernel", () =>
    this.#services.dialogs?.selectKernel(this.#context.sessionContext),
  );
  readonly #asText = paneAction("Open as text", () =>
    this.#services.app.commands.execute("docmanager:open", { path: this.#path, factory: "Editor" }),
  );

  #showWaiting(title: string, text: string): void {
    this.#tabs.showWaiting(title, text, [this.#again, this.#restart, this.#choose]);
  }

  #showNotebookWay({ what, why }: NotebookFile): void {
    const text = `${why} Open it in a new notebook beside the file.`;
    const open = paneAction("Open in a notebook", () =>
      openInNotebook(this.#services.app, this.#path).catch((error: Error) =>
        this.#tabs.setNews(`No notebook was made: ${error.message}`, true),
      ),
    );
    this.#tabs.showMessage(`${this.#name} is ${what}`, text, [open]);
  }

  #showError(error: unknown): void {
    this.#comm?.close();
    this.#comm = null;
    const text = error instanceof Error ? error.message : String(error);
    const isElsewhere =
      error instanceof ClosedKernelError ||
      (error instanceof RefusedError && error.kind === "Elsewhere");
    const ways = isElsewhere
      ? [reloadAction, this.#choose]
      : [this.#again, this.#asText, this.#choose];
    this.#tabs.showMessage(`${this.#name} could not be opened`, text, ways);
  }

  // Closing

  /**
   * Whether a Lumino message may reach the tab: closing the last tab first asks about unsaved
   * edits.
   */
  #onTabMessage(tab: DocumentTab, message: Message): boolean {
    if (message.type !== "close-request" || this.#mayClose || this.#tabs.size > 1) return true;
    void this.#askToClose(tab.widget).catch(() => {});
    return false;
  }

  async #askToClose(widget: FileWidget): Promise<void> {
    const isShared = await this.#kernelShare.isShared().catch(() => false);
    const { model, sessionContext } = this.#context;
    if (!isShared && model.dirty && !(await this.#isSafeToClose())) return;
    // Kernel and edits are another page's too, and stay with it; or the kernel is a notebook's.
    if (isShared || (await isKernelShared(this.#services.app, sessionContext)))
      sessionContext.kernelPreference = {
        ...sessionContext.kernelPreference,
        shutdownOnDispose: false,
      };
    model.dirty = false; // or Jupyter asks once more
    this.#mayClose = true;
    widget.close();
  }

  /** Whether the edits are saved, or are not wanted. */
  async #isSafeToClose(): Promise<boolean> {
    const wish = await askToClose(this.#edits, this.#title || this.#name);
    if (wish !== "save") return wish === "discard";
    await this.save();
    return !this.#context.model.dirty;
  }
}
