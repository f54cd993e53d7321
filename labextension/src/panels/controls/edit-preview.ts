// What an edit would do, below its form: counts, what it leaves and why, and the ops marked in the
// drawing.
import type { EditCall } from "../../interaction/edits";
import type { Parts } from "../../interaction/parts";
import type { PreviewedEdit } from "../../protocol/messages";
import { element, hasFocus, scrollToShow } from "../dom";

/** Milliseconds without a change of the form before it is previewed. */
const PAUSE = 350;

export interface EditPreview {
  readonly root: HTMLElement;
  /** Preview the form as it is now, in a moment; `soon`: at once. */
  update(soon?: boolean): void;
  /** Mark nothing any more. */
  close(): void;
}

/** `call` is what the form asks for, null while it is not filled in. */
export function createEditPreview({ actions }: Parts, call: () => EditCall | null): EditPreview {
  const root = element("div", {
    class: "tgw-edit-preview",
    role: "status",
    "aria-label": "Preview",
  });
  let [timer, turn] = [0, 0];
  const show = (preview: PreviewedEdit | null) => {
    root.replaceChildren(...(preview ? contents(preview) : []));
    root.setAttribute("data-wrong", String(Boolean(preview?.refusal)));
    actions.edits.markPreviewed(preview?.names ?? []);
    // The form is higher now, and the buttons at its end would lie over what it says.
    const form = root.closest("form");
    if (preview && form && hasFocus(form)) scrollToShow(form);
  };
  const ask = async () => {
    const [asked, mine] = [call(), ++turn];
    if (!asked) return show(null);
    root.setAttribute("aria-busy", "true");
    const preview = await actions.edits.previewChange(asked);
    if (mine !== turn) return;
    root.removeAttribute("aria-busy");
    show(preview);
  };
  const update = (soon = false) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void ask(), soon ? 0 : PAUSE);
  };
  const close = () => {
    clearTimeout(timer);
    turn += 1;
    show(null);
  };
  return { root, update, close };
}

function contents({ refusal, text, notes }: PreviewedEdit): HTMLElement[] {
  if (refusal) return [element("p", {}, refusal)];
  const list = element("ul", {}, ...notes.map((note) => element("li", {}, note)));
  return [element("p", { class: "tgw-edit-counts" }, text), ...(notes.length > 0 ? [list] : [])];
}
