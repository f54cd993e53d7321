// Kernel operations of panels and documents: find the tab that hosts its widgets, start, restart,
// share.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { ISessionContext, ISessionContextDialogs } from "@jupyterlab/apputils";
import type { ICodeCellModel } from "@jupyterlab/cells";
import { PageConfig } from "@jupyterlab/coreutils";
import type { DocumentRegistry } from "@jupyterlab/docregistry";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import type { Widget } from "@lumino/widgets";
import { preferences } from "../state/preferences";
import type { PanelContext } from "./context";
import { widgetsOf } from "./widget-owners";

export const kernelOf = (
  context: ISessionContext | null | undefined,
): Kernel.IKernelConnection | null => context?.session?.kernel ?? null;

/** What a tab needs to show the widgets of a kernel. */
interface Host {
  readonly kernel: Kernel.IKernelConnection;
  readonly rendermime: IRenderMimeRegistry;
}

/** What notebooks, consoles and documents have of that. */
interface HostTab extends Widget {
  readonly context?: { readonly sessionContext: ISessionContext };
  readonly sessionContext?: ISessionContext;
  readonly content?: { readonly rendermime?: IRenderMimeRegistry };
  readonly console?: { readonly rendermime: IRenderMimeRegistry };
}

/** What shows the widgets of our own documents. */
const documentRendermimes = new WeakMap<ISessionContext, IRenderMimeRegistry>();

/**
 * The tab whose connection carries widgets. A page has one such connection for each kernel: of two
 * tabs on the same kernel it is the first one's.
 */
export function findHost(app: JupyterFrontEnd, { id }: Kernel.IKernelConnection): Host | null {
  for (const tab of widgetsOf(app) as Iterable<HostTab>) {
    const session = tab.context?.sessionContext ?? tab.sessionContext;
    const kernel = kernelOf(session);
    if (!session || kernel?.id !== id || !kernel.handleComms) continue;
    const rendermime =
      documentRendermimes.get(session) ?? tab.content?.rendermime ?? tab.console?.rendermime;
    if (rendermime) return { kernel, rendermime };
  }
  return null;
}

/** The location of a file as the kernel needs it. */
export function fileLocation(
  { serviceManager }: JupyterFrontEnd,
  path: string,
): { path: string; root: string } {
  return {
    path: serviceManager.contents.localPath(path),
    root: PageConfig.getOption("serverRoot"),
  };
}

/** The direction that a drawing of this page begins with, where the settings name one. */
export function directionSetting(): { direction?: string } {
  const { direction } = preferences();
  return direction ? { direction } : {};
}

/** Whether another session has the same kernel, which then does not end with this one. */
export async function isKernelShared(
  app: JupyterFrontEnd,
  { session }: ISessionContext,
): Promise<boolean> {
  const { sessions } = app.serviceManager;
  await sessions.refreshRunning().catch(() => {}); // then as it was seconds ago
  const own = session?.kernel?.id;
  return [...sessions.running()].some(
    ({ id, kernel }) => own && id !== session?.id && kernel?.id === own,
  );
}

/** Start the session's kernel, or the dead one again; whether it does not know which. */
export async function startKernel(context: ISessionContext | undefined): Promise<boolean> {
  if (!kernelOf(context)) return (await context?.startKernel()) ?? false;
  await context?.restartKernel();
  return false;
}

/**
 * A kernel that runs, whatever has become of a document's old one; it is opened by what that one
 * says then.
 */
export async function restoreKernel(
  context: ISessionContext,
  dialogs: ISessionContextDialogs | null,
): Promise<void> {
  if (kernelOf(context)) await context.restartKernel();
  else if (context.prevKernelName) await context.changeKernel({ name: context.prevKernelName });
  else if (await context.startKernel()) await dialogs?.selectKernel(context);
}

/** Open a notebook to the left of a panel; in Notebook 7 it gets a page of its own. */
export function openBeside(
  { app, labShell }: PanelContext,
  path: string,
  panelId: string | undefined,
): void {
  const beside = labShell && panelId ? { options: { mode: "split-left", ref: panelId } } : {};
  void app.commands.execute("docmanager:open", { path, ...beside });
}

export function runAll(notebook: NotebookPanel | null): void {
  if (notebook) void NotebookActions.runAll(notebook.content, notebook.sessionContext);
}

/** Whether cells are running still, or are to: they may make more to choose from. */
export function isRunning(notebook: NotebookPanel | null): boolean {
  const cells = (notebook?.content.widgets ?? []) as readonly {
    readonly model: Partial<ICodeCellModel>;
  }[];
  return cells.some(({ model }) => model.executionState === "running");
}

// ipywidgets in a document that is not a notebook: its manager expects a notebook, so it gets one
// without cells.

/**
 * The manager reads and writes the saved widgets of a notebook, and may mark it as changed: nothing
 * of that is ours.
 */
const NO_CELLS = {
  dirty: false,
  metadata: new Map(),
  getMetadata: () => undefined,
  setMetadata: () => {},
};

/**
 * Kernels that a document of this page had, which is closed; another page keeps such a kernel
 * alive.
 */
const closedKernels = new Set<string>();

/** This page can no longer show the widgets of that kernel; after a reload it can. */
export class ClosedKernelError extends Error {}

/**
 * The rendermime that shows the widgets of a document's kernel. Throws Left for a kernel that the
 * page has had before: Jupyter's widgets keep one manager for each kernel, and it does not come
 * back from the end of its connection.
 */
export async function widgetRendermime(
  context: DocumentRegistry.Context,
  rendermime: IRenderMimeRegistry,
  kernel: string,
): Promise<IRenderMimeRegistry> {
  const known = documentRendermimes.get(context.sessionContext);
  if (known) return known;
  if (closedKernels.has(kernel)) {
    throw new ClosedKernelError(
      "The file was closed here while another browser tab had it open; reload this page.",
    );
  }
  const own = rendermime.clone({ resolver: context.urlResolver });
  // Where Jupyter's widgets are not there the pane says so when it is to show one.
  const widgets = await import("@jupyter-widgets/jupyterlab-manager").catch(() => null);
  if (!widgets) return own;
  documentRendermimes.set(context.sessionContext, own);
  const notebook = Object.create(context, { model: { value: NO_CELLS } });
  const registered = widgets.registerWidgetManager(notebook, own, []);
  context.disposed.connect(() => {
    closedKernels.add(kernel);
    registered.dispose();
  });
  return own;
}
