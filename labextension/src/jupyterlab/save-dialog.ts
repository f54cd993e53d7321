// The Save as dialog: the formats that the kernel offers for this file, a name, and confirmation to
// overwrite.
import { Dialog, showDialog } from "@jupyterlab/apputils";
import { PathExt } from "@jupyterlab/coreutils";
import { Widget } from "@lumino/widgets";
import type { Progress } from "../rpc/client";
import { type KernelComm, type KernelReply, RefusedError } from "./kernel-comm";
import { element } from "./pane";

/** As tfgraphwidget/widget/save_formats.py has it. */
interface FileKind {
  readonly kind: string;
  readonly label: string;
  readonly suffix: string;
  readonly about: string;
  readonly name: string;
  readonly refused: string;
  readonly options: readonly SaveOption[];
}
/**
 * As tfgraphwidget/writable.py has it: the first of the choices is the one without the option, a
 * single one a text that can be changed.
 */
interface SaveOption {
  readonly name: string;
  readonly label: string;
  readonly choices: readonly string[];
  readonly about: string;
}
interface SaveChoice {
  readonly kind: string;
  readonly name: string;
  readonly options: [string, string][];
}

/** Called with a line of text and the progress; null when the operation has ended. */
type ReportProgress = (line: string, working: Progress | null) => void;

/** What was saved: a sentence, and its path in the folder of the document. */
export interface Saved {
  readonly about: string;
  readonly relative: string;
}

/**
 * The document that is saved: its name, and how the user chooses a folder, as a path in that of the
 * document.
 */
export interface SaveTarget {
  readonly title: string;
  chooseFolder(): Promise<string | null>;
}

/** Returns what was saved; null if the user cancels. */
export async function saveAs(
  comm: KernelComm,
  { title, chooseFolder }: SaveTarget,
  tell: ReportProgress,
): Promise<Saved | null> {
  tell("Asking the kernel …", { what: "", done: 0, total: 0 });
  const { kinds, folder } = (await comm
    .request({ type: "kinds" })
    .finally(() => tell("", null))) as unknown as KernelReply & {
    kinds: FileKind[];
    folder: string;
  };
  let choice: SaveChoice | undefined;
  for (let why = ""; ; ) {
    const form = new Form(kinds, folder, why, choice);
    const wish = await askFor(form, title);
    if (wish === "cancel") return null;
    choice = form.getValue();
    try {
      if (wish === "save") return await saveOrReplace(comm, choice, tell);
      // Jupyter shows one dialog at a time.
      choice = movedTo(await chooseFolder(), choice);
      why = "";
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      if (error.kind === "Interrupted") {
        tell("Canceled; nothing was saved.", null);
        return null;
      }
      why = error.message;
    }
  }
}

/** The same name in another folder; null is none. */
function movedTo(folder: string | null, choice: SaveChoice): SaveChoice {
  if (folder === null) return choice;
  const name = PathExt.basename(choice.name);
  // PathExt.join takes the first slash of a whole path away.
  return { ...choice, name: folder === "" ? name : `${folder.replace(/\/+$/, "")}/${name}` };
}

/**
 * Show the form; what the user wants. Only the button that saves has the color of the default one.
 */
async function askFor(body: Form, title: string): Promise<"save" | "browse" | "cancel"> {
  const buttons = [
    Dialog.createButton({ label: "Browse …", accept: false, actions: ["browse"] }),
    Dialog.cancelButton(),
    Dialog.okButton({ label: "Save" }),
  ];
  const defaultButton = buttons.length - 1;
  const options = {
    title: `Save ${title}`,
    body,
    buttons,
    defaultButton,
    focusNodeSelector: "input",
  };
  const { button } = await showDialog(options);
  if (button.accept) return "save";
  return button.actions.includes("browse") ? "browse" : "cancel";
}

/** Save; if the file exists, ask whether to replace it. */
async function saveOrReplace(
  comm: KernelComm,
  choice: SaveChoice,
  tell: ReportProgress,
): Promise<Saved> {
  try {
    return await requestSave(comm, { ...choice }, tell);
  } catch (error) {
    if (!(error instanceof RefusedError && error.kind === "FileExists")) throw error;
    const buttons = [
      Dialog.cancelButton({ label: "Choose another name" }),
      Dialog.warnButton({ label: "Replace" }),
    ];
    const { button } = await showDialog({ title: "Replace it?", body: error.message, buttons });
    if (!button.accept) throw Object.assign(new RefusedError("Choose another name."), { kind: "" });
    return requestSave(comm, { ...choice, replace: true }, tell);
  }
}

/** Ask for it once, and show how far it is. */
async function requestSave(
  comm: KernelComm,
  asked: SaveChoice & { replace?: true },
  tell: ReportProgress,
): Promise<Saved> {
  const saving = `Saving ${asked.name} …`;
  tell(saving, { what: "", done: 0, total: 0 });
  try {
    const reply = await comm.request({ type: "save", ...asked }, (working) =>
      tell(`${saving} ${working.what}`, working),
    );
    return { about: String(reply["about"]), relative: String(reply["relative"]) };
  } finally {
    tell("", null);
  }
}

/** The name of the error with which Jupyter's own save command reports that the user canceled. */
export const CANCEL_ERROR = "ModalCancelError";

export function cancelError(): Error {
  return Object.assign(new Error("Cancel"), { name: CANCEL_ERROR });
}

