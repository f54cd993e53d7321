// Detects a kernel that another program or tab has restarted. JupyterLab does not notice, and
// continues to send widget messages to threads ("subshells") of the old process.
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { Kernel, KernelMessage } from "@jupyterlab/services";

/** Detects messages from a new process of a kernel: each process has its own session id. */
export function createRestartDetector(): (
  kernel: Kernel.IKernelConnection,
  message: KernelMessage.IMessage,
) => boolean {
  let before = "";
  return ({ clientId }, { header: { session } }) => {
    if (session === clientId) return false; // the server's, of the kernel's status
    const isAnother = before !== "" && session !== before;
    before = session;
    return isAnother;
  };
}

/**
 * Have JupyterLab forget the old process's threads; comms that are opened after that get their own.
 */
export async function resetSubshells(kernel: Kernel.IKernelConnection): Promise<void> {
  const mode = kernel.commsOverSubshells; // JupyterLab before 4.4 has none
  const disabled = "disabled" as NonNullable<typeof mode>;
  // else another call is at work, or subshells are off
  const turns = mode !== undefined && mode !== disabled;
  if (turns) kernel.commsOverSubshells = disabled;
  // each comm leaves its thread in a promise of its own
  await new Promise((resolve) => setTimeout(resolve));
  if (turns) kernel.commsOverSubshells = mode;
}

/** So that a cell that is run again has an editor that is answered. */
export function resetShownNotebooks(notebooks: INotebookTracker): void {
  notebooks.widgetAdded.connect((_, { node, sessionContext }) => {
    const isAnother = createRestartDetector();
    sessionContext.iopubMessage.connect((_, message) => {
      const kernel = sessionContext.session?.kernel;
      if (kernel && isAnother(kernel, message) && node.querySelector(".tfgraphwidget"))
        void resetSubshells(kernel);
    });
  });
}
