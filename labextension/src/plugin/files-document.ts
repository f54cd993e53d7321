// One file that is open: its kernel, the editor that the kernel has made for it, and the tabs that show that.
// Whatever happens to the kernel, a tab shows the editor or one sentence with a way out; what takes long says so.
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import { type Message, MessageLoop } from "@lumino/messaging";
import type { Around, FileWidget } from "./files";
import { createBar } from "./files-bar";
import { asideWays, Keep, type Kept } from "./files-kept";
import { startApart } from "./files-kernel";
import { type Tab, Tabs } from "./files-tabs";
import { Left, withWidgets } from "./files-widgets";
import { directed, hostOf, isBorrowed, revive, whereOf } from "./hosts";
import {
  isEnding,
  isGone,
  openTalk,
  type Push,
  Refusal,
  type Reply,
  type Talk,
  type Working,
} from "./kernel";
import { Pane, way } from "./pane";
import { askToClose, CANCELLED, cancelled, nothingToSave, saveAs } from "./saving";
import { reload } from "./sentences";
import { Share } from "./sharing";

const PYTHON = "The graph is read by a Python kernel of its own.";

export class GraphDocument {
  readonly #context: DocumentRegistry.Context;
  readonly #around: Around;
  readonly #keep: Keep;
  readonly #tabs = new Tabs();
  readonly #share = new Share();
  #talk: Talk | null = null;
  #rendermime: IRenderMimeRegistry | null = null;
  #model = "";
  #title = "";
  #edits = 0;
  #saving: Promise<void> | null = null;
  /** The kernel that had the file restarts, or has ended. */
  #isGone = false;
  /** Counts what was begun, so that an answer that comes late is not taken for one to what was asked since. */
  #turn = 0;
  #path: string;
  #mayClose = false;
  /** How often a kernel that ends before it has opened the file is followed by another one unasked. */
  #chances = 2;
  #hasDied = false;