/** Say why there is nothing to save, by default that it is too early; rejects. */
export async function refuseSave(
  body = "The file is not open yet, so there is nothing to save; see its tab.",
): Promise<never> {
  await showDialog({ title: "Not saved", body, buttons: [Dialog.okButton()] });
  throw cancelError();
}

/**
 * What becomes of edits that are not saved when their document is closed; "" when it is not to be
 * closed.
 */
export async function askToClose(count: number, title: string): Promise<"save" | "discard" | ""> {
  const { button } = await showDialog({
    title: "Save before closing?",
    body: `${count === 1 ? "1 edit" : `${count} edits`} of ${title} would be lost.`,
    buttons: [
      Dialog.cancelButton(),
      Dialog.warnButton({ label: "Discard", actions: ["discard"] }),
      Dialog.okButton({ label: "Save …" }),
    ],
  });
  if (!button.accept) return "";
  return button.actions.includes("discard") ? "discard" : "save";
}

/** The body of the dialog: format, name, and a sentence about the format. */
class Form extends Widget {
  readonly #kinds: readonly FileKind[];
  readonly #kind = element("select", "jp-mod-styled") as HTMLSelectElement;
  readonly #name = element("input", "jp-mod-styled") as HTMLInputElement;
  readonly #about = element("p", "tgw-save-about");
  readonly #options = element("div", "tgw-save-options");
  /** The format that the user chose; it decides between formats with the same suffix. */
  #preferredKind = "";
  #shown: FileKind | undefined;

  constructor(kinds: readonly FileKind[], folder: string, why: string, last?: SaveChoice) {
    super({ node: element("div", "tgw-save") });
    this.#kinds = kinds;
    for (const { kind, label, suffix, refused } of kinds) {
      const option = element(
        "option",
        "",
        `${label}${suffix === "/" ? "" : ` (${suffix})`}${refused ? `: ${refused}` : ""}`,
      );
      Object.assign(option, { value: kind, disabled: refused !== "" });
      this.#kind.append(option);
    }
    this.#name.spellcheck = false;
    this.#kind.addEventListener("change", () => this.#onKindChange());
    this.#name.addEventListener("input", () => this.#onNameInput());
    this.node.append(
      labeledField("Kind", this.#kind),
      labeledField("Name", this.#name),
      this.#options,
      this.#about,
      element("p", "tgw-save-folder", `in ${folder}`),
    );
    if (why) {
      const reason = element("p", "tgw-save-why", why);
      reason.setAttribute("role", "alert");
      this.node.append(reason);
    }
    const first = kinds.find(({ refused }) => refused === "") ?? kinds[0];
    this.#kind.value = last?.kind ?? first?.kind ?? "";
    this.#preferredKind = this.#kind.value;
    this.#name.value = last?.name ?? this.#chosen?.name ?? "";
    this.#showKind();
    for (const [name, value] of last?.options ?? []) {
      const field = this.#optionFields.find((select) => select.name === name);
      if (field) field.value = value;
    }
  }

  getValue(): SaveChoice {
    const options = this.#optionFields.map(({ name, value }) => [name, value] as [string, string]);
    return { kind: this.#kind.value, name: this.#name.value, options };
  }

  get #optionFields(): (HTMLSelectElement | HTMLInputElement)[] {
    return [
      ...this.#options.querySelectorAll<HTMLSelectElement | HTMLInputElement>("select, input"),
    ];
  }

  get #chosen(): FileKind | undefined {
    return this.#kinds.find(({ kind }) => kind === this.#kind.value);
  }

  /** Keep the stem of the name and replace its suffix by the format's. */
  #onKindChange(): void {
    const kind = this.#chosen;
    if (!kind) return;
    this.#preferredKind = kind.kind;
    const known = this.#kinds.find(({ suffix }) => this.#name.value.endsWith(suffix));
    const stem = known ? this.#name.value.slice(0, -known.suffix.length) : this.#name.value;
    this.#name.value = stem ? `${stem}${kind.suffix}` : kind.name;
    this.#showKind();
  }

  /**
   * The kind follows a suffix that is typed; a slash may also be a folder's that the file is to be
   * in.
   */
  #onNameInput(): void {
    const name = this.#name.value.toLowerCase();
    const meant = this.#kinds.filter(
      ({ suffix, refused }) => suffix !== "/" && !refused && name.endsWith(suffix),
    );
    const kind = meant.find((one) => one.kind === this.#preferredKind) ?? meant[0];
    if (!kind) return;
    this.#kind.value = kind.kind;
    this.#showKind();
  }

  /** The sentence about the format, and a field for each of its options. */
  #showKind(): void {
    if (this.#chosen === this.#shown) return;
    this.#shown = this.#chosen;
    this.#about.textContent = this.#chosen?.about ?? "";
    this.#options.replaceChildren(
      ...(this.#chosen?.options ?? []).map(({ name, label, choices, about }) => {
        if (choices.length === 1) {
          const input = element("input", "jp-mod-styled") as HTMLInputElement;
          Object.assign(input, { name, title: about, value: choices[0] });
          return labeledField(label, input);
        }
        const select = element("select", "jp-mod-styled") as HTMLSelectElement;
        Object.assign(select, { name, title: about });
        for (const value of choices) {
          const option = element("option", "", value || "as it is");
          Object.assign(option, { value });
          select.append(option);
        }
        return labeledField(label, select);
      }),
    );
  }
}

function labeledField(text: string, field: HTMLElement): HTMLElement {
  const label = element("label", "");
  label.append(element("span", "", text), field);
  return label;
}
