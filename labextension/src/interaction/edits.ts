// Edits: each calls the editor's method of the same name. Also the queries that edit forms need.
import type {
  ChangeRequest,
  CostsRequest,
  DescribeRequest,
  Feed,
  Hit,
  Joints,
  LintFinding,
  LintRequest,
  ModelReply,
  PaletteRequest,
  PreviewedEdit,
  RewireTargets,
  SignatureRow,
  Source,
} from "../protocol/messages";
import type { RequestQueue } from "../state/request-queue";
import { bringForward, type Store } from "../state/store";
import type { ServerPath } from "./host-application";

export type CommandName = ChangeRequest["command"];
/** Arguments by name, as Python expressions; see `quote`. */
export type Options = Readonly<Record<string, string>>;

/** The arguments of `Edits.change`. */
export interface EditCall {
  readonly command: CommandName;
  readonly what: readonly string[];
  readonly options: Options;
  readonly variables?: readonly string[];
}

const HITS = 20;
/**
 * Bytes of a file in a message, a multiple of 3; in base64 it is shorter than the longest text of a
 * request.
 */
const PIECE = 720_000;

/** Text or names as a Python literal. */
export function quote(value: string | readonly string[]): string {
  return JSON.stringify(value);
}

export class Edits {
  readonly #store: Store;
  readonly #queue: RequestQueue;
  /** The edit that is marked, or 0. */
  #shown = 0;

  constructor(store: Store, turns: RequestQueue) {
    this.#store = store;
    this.#queue = turns;
  }

