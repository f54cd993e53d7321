// A button at the field of a path: the application's own dialog of files, where it has one.
import { chooseFile, type FileChoice, hasFileDialog } from "../../interaction/host-application";
import type { Parts } from "../../interaction/parts";
import { element, ICONS, icon, setAttributes, taskButton } from "../dom";

/**
 * Marks a button whose dialog is open: what it is in stays open meanwhile, though it has no focus.
 */
const BROWSING = "data-browsing";

/** Whether a popup waits for the application's dialog of files. */
export function isBrowsing(popup: Element): boolean {
  return popup.querySelector(`[${BROWSING}]`) !== null;
}

/**
 * The path in a folder of the file that a field names; "" is the folder that paths are relative to.
 */
export function movedTo(folder: string, path: string): string {
  const name = path.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return folder === "" ? name : `${folder.replace(/\/+$/, "")}/${name}`;
}

/** A button below the field that fills it; none where the application has no such dialog. */
export function browseButton(
  input: HTMLInputElement,
  { stage, actions }: Parts,
  choice: FileChoice,
): HTMLButtonElement[] {
  if (!hasFileDialog(stage.canvas)) return [];
  const browse = async () => {
    setAttributes(control, { [BROWSING]: true });
    try {
      const chosen = await chooseFile(stage.canvas, choice);
      const path = chosen && (await actions.edits.locate(chosen));
      if (path === null) return;
      input.value = choice.kind === "folder" ? movedTo(path, input.value) : path;
      for (const type of ["input", "change"])
        input.dispatchEvent(new Event(type, { bubbles: true }));
    } finally {
      input.focus({ preventScroll: true });
      setAttributes(control, { [BROWSING]: undefined });
    }
  };
  const control = taskButton(
    { class: "tgw-text-button tgw-pick", title: choice.title },
    browse,
    icon(ICONS.folder),
    element("span", {}, "Browse …"),
  );
  return [control];
}
