// The dialog of files of JupyterLab and Notebook 7, for an editor that asks for a file or a folder
// of the kernel's machine.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { PathExt } from "@jupyterlab/coreutils";
import { IDocumentManager } from "@jupyterlab/docmanager";
import { fileLocation } from "./kernel-hosts";

interface ServerPath {
  readonly path: string;
  readonly root: string;
}

/** What is to be chosen. */
export interface FileChoice {
  readonly title: string;
  readonly kind: "file" | "folder";
  /** Only files with this ending are shown. */
  readonly suffix?: string;
}

/** The detail of the event "tfgraphwidget:files"; `ask` only checks whether there is a dialog. */
export interface FileRequest extends FileChoice {
  readonly ask?: boolean;
  /** A path of the list of files: nothing is to be chosen, only its place is to be found. */
  readonly path?: string;
  done(location: ServerPath | null): void;
}

/**
 * Answer with a file, or with null if there is none: the editor waits for that, also if there is no
 * dialog.
 */
export async function serveFiles(
  app: JupyterFrontEnd,
  { path, done, ...choice }: FileRequest,
  beside = "",
): Promise<void> {
  let location: ServerPath | null = null;
  try {
    const chosen = path ?? (await chooseFile(app, choice, PathExt.dirname(beside)));
    if (chosen !== null) location = fileLocation(app, chosen);
  } catch (error) {
    const { showErrorMessage } = await import("@jupyterlab/apputils");
    void showErrorMessage("The dialog of files does not open", error as Error);
  } finally {
    done(location);
  }
}

/**
 * The path that the user chooses in the dialog, which begins in a folder; null if the user cancels.
 */
export async function chooseFile(
  app: JupyterFrontEnd,
  { title, kind, suffix = "" }: FileChoice,
  folder: string,
): Promise<string | null> {
  const { FileDialog } = await import("@jupyterlab/filebrowser");
  const manager = await app.resolveRequiredService(IDocumentManager);
  if (document.fullscreenElement) await document.exitFullscreen(); // it would lie over the dialog
  const options = { manager, title, defaultPath: folder };
  const isFolder = ({ type }: { readonly type: string }) => type === "directory";
  const { button, value } =
    kind === "folder"
      ? await FileDialog.getExistingDirectory(options)
      : await FileDialog.getOpenFiles({
          ...options,
          filter: (one) => (isFolder(one) || one.name.endsWith(suffix) ? {} : null),
        });
  const [chosen] = (button.accept && value) || [];
  // Without a choice it is the folder that is open.
  return chosen && !(suffix && isFolder(chosen)) ? chosen.path : null;
}
