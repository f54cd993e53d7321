// ipywidgets in a document that is no notebook: its manager is made for notebooks, so it is shown one without cells.
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { ofDocuments } from "./hosts";

/** The manager reads and writes the saved widgets of a notebook, and may mark it as changed: nothing of that is ours. */
const NO_CELLS = {
  dirty: false,
  metadata: new Map(),
  getMetadata: () => undefined,
  setMetadata: () => {},
};

/** Kernels that a document of this page had, which is closed; another page keeps such a kernel alive. */
const left = new Set<string>();

/** This page cannot show the widgets of that kernel any more; one that is loaded anew can. */
export class Left extends Error {}

/**
 * The rendermime that shows the widgets of a document's kernel. Throws Left for a kernel that the page has had before:
 * Jupyter's widgets keep one manager for each kernel, and it does not come back from the end of its connection.
 */
export async function withWidgets(
  context: DocumentRegistry.Context,
  rendermime: IRenderMimeRegistry,
  kernel: string,
): Promise<IRenderMimeRegistry> {
  const known = ofDocuments.get(context.sessionContext);
  if (known) return known;
  if (left.has(kernel)) {
    throw new Left("It was closed here while another tab of the browser had it open too; reload this page.");
  }
  const own = rendermime.clone({ resolver: context.urlResolver });
  // Where Jupyter's widgets are not there the pane says so when it is to show one.
  const widgets = await import("@jupyter-widgets/jupyterlab-manager").catch(() => null);
  if (!widgets) return own;
  ofDocuments.set(context.sessionContext, own);
  const notebook = Object.create(context, { model: { value: NO_CELLS } });
  const registered = widgets.registerWidgetManager(notebook, own, []);
  context.disposed.connect(() => {
    left.add(kernel);
    registered.dispose();
  });
  return own;
}
