// Saves the graph in a folder of the kernel, or downloads it.
import type { ExportReply, Formats, Refusal, SaveFormat } from "../protocol/messages";
import type { Answer } from "../rpc/model-channel";
import type { RequestQueue } from "../state/request-queue";
import type { Status, Store } from "../state/store";
import { download } from "./download";
import { openFile } from "./host-application";

/**
 * What has become of a request: done, or why not; `exists` is why a file is not replaced unasked.
 */
export interface Outcome {
  readonly done: boolean;
  readonly exists?: string;
  readonly why?: string;
}

export class Exports {
  readonly #store: Store;
  readonly #queue: RequestQueue;

  constructor(store: Store, queue: RequestQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  /** The formats in which the graph can be saved; null if refused, which is shown. */
  async formats(): Promise<Formats | null> {
    const answer = await this.#queue.run({ type: "list_formats" });
    if (answer?.type === "formats") return answer;
    if (answer) this.#queue.accept(answer);
    return null;
  }

  /**
   * Save in the folder of the kernel; `from` is where the user asked for it, `colors` and `area`
   * are a picture's.
   */
  async save(
    format: SaveFormat,
    path: string,
    replace: boolean,
    from: Element,
    colors: string[],
    options: [string, string][],
    area: number[],
  ): Promise<Outcome> {
    const request = { path, replace, colors, options, area };
    const answer = await this.#queue.run({ type: "export", format: format.kind, ...request });
    if (answer?.type === "refusal") return this.#refuse(answer);
    if (answer?.type !== "export_reply") return { done: false };
    if (answer.exists) return { done: false, exists: answer.exists };
    this.#store.set({ status: this.#savedStatus(answer, from) });
    return { done: true };
  }

  /** Download the graph as one file, with the last part of `name` as its name. */
  async download(format: SaveFormat, name: string, options: [string, string][]): Promise<Outcome> {
    const answer = await this.#queue.run({ type: "download", format: format.kind, name, options });
    if (answer?.type === "refusal") return this.#refuse(answer);
    if (answer?.type !== "download_reply") return { done: false };
    download(answer.name, answer.buffer);
    this.#store.set({ status: { kind: "notice", text: answer.about } });
    return { done: true };
  }

  /**
   * The ops that a converter does not take are lit, and what would help is offered below the
   * drawing.
   */
  #refuse(refusal: Answer & Refusal): Outcome {
    if (refusal.ops.length > 0 || refusal.fixes.length > 0) this.#queue.accept(refusal);
    return { done: false, why: refusal.why };
  }

  /** The sentence, with buttons that open the file and copy its path. */
  #savedStatus({ about, path, relative }: ExportReply, from: Element): Status {
    // A path elsewhere on the disk of the kernel may not be one of the application's.
    const isHere = relative !== "" && !relative.startsWith("/");
    const open = (ask: boolean) => isHere && openFile(from, relative, ask);
    const copy = () => void this.#copy(path);
    const actions = [
      ...(open(true)
        ? [{ text: "Open", title: `Open ${relative}`, act: () => void open(false) }]
        : []),
      { text: "Copy path", title: path, act: copy },
    ];
    return { kind: "notice", text: about, actions };
  }

  async #copy(path: string): Promise<void> {
    const text = await navigator.clipboard.writeText(path).then(
      () => `Copied ${path}`,
      () => path,
    );
    this.#store.set({ status: { kind: "notice", text } });
  }
}
