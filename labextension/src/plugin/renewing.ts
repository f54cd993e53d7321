// A kernel that another program has restarted. JupyterLab takes it for the one that it was, and goes on sending what
// widgets say to threads ("subshells") of the old process, which the new one does not know and does not answer from.
import type { Kernel } from "@jupyterlab/services";

const going = new WeakMap<Kernel.IKernelConnection, Promise<void>>();

/** Have JupyterLab forget those threads; comms that are opened after that get their own. */
export function renew(kernel: Kernel.IKernelConnection): Promise<void> {
  const renewal = going.get(kernel) ?? forget(kernel).finally(() => going.delete(kernel));
  going.set(kernel, renewal);
  return renewal;
}

async function forget(kernel: Kernel.IKernelConnection): Promise<void> {
  const mode = kernel.commsOverSubshells;
  if (mode === undefined) return; // JupyterLab before 4.4 has none
  kernel.commsOverSubshells = "disabled" as typeof mode;
  await new Promise((resolve) => setTimeout(resolve)); // each comm leaves its thread in a promise of its own
  kernel.commsOverSubshells = mode;
}
