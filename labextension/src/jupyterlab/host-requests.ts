// What an editor asks of the application around it: insert a cell, or open what was saved beside
// the notebook or document.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { PageConfig, PathExt, URLExt } from "@jupyterlab/coreutils";
import type { NotebookPanel } from "@jupyterlab/notebook";
import { insertCell } from "./insert-cell";

/** The detail of the event "tfgraphwidget:host"; `ask` only checks whether it is possible. */
export interface HostRequest {
  /** The text of a new cell. */
  readonly text?: string;
  /** A path in the folder of the notebook or document. */
  readonly path?: string;
  readonly ask?: boolean;
}

interface Surroundings {
  readonly app: JupyterFrontEnd;
  readonly notebook: NotebookPanel | null;
  /** The path of the notebook or document. */
  readonly beside: string | undefined;
  readonly from: Node;
}

const BROWSE = "filebrowser:open-path";

export async function serve(
  { text, path }: HostRequest,
  { app, notebook, beside, from }: Surroundings,
): Promise<void> {
  if (path && beside) await openFile(app, beside, path);
  else if (notebook && text) await insertCell(notebook, text, from);
}

/**
 * Open a file in a tab, or a folder, which ends in "/", in the file browser; Notebook 7 has that on
 * a page of its own, to which JupyterLab without a file browser has no way either.
 */
export async function openFile(
  { commands }: JupyterFrontEnd,
  beside: string,
  path: string,
): Promise<void> {
  const full = PathExt.join(PathExt.dirname(beside), path);
  const folder = full.replace(/\/$/, "");
  if (!path.endsWith("/")) await commands.execute("docmanager:open", { path: full });
  else if (commands.hasCommand(BROWSE)) await commands.execute(BROWSE, { path: folder });
  else
    open(
      URLExt.join(PageConfig.getBaseUrl(), "tree", URLExt.encodeParts(folder)),
      "_blank",
      "noopener",
    );
}
