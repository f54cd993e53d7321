// A panel beside a notebook, on the notebook's kernel: what is there to see by the names of variables, and the editor.
// Whatever becomes of the notebook or the kernel, it says so in a sentence and gives the way back.
import type { ISessionContext } from "@jupyterlab/apputils";
import { type Notebook, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import { type ISignal, Signal } from "@lumino/signaling";
import { type Choice, GraphBar, titleOf } from "./graph-bar";
import { directed, hostOf, kernelOf, openBeside, runAll, runsOn, startKernel } from "./hosts";
import { cellOf, insertCell, type Told, toldIn } from "./inserting";
import { Gone, isEnding, isGone, openTalk, Refusal, type Reply, type Talk } from "./kernel";
import { Pane, type Way } from "./pane";
import type { Around } from "./panels";
import { busy, closed, dead, ended, failed, noKernel, restarting, toChoose, waiting } from "./sentences";

/** Milliseconds before waiting is talked of, and after which it is said anew what is waited for. */
const PATIENCE = 300;

export class GraphPanel extends Pane {
  readonly bar: GraphBar;
  readonly #around: Around;
  readonly #remembered = new Signal<this, void>(this);
  #path: string;
  #choice: string | null;
  #notebook: NotebookPanel | null = null;
  #talk: Talk | null = null;
  #choices: readonly Choice[] = [];
  /** What the kernel has said of the editor; it stays when the kernel goes. */
  #told: Told = toldIn({});
  /** Counts what was begun: what comes late is not taken for an answer to what was asked since. */
  #begun = 0;

  constructor(around: Around, path: string, choice: string | null) {
    super();
    this.#around = around;
    this.#path = path;
    this.#choice = choice;
    this.bar = new GraphBar({
      choose: (name) => void this.#open(name),
      refresh: () => void this.#refresh(),
      insert: () => void this.#insert(),
    });
    this.addClass("tgw-graph-panel");
    this.#entitle();
    const { app, notebooks } = around;
    notebooks.widgetAdded.connect(this.#found, this);
    NotebookActions.executed.connect(this.#ran, this);
    const known = notebooks.find(({ context }) => context.path === path);
    if (known) this.#adopt(known);
    else void app.restored.then(() => this.#notebook ?? this.#sayClosed());
  }

  get path(): string {
    return this.#path;
  }
  /** What is open, or was to be, by the name of its variable. */
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
  get remembered(): ISignal<this, void> {
    return this.#remembered;
  }

  override dispose(): void {
    if (this.isDisposed) return;
    this.#begun++;
    this.#talk?.close();
    Signal.clearData(this);
    super.dispose();
  }

  // The notebook

  #found(_: unknown, notebook: NotebookPanel): void {
    if (!this.#notebook && notebook.context.path === this.#path) this.#adopt(notebook);
  }

  #adopt(notebook: NotebookPanel): void {
    this.#notebook = notebook;
    const { sessionContext, context } = notebook;
    context.pathChanged.connect(this.#moved, this);
    sessionContext.kernelChanged.connect(this.#connect, this);
    sessionContext.statusChanged.connect(this.#follow, this);
    notebook.disposed.connect(this.#lost, this);
    void this.#connect();
  }

  #moved(_: unknown, path: string): void {
    this.#path = path;
    this.#entitle();
    this.#remembered.emit();
  }

  #lost({ context: { path } }: NotebookPanel): void {
    // Another view of it has the same kernel, and all else that is followed here.
    const other = this.#around.notebooks.find((one) => !one.isDisposed && one.context.path === path);
    this.#notebook = other ?? null;
    if (other) return void other.disposed.connect(this.#lost, this);
    this.#disconnect();
    this.#sayClosed();
  }

  /** A cell has run: what was waited for may be there now. */
  #ran(_: unknown, { notebook }: { notebook: Notebook }): void {
    if (!this.#notebook || notebook.model !== this.#notebook.content.model || !this.#talk?.isOpen) return;
    void this.#look();
  }

  async #insert(): Promise<void> {
    if (this.#notebook && this.#told.line) await insertCell(this.#notebook, cellOf(this.#told));
  }

  // The kernel

  #follow(_: unknown, status: Kernel.Status): void {
    if (this.isDisposed) return;
    if (isEnding(status)) this.#sayGone();
    else if (!this.#talk && this.node.dataset["waits"] === "kernel") void this.#connect();
  }

  #disconnect(): void {
    this.#begun++;
    this.#talk?.close();
    this.#talk = null;
    this.#choices = [];
    this.bar.offer([], null);
    this.bar.tell("", "");
  }

  async #connect(): Promise<void> {
    const context = this.sessionContext;
    if (!context || this.isDisposed) return;
    this.#disconnect();
    delete this.node.dataset["waits"]; // or each change of status on the way would begin anew
    const turn = this.#begun;
    const isOver = () => turn !== this.#begun;
    const patience = this.#impatient(isOver);
    try {
      await context.ready;
      const kernel = context.session?.kernel;
      if (isOver()) return;
      if (!kernel || kernel.status === "dead") {
        this.#sayGone();
        return;
      }
      const talk = await openTalk(hostOf(this.#around.app, kernel)?.kernel ?? kernel);
      if (isOver()) {
        talk.close();
        return;
      }
      this.#talk = talk;
      talk.onPush((push) => this.#edited(push));
      talk.onGone((isRenewed) => this.#gone(isRenewed));
      await this.#look();
    } catch (error) {
      if (!isOver()) this.#fail(error, kernelOf(context));
    } finally {
      clearInterval(patience);
    }
  }

  #gone(isRenewed = false): void {
    const kernel = kernelOf(this.sessionContext);
    this.#disconnect();
    if (kernel && !isGone(kernel) && !isRenewed) this.say(ended([this.#again]));
    else this.#sayGone();
    if (isRenewed) void this.#connect();
  }

  // What is there

  /** What the person sees may be a kernel's that another program has restarted, which tells nobody. */
  async #refresh(): Promise<void> {
    const turn = this.#begun;
    const isKnown = (await this.#talk?.isKnown().catch(() => true)) ?? true;
    if (isKnown && turn === this.#begun) await this.#look();
  }

  /** Ask what there is; open what was open, or the only thing there is, or have the person choose. */
  async #look(): Promise<void> {
    const talk = this.#talk;
    if (!talk?.isOpen) return void (await this.#connect());
    const turn = this.#begun;
    try {
      const reply = await talk.request({ type: "choices" });
      if (turn !== this.#begun) return;
      this.#choices = reply["choices"] as unknown as Choice[];
      this.bar.offer(this.#choices, this.#choice);
      if (this.node.dataset["status"] === "shown" || this.node.dataset["status"] === "loading") return;
      const [first, ...more] = this.#choices;
      const known = this.#choices.some(({ name }) => name === this.#choice);
      if (this.#choice !== null && known) await this.#open(this.#choice);
      else if (this.#choice === null && first && more.length === 0 && !runsOn(this.#notebook))
        await this.#open(first.name);
      else this.#sayChoices();
    } catch (error) {
      if (turn === this.#begun) this.#fail(error);
    }
  }

  async #open(name: string): Promise<void> {
    const [talk, notebook] = [this.#talk, this.#notebook];
    const kernel = kernelOf(this.sessionContext);
    if (!talk || !notebook || !kernel) return;
    const turn = ++this.#begun;
    const patience = this.#impatient(() => turn !== this.#begun);
    this.#choice = name;
    this.bar.offer(this.#choices, name);
    this.#remembered.emit();
    try {
      const reply = await talk.request({ type: "open", name, ...directed() });
      clearInterval(patience); // the view that comes now is not to be replaced
      if (turn !== this.#begun) return;
      this.#entitle();
      this.#edited(reply);
      const { rendermime } = hostOf(this.#around.app, kernel) ?? notebook.content;
      await this.showEditor(String(reply["model_id"]), rendermime);
    } catch (error) {
      if (turn === this.#begun) this.#fail(error);
    } finally {
      clearInterval(patience);
    }
  }

  /** The kernel has said where the editor stands. */
  #edited(told: Reply): void {
    this.#told = toldIn(told);
    this.bar.tell(this.#told.variable, this.#told.line);
  }

  #entitle(): void {
    const notebook = this.#path.split("/").at(-1) ?? this.#path;
    this.title.label = this.#choice === null ? "Graph Editor" : titleOf({ name: this.#choice });
    this.title.caption = `Graphs of ${notebook}`;
  }

  // What it says instead

  readonly #again: Way = { label: "Open it again", run: () => void this.#connect() };

  #sayClosed(): void {
    this.say(closed(this.#path, () => openBeside(this.#around, this.#path, this.parent?.id)));
  }

  /** What is the matter with the kernel; `#follow` connects when there is one again. */
  #sayGone(): void {
    this.#disconnect();
    this.node.dataset["waits"] = "kernel";
    const kernel = kernelOf(this.sessionContext);
    if (!kernel) this.say(noKernel(this.#start));
    else this.say(kernel.status === "dead" ? dead(this.#start) : restarting([this.#choose]));
  }

  get #start(): Way[] {
    const start = async () => {
      if (await startKernel(this.sessionContext)) this.#choose.run();
    };
    const run = () => void start().catch((error) => this.#fail(error));
    return [{ label: "Start the kernel", run }, this.#choose];
  }

  readonly #choose: Way = {
    label: "Choose a kernel",
    run: () => void (this.sessionContext && this.#around.dialogs?.selectKernel(this.sessionContext)),
  };

  /** When waiting takes a while: what is waited for now, and how to end that. Gives the timer. */
  #impatient(isOver: () => boolean): number {
    let said: boolean | undefined;
    return window.setInterval(() => {
      const kernel = kernelOf(this.sessionContext);
      const isBusy = kernel?.status === "busy"; // a kernel that starts is not busy yet with what waits for it
      if (isOver() || this.isDisposed || said === isBusy) return;
      said = isBusy;
      const interrupt = () => void kernel?.interrupt().catch(() => {});
      this.say(isBusy ? busy(interrupt) : waiting([this.#choose]));
    }, PATIENCE);
  }

  #sayChoices(): void {
    const open = (name: string) => void this.#open(name);
    const again = { label: "Look again", run: () => void this.#look() };
    this.say(toChoose(this.#choices, this.#choice, open, [this.#runAll, again], this.#told.count));
  }

  readonly #runAll: Way = { label: "Run all cells", run: () => runAll(this.#notebook) };

  #fail(error: unknown, kernel?: Kernel.IKernelConnection | null): void {
    if (error instanceof Gone || (kernel && isGone(kernel))) this.#gone();
    else if (error instanceof Refusal && error.kind === "UnknownName") this.#sayChoices();
    else this.say(failed(error, this.#again, this.#choose));
  }
}
