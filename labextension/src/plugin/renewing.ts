// A kernel that another program, or another tab, has restarted. JupyterLab takes it for the one that it was, and goes on
// sending what widgets say to threads ("subshells") of the old process, which the new one does not know.
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { Kernel, KernelMessage } from "@jupyterlab/services";

/** Tells when what a kernel says comes from another process than before; each signs with a name of its own. */
export function listener(): (kernel: Kernel.IKernelConnection, said: KernelMessage.IMessage) => boolean {
  let before = "";
  return ({ clientId }, { header: { session } }) => {
    if (session === clientId) return false; // the server's, of the kernel's status
    const isAnother = before !== "" && session !== before;
    before = session;
    return isAnother;
  };
}

/** Have JupyterLab forget the old process's threads; comms that are opened after that get their own. */
export async function renew(kernel: Kernel.IKernelConnection): Promise<void> {
  const mode = kernel.commsOverSubshells; // JupyterLab before 4.4 has none
  const disabled = "disabled" as NonNullable<typeof mode>;
  const turns = mode !== undefined && mode !== disabled; // else somebody is at it, or wants none
  if (turns) kernel.commsOverSubshells = disabled;
  await new Promise((resolve) => setTimeout(resolve)); // each comm leaves its thread in a promise of its own
  if (turns) kernel.commsOverSubshells = mode;
}

/** So that a cell that is run again has an editor that is answered. */
export function renewShown(notebooks: INotebookTracker): void {
  notebooks.widgetAdded.connect((_, { node, sessionContext }) => {
    const isAnother = listener();
    sessionContext.iopubMessage.connect((_, said) => {
      const kernel = sessionContext.session?.kernel;
      if (kernel && isAnother(kernel, said) && node.querySelector(".tfgraphwidget")) void renew(kernel);
    });
  });
}
