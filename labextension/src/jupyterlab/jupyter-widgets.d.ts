// Types of the modules that Jupyter's widget extension shares, as far as they are used here.
declare module "@jupyter-widgets/jupyterlab-manager" {
  import type { DocumentRegistry } from "@jupyterlab/docregistry";
  import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
  import type { IDisposable } from "@lumino/disposable";

  /** Have widgets of a document's kernel shown by this rendermime; the kernel must be there. */
  export function registerWidgetManager(
    context: DocumentRegistry.Context,
    rendermime: IRenderMimeRegistry,
    renderers: Iterable<unknown>,
  ): IDisposable;
}
