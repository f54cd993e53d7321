// Save as: the kinds that the kernel says this file can be written in, a name for it, and no overwriting unasked.
import { Dialog, showDialog } from "@jupyterlab/apputils";
import { Widget } from "@lumino/widgets";
import { Refusal, type Reply, type Talk, type Working } from "./kernel";
import { element } from "./pane";

/** As tfgraphwidget/jupyterlab/save_formats.py tells it. */
interface Kind {
  readonly kind: string;
  readonly label: string;
  readonly suffix: string;
  readonly about: string;
  readonly name: string;
  readonly refused: string;
}
interface Choice {
  readonly kind: string;
  readonly name: string;
}

/** Told what goes on: a line, and how far it is, or null when nothing goes on any more. */
type Tell = (line: string, working: Working | null) => void;

/** What was saved, in a sentence; "" when the person left it. */
export async function saveAs(talk: Talk, title: string, tell: Tell): Promise<string> {
  tell("Asking the kernel …", { what: "", done: 0, total: 0 });
  const { kinds, folder } = (await talk
    .request({ type: "kinds" })
    .finally(() => tell("", null))) as unknown as Reply & {
    kinds: Kind[];
    folder: string;
  };
  let choice: Choice | undefined;
  for (let why = ""; ; ) {
    const body = new Form(kinds, folder, why, choice);
    const buttons = [Dialog.cancelButton(), Dialog.okButton({ label: "Save" })];
    const asked = await showDialog({ title: `Save ${title}`, body, buttons, focusNodeSelector: "input" });
    if (!asked.button.accept || !asked.value) return "";
    choice = asked.value;
    try {
      return await write(talk, choice, tell);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.kind === "Interrupted") {
        tell("Cancelled; nothing was saved.", null);
        return "";
      }
      why = error.message;
    }
  }
}

/** Write it; a name that is taken is asked about. */
async function write(talk: Talk, choice: Choice, tell: Tell): Promise<string> {
  try {
    return await written(talk, { ...choice }, tell);
  } catch (error) {
    if (!(error instanceof Refusal && error.kind === "Exists")) throw error;
    const buttons = [
      Dialog.cancelButton({ label: "Choose another name" }),
      Dialog.warnButton({ label: "Replace" }),
    ];
    const { button } = await showDialog({ title: "Replace it?", body: error.message, buttons });
    if (!button.accept) throw Object.assign(new Refusal("Give it another name."), { kind: "" });
    return written(talk, { ...choice, replace: true }, tell);
  }
}

/** Ask for it once, and show how far it is. */
async function written(talk: Talk, asked: Choice & { replace?: true }, tell: Tell): Promise<string> {
  const saving = `Saving ${asked.name} …`;
  tell(saving, { what: "", done: 0, total: 0 });
  try {
    const reply = await talk.request({ type: "save", ...asked }, (working) =>
      tell(`${saving} ${working.what}`, working),
    );
    return String(reply["about"]);
  } finally {
    tell("", null);
  }
}

/** What Jupyter's own save command calls a person's change of mind. */
export const CANCELLED = "ModalCancelError";

export function cancelled(): Error {
  return Object.assign(new Error("Cancel"), { name: CANCELLED });
}

/** Say that it is too early; rejects. */
export async function nothingToSave(): Promise<never> {
  const body = "There is nothing to save before the file is open; see what its tab says.";
  await showDialog({ title: "Not saved", body, buttons: [Dialog.okButton()] });
  throw cancelled();
}

/** What becomes of edits that are not saved when their document is closed; "" when it is not to be closed. */
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

/** The body of the dialog: kind, name, and a sentence on what the kind holds. */
class Form extends Widget {
  readonly #kinds: readonly Kind[];
  readonly #kind = element("select", "jp-mod-styled") as HTMLSelectElement;
  readonly #name = element("input", "jp-mod-styled") as HTMLInputElement;
  readonly #about = element("p", "tgw-save-about");
  /** The kind that a person has chosen, which of those with the same suffix is meant. */
  #wished = "";

  constructor(kinds: readonly Kind[], folder: string, why: string, last?: Choice) {
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
    this.#kind.addEventListener("change", () => this.#renamed());
    this.#name.addEventListener("input", () => this.#typed());
    this.node.append(
      labelled("Kind", this.#kind),
      labelled("Name", this.#name),
      this.#about,
      element("p", "tgw-save-folder", `in ${folder}`),
    );
    if (why) {
      const told = element("p", "tgw-save-why", why);
      told.setAttribute("role", "alert");
      this.node.append(told);
    }
    this.#kind.value = last?.kind ?? kinds[0]?.kind ?? "";
    this.#wished = this.#kind.value;
    this.#name.value = last?.name ?? this.#chosen?.name ?? "";
    this.#tell();
  }

  getValue(): Choice {
    return { kind: this.#kind.value, name: this.#name.value };
  }

  get #chosen(): Kind | undefined {
    return this.#kinds.find(({ kind }) => kind === this.#kind.value);
  }

  /** The name keeps what a person has typed, and ends as the kind does. */
  #renamed(): void {
    const kind = this.#chosen;
    if (!kind) return;
    this.#wished = kind.kind;
    const known = this.#kinds.find(({ suffix }) => this.#name.value.endsWith(suffix));
    const stem = known ? this.#name.value.slice(0, -known.suffix.length) : this.#name.value;
    this.#name.value = stem ? `${stem}${kind.suffix}` : kind.name;
    this.#tell();
  }

  /** The kind follows a suffix that is typed; a slash may also be a folder's that the file is to be in. */
  #typed(): void {
    const name = this.#name.value.toLowerCase();
    const meant = this.#kinds.filter(
      ({ suffix, refused }) => suffix !== "/" && !refused && name.endsWith(suffix),
    );
    const kind = meant.find((one) => one.kind === this.#wished) ?? meant[0];
    if (!kind) return;
    this.#kind.value = kind.kind;
    this.#tell();
  }

  #tell(): void {
    this.#about.textContent = this.#chosen?.about ?? "";
  }
}

function labelled(text: string, field: HTMLElement): HTMLElement {
  const label = element("label", "");
  label.append(element("span", "", text), field);
  return label;
}
