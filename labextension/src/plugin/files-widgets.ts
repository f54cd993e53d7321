// ipywidgets in a document that is no notebook: its manager is made for notebooks, so it is shown one without cells.
import { registerWidgetManager } from "@jupyter-widgets/jupyterlab-manager";
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";

/** The manager reads and writes the saved widgets of a notebook, and may mark it as changed: nothing of that is ours. */
const NO_CELLS = {
  dirty: false,
  metadata: new Map(),
  getMetadata: () => undefined,
  setMetadata: () => {},
};

/** A rendermime that shows the widgets of a document's kernel. To be called when the kernel is there. */
export function withWidgets(
  context: DocumentRegistry.Context,
  rendermime: IRenderMimeRegistry,
): IRenderMimeRegistry {
  const own = rendermime.clone({ resolver: context.urlResolver });
  const notebook = Object.create(context, { model: { value: NO_CELLS } });
  const registered = registerWidgetManager(notebook, own, []);
  context.disposed.connect(() => registered.dispose());
  return own;
}