  constructor(context: DocumentRegistry.Context, around: Around) {
    this.#context = context;
    this.#around = around;
    this.#keep = new Keep(around.state, context.path);
    this.#path = context.path;
    const { sessionContext: session } = context;
    startApart(session);
    session.kernelChanged.connect((_, { oldValue, newValue }) => {
      if (newValue) void this.#open();
      else if (oldValue) this.#look("dead"); // without one before, one is being started
    });
    session.sessionChanged.connect((_, now) => now.oldValue && !now.newValue && this.#look("dead"));
    session.statusChanged.connect((_, status) => this.#look(status));
    context.pathChanged.connect((_, path) => void this.#moved(path).catch(() => {}));
    context.disposed.connect(() => this.#close());
    void this.#keep.read().then(() => this.#open());
  }

  /** Show it in one more tab. */
  add(widget: FileWidget): void {
    if (widget.isDisposed) return;
    const { sessionContext } = this.#context;
    const save = () => void this.save().catch(() => {});
    const cancel = () => void sessionContext.session?.kernel?.interrupt().catch(() => {});
    const bar = createBar(sessionContext, this.#around.dialogs, save, cancel);
    for (const [name, item] of bar.items) widget.toolbar.addItem(name, item);
    const tab = { widget, pane: new Pane(), bar };
    widget.content.addWidget(tab.pane);
    this.#tabs.add(tab);
    MessageLoop.installMessageHook(widget, (_, message) => this.#mayGo(tab, message));
    if (this.#model) void this.#show(tab);
  }

  /**
   * Ask under which name and in which kind, and write it; what goes wrong stands in the line above the editor. Rejects
   * as Jupyter's own saving does when a person leaves it.
   */
  save(): Promise<void> {
    this.#saving ??= this.#save()
      .catch((error: Error) => {
        if (error.name !== CANCELLED) this.#tabs.line(`Not saved: ${error.message}`, true);
        throw error;
      })
      .finally(() => {
        this.#saving = null;
      });
    return this.#saving;
  }

  /** For Jupyter's command that saves all files: those that are changed, or looked at. What goes wrong is told here. */
  async saveIfMeant(): Promise<void> {
    const { currentWidget } = this.#around.app.shell;
    if (this.#context.model.dirty || this.#tabs.has(currentWidget)) await this.save().catch(() => {});
  }

  async #save(): Promise<void> {
    const talk = this.#talk;
    if (!talk?.isOpen) return nothingToSave();
    const told = await saveAs(talk, this.#title || this.#path, this.#tabs.tell);
    if (told === "") throw cancelled();
    this.#tabs.line(told);
    const { commands } = this.#around.app;
    if (commands.hasCommand("filebrowser:refresh"))
      await commands.execute("filebrowser:refresh").catch(() => {});
  }

  /** Read the file anew; edits are gone. Whoever calls it has asked. */
  async reopen(): Promise<void> {
    await this.#keep.write(null);
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
      this.#wait("Starting a kernel", PYTHON);
      await sessionContext.ready;
      const kernel = sessionContext.session?.kernel;
      if (turn !== this.#turn || this.#context.isDisposed) return;
      if (!kernel)
        return this.#tabs.say("No kernel", "A Python kernel reads the graph; choose one.", [this.#choose]);
      this.#wait(`Opening ${this.#name}`, "TensorFlow is loaded the first time, which takes some seconds.");
      await this.#ask(kernel, again, turn);
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  async #ask(kernel: Kernel.IKernelConnection, again: boolean, turn: number): Promise<void> {
    const host = hostOf(this.#around.app, kernel);
    const isOwn = !(await isBorrowed(this.#around.app, this.#context.sessionContext));
    const talk = await openTalk(host?.kernel ?? kernel, isOwn);
    if (turn !== this.#turn) return talk.close();
    this.#talk = talk;
    this.#share.take(kernel.id);
    talk.onPush((push) => this.#changed(push));
    talk.onGone((isRenewed) => {
      if (isGone(kernel)) this.#look(kernel.status);
      else if (isRenewed || (host && host.kernel !== kernel)) void this.#open(); // else the other tab was closed
    });
    this.#rendermime =
      host?.rendermime ?? (await withWidgets(this.#context, this.#around.rendermime, kernel.id));
    const before = again ? { again } : this.#keep.kept;
    const where = whereOf(this.#around.app, this.#path);
    const told = (working: Working) => this.#tabs.tell(`${working.what} …`, working);
    const asked = talk.request({ type: "file", ...where, ...before, ...directed() }, told);
    const reply = await asked.finally(() => this.#tabs.tell("", null));
    if (turn !== this.#turn) return;
    this.#model = String(reply["model_id"]);
    this.#title = String(reply["title"]);
    this.#chances = 0;
    this.#tabs.quiet();
    if (reply["notice"]) void this.#keep.setAside(String(reply["notice"])).catch(() => {});
    this.#changed(reply);
    await this.#show();
  }

  /** The editor, in all tabs or in one. */
  async #show(only?: Tab): Promise<void> {
    if (this.#title !== this.#name) this.#tabs.entitle(this.#title);
    if (this.#rendermime) await this.#tabs.showEditor(this.#model, this.#rendermime, this.#again, only);
  }

  async #moved(path: string): Promise<void> {
    this.#path = path;
    const kept = this.#keep.move(path);
    const reply = await this.#talk?.request({ type: "moved", ...whereOf(this.#around.app, path) });
    if (reply) this.#title = String(reply["title"]);
    await kept;
  }

  /** What the kernel has said of the edits. */
  #changed(push: Push | Reply): void {
    const { edits, stamp, saved } = push as unknown as Kept;
    this.#edits = Number(push["count"]);
    this.#context.model.dirty = push["dirty"] === true;
    const kept = edits?.length ? { edits, stamp, saved } : null;
    void this.#keep.write(kept).catch(() => {});
    const lost = String(push["lost"] ?? "");
    const died = this.#hasDied ? "The kernel had died; the file was opened again, with its edits." : "";
    this.#hasDied = false;
    const why = this.#keep.aside?.why;
    const warning = why || (lost && `A restart of the kernel would lose the edits: ${lost}`) || died;
    const ways = asideWays(this.#keep, this.#title, () => this.#tabs.line(""));
    this.#tabs.line(warning, warning !== "", ways);
  }

  #look(status: Kernel.Status): void {
    if (this.#context.isDisposed) return;
    if (isEnding(status)) {
      this.#turn++;
      this.#isGone = true;
      this.#hasDied ||= status === "autorestarting";
      this.#talk?.close();
      this.#talk = null;
      this.#model = "";
      const then = this.#keep.afterwards(this.#edits);
      const ways = [this.#restart, this.#choose];
      if (status.endsWith("restarting")) this.#wait("The kernel restarts", `${then}.`);
      else if (status === "dead" && this.#chances > 0) void this.#anew().catch((error) => this.#fail(error));
      else this.#tabs.say("The kernel has ended", `${then} when it is started again.`, ways);
    } else if (status === "starting" && this.#isGone) {
      this.#wait("Starting a kernel", PYTHON);
    } else if (status === "idle" && this.#isGone) {
      void this.#open();
    }
  }

  /** A kernel that was joined while it ended, as that of a tab closed just now, is not the one that is wanted. */
  async #anew(): Promise<void> {
    const turn = this.#turn;
    this.#wait("Starting a kernel", PYTHON);
    await this.#around.app.serviceManager.sessions.refreshRunning().catch(() => {}); // lets go of what has ended
    if (turn !== this.#turn || this.#context.isDisposed) return;
    this.#chances--;
    await revive(this.#context.sessionContext, this.#around.dialogs);
  }

  #close(): void {
    this.#turn++;
    this.#tabs.quiet();
    this.#talk?.close();
    this.#share.leave();
    void this.#keep.write(null).catch(() => {});
  }

  // What a tab says

  get #name(): string {
    return this.#path.split("/").at(-1) ?? this.#path;
  }

  readonly #again = way("Try again", () => this.#open());
  readonly #restart = way("Restart kernel", () =>
    revive(this.#context.sessionContext, this.#around.dialogs).catch((error) => this.#fail(error)),
  );
  readonly #choose = way("Choose a kernel", () =>
    this.#around.dialogs?.selectKernel(this.#context.sessionContext),
  );
  readonly #asText = way("Open as text", () =>
    this.#around.app.commands.execute("docmanager:open", { path: this.#path, factory: "Editor" }),
  );

  #wait(title: string, text: string): void {
    this.#tabs.wait(title, text, [this.#again, this.#restart, this.#choose]);
  }

  #fail(error: unknown): void {
    this.#talk?.close();
    this.#talk = null;
    const text = error instanceof Error ? error.message : String(error);
    const isElsewhere = error instanceof Left || (error instanceof Refusal && error.kind === "Elsewhere");
    const ways = isElsewhere ? [reload, this.#choose] : [this.#again, this.#asText, this.#choose];
    this.#tabs.say(`${this.#name} could not be opened`, text, ways);
  }

  // Closing

  /** Whether a message may reach the tab: to close the last one asks first for what is not saved. */
  #mayGo(tab: Tab, message: Message): boolean {
    if (message.type !== "close-request" || this.#mayClose || this.#tabs.size > 1) return true;
    void this.#askToClose(tab.widget).catch(() => {});
    return false;
  }

  async #askToClose(widget: FileWidget): Promise<void> {
    const isShared = await this.#share.isShared().catch(() => false);
    const { model, sessionContext } = this.#context;
    if (!isShared && model.dirty && !(await this.#isSettled())) return;
    // Kernel and edits are another page's too, and stay with it; or the kernel is a notebook's.
    if (isShared || (await isBorrowed(this.#around.app, sessionContext)))
      sessionContext.kernelPreference = { ...sessionContext.kernelPreference, shutdownOnDispose: false };
    model.dirty = false; // or Jupyter asks once more
    this.#mayClose = true;
    widget.close();
  }

  /** Whether the edits are saved, or are not wanted. */
  async #isSettled(): Promise<boolean> {
    const wish = await askToClose(this.#edits, this.#title || this.#name);
    if (wish !== "save") return wish === "discard";
    await this.save();
    return !this.#context.model.dirty;
  }
}
