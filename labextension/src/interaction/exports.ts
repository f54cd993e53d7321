// Saves the graph in a folder of the kernel, or downloads it.
import type { ExportReply, ExportRequest, Formats } from "../protocol/messages";
import type { Answer } from "../rpc/model-channel";
import type { RequestQueue } from "../state/request-queue";
import type { Status, Store } from "../state/store";
import { download } from "./download";
import { openFile } from "./host-application";

export class Exports {
  readonly #store: Store;
  readonly #queue: RequestQueue;

  constructor(store: Store, queue: RequestQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  /** The formats in which the graph can be saved; null if refused, which is shown. */
  formats(): Promise<Formats | null> {
    return this.#queue.ask("formats", { type: "list_formats" }, "run");
  }

  /**
   * Save in the folder of the kernel; `from` is where the user asked for it. A file that exists is
   * not replaced unasked.
   */
  async save(
    request: Omit<ExportRequest, "type">,
    from: Element,
  ): Promise<"saved" | "exists" | "refused"> {
    const answer = await this.#queue.run({ type: "export", ...request });
    if (answer?.type !== "export_reply") return this.#refuse(answer);
    const status: Status = answer.exists
      ? { kind: "refused", text: answer.exists, argument: "path" }
      : this.#savedStatus(answer, from);
    this.#store.set({ status });
    return answer.exists ? "exists" : "saved";
  }

  /** Download the graph as one file, with the last part of `name` as its name. */
  async download(format: string, name: string, options: [string, string][]): Promise<boolean> {
    const answer = await this.#queue.run({ type: "download", format, name, options });
    if (answer?.type !== "download_reply") {
      this.#refuse(answer);
      return false;
    }
    download(answer.name, answer.buffer);
    this.#store.set({ status: { kind: "notice", text: answer.about } });
    return true;
  }

  /** The form says why, at the path. */
  #refuse(answer: Answer | null): "refused" {
    if (answer?.type === "refusal") this.#queue.accept({ ...answer, argument: "path" });
    return "refused";
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
