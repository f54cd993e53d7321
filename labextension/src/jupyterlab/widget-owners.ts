// Finds the kernel and the notebook of an editor on the page: in a cell, a panel or a document.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { ISessionContext } from "@jupyterlab/apputils";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { Widget } from "@lumino/widgets";

/** Where JupyterLab and Notebook 7 keep what can hold an editor. */
const AREAS = ["main", "right", "left", "down"];

interface Owner extends Widget {
  readonly context?: { readonly path: string; readonly sessionContext?: ISessionContext };
  readonly sessionContext?: ISessionContext;
  readonly content?: Owner & { readonly notebook?: NotebookPanel | null };
}

export class WidgetOwners {
  readonly #app: JupyterFrontEnd;
  readonly #notebooks: INotebookTracker;

  constructor(app: JupyterFrontEnd, notebooks: INotebookTracker) {
    this.#app = app;
    this.#notebooks = notebooks;
  }

  kernelOf(node: Node): Kernel.IKernelConnection | null {
    const owner = this.#ownerOf(node);
    const context =
      owner?.context?.sessionContext ?? owner?.sessionContext ?? owner?.content?.sessionContext;
    return context?.session?.kernel ?? null;
  }

  /** The notebook whose cell, or whose panel, it is in. */
  notebookOf(node: Node): NotebookPanel | null {
    const own = this.#notebooks.find((panel) => panel.node.contains(node));
    const beside = this.#ownerOf(node)?.content?.notebook;
    return own ?? (beside && this.#notebooks.has(beside) ? beside : null);
  }

  /** The path of the document that it is in. */
  documentOf(node: Node): string | undefined {
    return this.#ownerOf(node)?.context?.path;
  }

  #ownerOf(node: Node): Owner | null {
    for (const widget of widgetsOf(this.#app)) if (widget.node.contains(node)) return widget;
    return null;
  }
}

/** All that can hold an editor. */
export function* widgetsOf({ shell }: JupyterFrontEnd): Iterable<Widget> {
  for (const area of AREAS) {
    try {
      yield* shell.widgets(area);
    } catch {
      // Notebook 7 has fewer areas, and says so by an exception
    }
  }
}
