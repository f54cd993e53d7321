// One file that is open: its kernel, the editor that the kernel has made for it, and the tabs that show that.
// Whatever happens to the kernel, a tab shows the editor or one sentence with a way out; what takes long says so.
import { Dialog, showDialog } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import { type Message, MessageLoop } from "@lumino/messaging";
import { Signal } from "@lumino/signaling";
import { preferences } from "../settings";
import type { Around, FileWidget } from "./files";
import { type Bar, createBar } from "./files-bar";
import { Keep, type Kept } from "./files-kept";
import { withWidgets } from "./files-widgets";
import { openTalk, type Push, type Reply, type Talk } from "./kernel";
import { Pane, type Said, type Way } from "./pane";
import { saveAs } from "./saving";

/** Milliseconds after which waiting comes with ways out. */
const PATIENCE = 20_000;
const GONE: readonly Kernel.Status[] = ["dead", "terminating", "restarting", "autorestarting"];

interface Tab {
  readonly widget: FileWidget;
  readonly pane: Pane;
  readonly bar: Bar;
}

export class GraphDocument {
  readonly #context: DocumentRegistry.Context;
  readonly #around: Around;
  readonly #keep: Keep;
  readonly #tabs = new Set<Tab>();
  #talk: Talk | null = null;
  #rendermime: IRenderMimeRegistry | null = null;
  #model = "";
  #title = "";
  #edits = 0;
  #said: Said | null = null;
  #timer = 0;
  /** The kernel that had the file restarts, or has ended. */
  #isGone = false;
  /** Counts what was begun, so that an answer that comes late is not taken for one to what was asked since. */
  #turn = 0;
  #path: string;

