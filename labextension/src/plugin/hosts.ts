// What a panel does with the notebook and the kernel that it belongs to.
import type { ISessionContext } from "@jupyterlab/apputils";
import { type INotebookTracker, NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";
import type { Kernel } from "@jupyterlab/services";
import type { Around } from "./panels";

export const kernelOf = (context: ISessionContext | null | undefined): Kernel.IKernelConnection | null =>
  context?.session?.kernel ?? null;

export const isGoing = (status: Kernel.Status): boolean =>
  status === "restarting" || status === "autorestarting" || status === "terminating";

/**
 * The notebook whose connection carries widgets. A page has one such connection for each kernel: of two notebooks on
 * the same kernel it is the first one's.
 */
export function hostOf(
  notebooks: INotebookTracker,
  kernel: Kernel.IKernelConnection,
): NotebookPanel | undefined {
  return notebooks.find(({ sessionContext }) => {
    const other = kernelOf(sessionContext);
    return other?.id === kernel.id && other.handleComms;
  });
}

/** Start the session's kernel, or the dead one again; whether it does not know which. */
export async function startKernel(context: ISessionContext | undefined): Promise<boolean> {
  if (!kernelOf(context)) return (await context?.startKernel()) ?? false;
  await context?.restartKernel();
  return false;
}

/** Open a notebook to the left of a panel; in Notebook 7 it gets a page of its own. */
export function openBeside({ app, labShell }: Around, path: string, panelId: string | undefined): void {
  const beside = labShell && panelId ? { options: { mode: "split-left", ref: panelId } } : {};
  void app.commands.execute("docmanager:open", { path, ...beside });
}

export function runAll(notebook: NotebookPanel | null): void {
  if (notebook) void NotebookActions.runAll(notebook.content, notebook.sessionContext);
}