  /**
   * Edit `what`, or the selection if it is empty; resolves to whether the edit was made. The values
   * of the options in `variables` are names of variables of the notebook.
   */
  async change(
    command: CommandName,
    what: readonly string[] = [],
    options: Options = {},
    variables: readonly string[] = [],
  ): Promise<boolean> {
    const call = bodyOf({ command, what, options, variables });
    return (await this.#queue.edit(() => ({ type: "change", ...call }))) !== null;
  }

  /** What `change` would do with the same arguments; null if there is no reply. */
  async previewChange(call: EditCall): Promise<PreviewedEdit | null> {
    const answer = await this.#queue.run({ type: "preview_edit", ...bodyOf(call) });
    return answer?.type === "previewed_edit" ? answer : null;
  }

  /** Mark ops and scopes in the drawing that a preview is about; none with []. */
  markPreviewed(names: readonly string[]): void {
    this.#store.set({ edited: names });
  }

  /**
   * Show in what the graph differs from the one that TensorFlow's optimizer makes of it; resolves
   * to whether it is.
   */
  async optimize(): Promise<boolean> {
    const answer = await this.#queue.reply(() => ({ type: "optimize" }));
    if (!isDrawn(answer)) return false;
    bringForward(this.#store, "history");
    return true;
  }

  /**
   * What may stand in the way of the graph where it is to run; null if that was refused, which is
   * shown.
   */
  lint(target: LintRequest["target"]) {
    return this.#queue.ask("lint_reply", { type: "lint", target, quick: false }, "run");
  }

  /** What a check finds that takes no time; null if there is no reply. */
  async quickLint(): Promise<readonly LintFinding[] | null> {
    const answer = await this.#queue.query({ type: "lint", target: "", quick: true });
    return answer?.type === "lint_reply" ? answer.findings : null;
  }

  /**
   * What the graph is; `asked` is what the user has asked for, whose progress is shown. Null if
   * there is no reply.
   */
  async describeModel(
    { batch = 0, large = false }: { readonly batch?: number; readonly large?: boolean },
    asked = false,
  ): Promise<ModelReply | null> {
    const request = { type: "describe_model", batch, large } as const;
    const answer = await (asked ? this.#queue.run(request) : this.#queue.query(request));
    return answer?.type === "model_reply" ? answer : null;
  }

  /** The signatures of the graph; null if that was refused, which is shown. */
  async signatures(): Promise<readonly SignatureRow[] | null> {
    const answer = await this.#queue.ask("signature_list", { type: "list_signatures" }, "run");
    return answer?.signatures ?? null;
  }

  /** Frame the ops of a finding or a signature. */
  light(text: string, ops: readonly string[]): void {
    this.#store.set({ status: { kind: "notice", text }, warned: [...ops] });
  }

  /** Apply a suggested fix. */
  fix(line: string): Promise<unknown> {
    return this.#queue.edit(() => ({ type: "fix", line }));
  }

  undo(): Promise<unknown> {
    return this.#queue.edit(() => (this.#store.value.state ? { type: "undo" } : null));
  }

  redo(): Promise<unknown> {
    return this.#queue.edit(() => (this.#store.value.state ? { type: "redo" } : null));
  }

  /** Undo or redo until this many edits are in effect. */
  jump(to: number): Promise<unknown> {
    return this.#queue.edit(() =>
      to === this.#store.value.state?.code.length ? null : { type: "jump", to },
    );
  }

  /** Show or hide the differences from the original graph. */
  compare(show = !this.#store.value.state?.comparing): Promise<void> {
    if (show) bringForward(this.#store, "history");
    return this.#queue.enqueue(() => ({ type: "compare", show, source: "" }));
  }

  /** Show the differences from another graph; resolves to whether it could be compared. */
  async compareWith(source: string): Promise<boolean> {
    const answer = await this.#queue.reply(() => ({ type: "compare", show: true, source }));
    if (answer?.type === "refusal") return false;
    bringForward(this.#store, "history");
    return true;
  }

  /** Show another graph in a pane on the left, "" for none; resolves to whether it was done. */
  async beside(source: string): Promise<boolean> {
    const answer = await this.#queue.reply(() => ({ type: "beside", source }));
    return answer?.type !== "refusal";
  }

  /**
   * Add another graph, with its inputs joined to tensors of this one, but for those of ""; resolves
   * to whether it was added.
   */
  async add(source: string, into: string, joined: Options): Promise<boolean> {
    const [inputs, tensors] = [Object.keys(joined), Object.values(joined)];
    return (
      (await this.#queue.edit(() => ({ type: "add", source, into, inputs, tensors }))) !== null
    );
  }

  /** The other graphs of the notebook. */
  async sources(): Promise<readonly Source[]> {
    const answer = await this.#queue.query({ type: "names" });
    return answer?.type === "sources" ? answer.sources : [];
  }

  /** The inputs of another graph; null if refused, which is shown. */
  async inputsOf(source: string): Promise<Joints | null> {
    const answer = await this.#queue.reply(() => ({ type: "inputs", source }));
    return answer?.type === "joints" ? answer : null;
  }

  /**
   * The path to type for a file of the application; null if the kernel cannot read it, which is
   * shown.
   */
  async locate(file: ServerPath): Promise<string | null> {
    const answer = await this.#queue.reply(() => ({ type: "locate", ...file }));
    return answer?.type === "kernel_path" ? answer.path : null;
  }

  /**
   * Send a file of the desktop to the kernel, in pieces; resolves to its name as a graph, or null
   * if refused.
   */
  async upload(file: File): Promise<string | null> {
    const { name, size } = file;
    for (let start = 0; ; start += PIECE) {
      const bytes = new Uint8Array(await file.slice(start, start + PIECE).arrayBuffer());
      const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
      const answer = await this.#queue.reply(() => ({ type: "upload", name, data, start, size }));
      if (answer?.type !== "upload_reply") return null;
      if (answer.source) return answer.source;
    }
  }

  /**
   * Run the graph and show the outputs of an op, or of the selected ops; resolves to whether it
   * ran.
   */
  async probe(name = "", feeds: Feed[] = []): Promise<boolean> {
    const answer = await this.#queue.reply(() => ({ type: "probe", name, feeds }));
    if (!isDrawn(answer)) return false;
    if (name === "") return true;
    this.#store.set({ tab: "op" }); // before the value, which is scrolled to where it is visible
    this.#store.set({ run: { name } });
    return true;
  }

  /** Run the graph and measure the time of each op; resolves to whether it ran. */
  async measure(feeds: Feed[] = []): Promise<boolean> {
    return isDrawn(await this.#queue.reply(() => ({ type: "measure", feeds })));
  }

  /** Give the variables the values of a checkpoint; resolves to whether they got them. */
  async restore(path: string): Promise<boolean> {
    return isDrawn(await this.#queue.reply(() => ({ type: "restore", path })));
  }

  /** Let ops of the file run that do more than compute. */
  trust(): Promise<unknown> {
    return this.#queue.enqueue(() =>
      this.#store.value.state?.untrusted ? { type: "trust" } : null,
    );
  }

  /** The placeholders that need a value; null if refused, which is shown. */
  feedable(name: string, measure: boolean) {
    return this.#queue.ask("feeds", { type: "feedable", name, measure });
  }

  /** Make a value a variable of the notebook; `variable` "" proposes a name. */
  assign(name: string, variable = "", overwrite = false) {
    return this.#queue.ask("variable_reply", { type: "assign", name, variable, overwrite });
  }

  /** Op types and functions of the notebook that fit a text. */
  palette(request: Omit<PaletteRequest, "type">) {
    return this.#queue.ask("op_type_list", { type: "palette", ...request });
  }

  /** The parameters of an op type or of a function of the notebook. */
  describe(request: Omit<DescribeRequest, "type">) {
    return this.#queue.ask("form_reply", { type: "describe", ...request });
  }

  /** The table of costs. */
  costs(request: Omit<CostsRequest, "type">) {
    return this.#queue.ask("cost_table", { type: "costs", ...request });
  }

  /** The possible targets of a tensor; null if refused, which is shown. */
  targets(tensor: string, op = ""): Promise<RewireTargets | null> {
    return this.#queue.ask("rewire_targets", { type: "targets", tensor, op });
  }

  /**
   * All edits as a Python script, for a cell with the notebook's variables; null if refused, which
   * is shown.
   */
  async script(forCell = false): Promise<string | null> {
    const answer = await this.#queue.ask("script_reply", { type: "script", for_cell: forCell });
    return answer?.text ?? null;
  }

  /** Mark what an edit of the history changed, by its number from 1; 0 marks nothing. */
  async showEdited(step: number): Promise<void> {
    this.#shown = step;
    const answer = step > 0 ? await this.#queue.query({ type: "find_edit_ops", step }) : null;
    if (this.#shown === step)
      this.#store.set({ edited: answer?.type === "edit_ops" ? answer.names : [] });
  }

  /** Ops with the text in their name or type. */
  async complete(text: string): Promise<readonly Hit[]> {
    const answer = await this.#queue.query({ type: "search", text, limit: HITS });
    return answer?.type === "search_reply" ? answer.hits : [];
  }
}

/** What a request says of a call. */
function bodyOf({ command, what, options, variables = [] }: EditCall) {
  return {
    command,
    what: [...what],
    keys: Object.keys(options),
    values: Object.values(options),
    variables: [...variables],
  };
}

/**
 * Whether a request was done that changes colors and marks: where the graph has changed too, a new
 * drawing says so.
 */
function isDrawn(answer: { readonly type: string } | null): boolean {
  return answer?.type === "selection_reply" || answer?.type === "scene_reply";
}