  constructor(context: DocumentRegistry.Context, around: Around) {
    this.#context = context;
    this.#around = around;
    this.#keep = new Keep(around.state);
    this.#path = context.path;
    const { sessionContext: session } = context;
    session.kernelChanged.connect((_, { newValue }) => (newValue ? void this.#open() : this.#look("dead")));
    session.statusChanged.connect((_, status) => this.#look(status));
    context.pathChanged.connect((_, path) => {
      void this.#keep.move(this.#path, path);
      this.#path = path;
    });
    context.disposed.connect(() => this.#close());
    void this.#keep.read(this.#path).then(() => this.#open());
  }

  /** Show it in one more tab. */
  add(widget: FileWidget): void {
    if (widget.isDisposed) return;
    const { sessionContext } = this.#context;
    const bar = createBar(sessionContext, this.#around.dialogs, () => void this.save().catch(() => {}));
    for (const [name, item] of bar.items) widget.toolbar.addItem(name, item);
    const tab = { widget, pane: new Pane(), bar };
    widget.content.addWidget(tab.pane);
    this.#tabs.add(tab);
    widget.disposed.connect(() => this.#tabs.delete(tab));
    MessageLoop.installMessageHook(widget, (_, message) => this.#mayGo(tab, message));
    if (this.#said) tab.pane.say(this.#said);
    else if (this.#model) void this.#showIn(tab);
  }

  /** Ask under which name and in which kind, and write it; rejects as Jupyter's own saving does when that is left. */
  async save(): Promise<void> {
    const talk = this.#talk;
    if (!talk?.isOpen) {
      const body = "There is nothing to save before the file is open; see what its tab says.";
      await showDialog({ title: "Not saved", body, buttons: [Dialog.okButton()] });
      throw cancelled();
    }
    const told = await saveAs(talk, this.#title || this.#path, (line) => this.#line(line));
    if (told === "") throw cancelled();
    this.#line(told);
    const { commands } = this.#around.app;
    if (commands.hasCommand("filebrowser:refresh"))
      await commands.execute("filebrowser:refresh").catch(() => {});
  }

  /** Read the file anew; edits are gone. Whoever calls it has asked. */
  async reopen(): Promise<void> {
    await this.#keep.write(this.#path, null);
    await this.#open(true);
  }

  // The kernel

  async #open(again = false): Promise<void> {
    const turn = ++this.#turn;
    this.#isGone = false;
    const { sessionContext } = this.#context;
    this.#talk?.close();
    this.#talk = null;
    try {
      this.#wait("Starting a kernel", "The graph is read by a Python kernel of its own.");
      await sessionContext.ready;
      const kernel = sessionContext.session?.kernel;
      if (turn !== this.#turn || this.#context.isDisposed) return;
      if (!kernel)
        return this.#say("No kernel", "A Python kernel reads the graph; choose one.", [this.#choose]);
      this.#rendermime ??= withWidgets(this.#context, this.#around.rendermime);
      this.#wait(`Opening ${this.#name}`, "TensorFlow is loaded the first time, which takes some seconds.");
      await this.#ask(kernel, again, turn);
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  async #ask(kernel: Kernel.IKernelConnection, again: boolean, turn: number): Promise<void> {
    const talk = await openTalk(kernel);
    if (turn !== this.#turn) return talk.close();
    this.#talk = talk;
    talk.onPush((push) => this.#changed(push));
    talk.onGone(() => this.#look(kernel.status));
    const contents = this.#around.app.serviceManager.contents;
    const where = { path: contents.localPath(this.#path), root: PageConfig.getOption("serverRoot") };
    const { direction } = preferences();
    const before = again ? { again } : this.#keep.kept;
    const reply = await talk.request({
      type: "file",
      ...where,
      ...before,
      ...(direction ? { direction } : {}),
    });
    if (turn !== this.#turn) return;
    this.#model = String(reply["model_id"]);
    this.#title = String(reply["title"]);
    this.#quiet();
    this.#changed(reply, String(reply["notice"] ?? ""));
    await Promise.all([...this.#tabs].map((tab) => this.#showIn(tab)));
  }

  async #showIn({ widget, pane }: Tab): Promise<void> {
    if (!this.#rendermime) return;
    if (this.#title !== this.#name) relabel(widget, this.#title);
    await pane.showEditor(this.#model, this.#rendermime);
  }

  /** What the kernel has said of the edits; with a notice it has not done those that are kept, so they stay. */
  #changed(push: Push | Reply, notice = ""): void {
    const { edits, stamp, saved } = push as unknown as Kept;
    this.#edits = Number(push["count"]);
    this.#context.model.dirty = push["dirty"] === true;
    const kept = edits?.length ? { edits, stamp, saved } : null;
    if (!notice) void this.#keep.write(this.#path, kept).catch(() => {});
    const lost = String(push["lost"] ?? "");
    const warning = notice || (lost && `A restart of the kernel would lose the edits: ${lost}`);
    this.#line(warning, warning !== "");
  }

  #look(status: Kernel.Status): void {
    if (this.#context.isDisposed) return;
    if (GONE.includes(status)) {
      this.#turn++;
      this.#isGone = true;
      this.#talk?.close();
      this.#talk = null;
      this.#model = "";
      if (status.endsWith("restarting")) this.#wait("The kernel restarts", `${this.#kept}.`);
      else
        this.#say("The kernel has ended", `${this.#kept} when it is started again.`, [
          this.#restart,
          this.#choose,
        ]);
    } else if (status === "idle" && this.#isGone) {
      void this.#open();
    }
  }

  /** A kernel that runs, whatever has become of the old one; it is opened by what that one says then. */
  async #revive(): Promise<void> {
    const { sessionContext: session } = this.#context;
    if (session.session?.kernel) await session.restartKernel();
    else if (session.prevKernelName) await session.changeKernel({ name: session.prevKernelName });
    else if (await session.startKernel()) await this.#around.dialogs?.selectKernel(session);
  }

  get #kept(): string {
    if (!this.#edits) return "The file is opened again";
    const edits = this.#edits === 1 ? "The edit is" : `The ${this.#edits} edits are`;
    return this.#keep.kept ? `${edits} done again` : "The file is opened again, without its edits,";
  }

  #close(): void {
    this.#turn++;
    clearTimeout(this.#timer);
    this.#talk?.close();
    void this.#keep.write(this.#path, null).catch(() => {});
  }

  // What a tab says

  get #name(): string {
    return this.#path.split("/").at(-1) ?? this.#path;
  }

  readonly #again: Way = { label: "Try again", run: () => void this.#open() };
  readonly #restart: Way = {
    label: "Restart kernel",
    run: () => void this.#revive().catch((error) => this.#fail(error)),
  };
  readonly #choose: Way = {
    label: "Choose a kernel",
    run: () => void this.#around.dialogs?.selectKernel(this.#context.sessionContext),
  };
  readonly #asText: Way = {
    label: "Open as text",
    run: () =>
      void this.#around.app.commands.execute("docmanager:open", { path: this.#path, factory: "Editor" }),
  };

  #say(title: string, text: string, ways: readonly Way[]): void {
    this.#quiet();
    this.#said = { title, text, ways };
    for (const { pane } of this.#tabs) pane.say(this.#said);
  }

  /** Nothing is waited for any more, and nothing has gone wrong. */
  #quiet(): void {
    clearTimeout(this.#timer);
    this.#said = null;
  }

  #wait(title: string, text: string): void {
    this.#say(`${title} …`, text, []);
    const ways = [this.#again, this.#restart, this.#choose];
    const impatient = () => this.#say(`${title} …`, `${text} It takes unusually long.`, ways);
    this.#timer = window.setTimeout(impatient, PATIENCE);
  }

  #fail(error: unknown): void {
    this.#talk?.close();
    this.#talk = null;
    const text = error instanceof Error ? error.message : String(error);
    this.#say(`${this.#name} could not be opened`, text, [this.#again, this.#asText, this.#choose]);
  }

  #line(text: string, warns = false): void {
    for (const { bar } of this.#tabs) bar.say(text, warns);
  }

  // Closing

  /** Whether a message may reach the tab: to close the last one asks first for what is not saved. */
  #mayGo(tab: Tab, message: Message): boolean {
    if (message.type !== "close-request" || !this.#context.model.dirty || this.#tabs.size > 1) return true;
    void this.#askToClose(tab.widget).catch(() => {});
    return false;
  }

  async #askToClose(widget: FileWidget): Promise<void> {
    const edits = this.#edits === 1 ? "1 edit" : `${this.#edits} edits`;
    const { button } = await showDialog({
      title: `Save before closing?`,
      body: `${edits} of ${this.#title || this.#name} would be lost.`,
      buttons: [
        Dialog.cancelButton(),
        Dialog.warnButton({ label: "Discard", actions: ["discard"] }),
        Dialog.okButton({ label: "Save …" }),
      ],
    });
    if (!button.accept) return;
    if (!button.actions.includes("discard")) await this.save();
    else this.#context.model.dirty = false;
    if (!this.#context.model.dirty) widget.close();
  }
}

/** Give the tab another name than the file has; Jupyter would take that for a wish to rename the file. */
function relabel(widget: FileWidget, label: string): void {
  Signal.disconnectBetween(widget.title, widget);
  widget.title.label = label;
}

/** What Jupyter's own save command takes for a person's change of mind. */
function cancelled(): Error {
  return Object.assign(new Error("Cancel"), { name: "ModalCancelError" });
}
