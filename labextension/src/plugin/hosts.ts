// What a panel or a document does with the kernel that it belongs to, and a panel with its notebook.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import type { ISessionContext, ISessionContextDialogs } from "@jupyterlab/apputils";
import type { ICodeCellModel } from "@jupyterlab/cells";
import { PageConfig } from "@jupyterlab/coreutils";
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { Kernel } from "@jupyterlab/services";
import type { Widget } from "@lumino/widgets";
import { preferences } from "../settings";
import { widgetsOf } from "./owners";
import type { Around } from "./panels";

export const kernelOf = (context: ISessionContext | null | undefined): Kernel.IKernelConnection | null =>
  context?.session?.kernel ?? null;

/** What a tab needs to show the widgets of a kernel. */
interface Host {
  readonly kernel: Kernel.IKernelConnection;
  readonly rendermime: IRenderMimeRegistry;
}

/** What notebooks, consoles and documents have of that. */
interface Tab extends Widget {
  readonly context?: { readonly sessionContext: ISessionContext };
  readonly sessionContext?: ISessionContext;
  readonly content?: { readonly rendermime?: IRenderMimeRegistry };
  readonly console?: { readonly rendermime: IRenderMimeRegistry };
}

/** What shows the widgets of our own documents. */
export const ofDocuments = new WeakMap<ISessionContext, IRenderMimeRegistry>();

/**
 * The tab whose connection carries widgets. A page has one such connection for each kernel: of two tabs on the same
 * kernel it is the first one's.
 */
export function hostOf(app: JupyterFrontEnd, { id }: Kernel.IKernelConnection): Host | null {
  for (const tab of widgetsOf(app) as Iterable<Tab>) {
    const session = tab.context?.sessionContext ?? tab.sessionContext;
    const kernel = kernelOf(session);
    if (!session || kernel?.id !== id || !kernel.handleComms) continue;
    const rendermime = ofDocuments.get(session) ?? tab.content?.rendermime ?? tab.console?.rendermime;
    if (rendermime) return { kernel, rendermime };
  }
  return null;
}

/** As a kernel is told of a file. */
export function whereOf({ serviceManager }: JupyterFrontEnd, path: string): { path: string; root: string } {
  return { path: serviceManager.contents.localPath(path), root: PageConfig.getOption("serverRoot") };
}

/** The direction that a drawing of this page begins with, where the settings name one. */
export function directed(): { direction?: string } {
  const { direction } = preferences();
  return direction ? { direction } : {};
}

/** Whether another session has the same kernel, which then does not end with this one. */
export async function isBorrowed(app: JupyterFrontEnd, { session }: ISessionContext): Promise<boolean> {
  const { sessions } = app.serviceManager;
  await sessions.refreshRunning().catch(() => {}); // then as it was seconds ago
  const own = session?.kernel?.id;
  return [...sessions.running()].some(({ id, kernel }) => own && id !== session?.id && kernel?.id === own);
}

/** Start the session's kernel, or the dead one again; whether it does not know which. */
export async function startKernel(context: ISessionContext | undefined): Promise<boolean> {
  if (!kernelOf(context)) return (await context?.startKernel()) ?? false;
  await context?.restartKernel();
  return false;
}

/** A kernel that runs, whatever has become of a document's old one; it is opened by what that one says then. */
export async function revive(
  context: ISessionContext,
  dialogs: ISessionContextDialogs | null,
): Promise<void> {
  if (kernelOf(context)) await context.restartKernel();
  else if (context.prevKernelName) await context.changeKernel({ name: context.prevKernelName });
  else if (await context.startKernel()) await dialogs?.selectKernel(context);
}

/** Open a notebook to the left of a panel; in Notebook 7 it gets a page of its own. */
export function openBeside({ app, labShell }: Around, path: string, panelId: string | undefined): void {
  const beside = labShell && panelId ? { options: { mode: "split-left", ref: panelId } } : {};
  void app.commands.execute("docmanager:open", { path, ...beside });
}

export function runAll(notebook: NotebookPanel | null): void {
  if (notebook) void NotebookActions.runAll(notebook.content, notebook.sessionContext);
}

/** Whether cells are running still, or are to: they may make more to choose from. */
export function runsOn(notebook: NotebookPanel | null): boolean {
  const cells = (notebook?.content.widgets ?? []) as readonly { readonly model: Partial<ICodeCellModel> }[];
  return cells.some(({ model }) => model.executionState === "running");
}
