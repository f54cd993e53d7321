// The services of the application that panels and documents use.
import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from "@jupyterlab/application";
import type { ICommandPalette, ISessionContextDialogs } from "@jupyterlab/apputils";
import type { DocumentWidget } from "@jupyterlab/docregistry";
import type { ILauncher } from "@jupyterlab/launcher";
import type { INotebookTracker } from "@jupyterlab/notebook";
import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IStateDB } from "@jupyterlab/statedb";
import type { StackedPanel } from "@lumino/widgets";

/** The services that panels use; Notebook 7 has only some of them. */
export interface PanelContext {
  readonly app: JupyterFrontEnd;
  readonly notebooks: INotebookTracker;
  readonly labShell: ILabShell | null;
  readonly restorer: ILayoutRestorer | null;
  readonly palette: ICommandPalette | null;
  readonly launcher: ILauncher | null;
  readonly dialogs: ISessionContextDialogs | null;
}

export type FileWidget = DocumentWidget<StackedPanel>;
/** The services that documents use. */
export interface DocumentContext {
  readonly app: JupyterFrontEnd;
  readonly rendermime: IRenderMimeRegistry;
  readonly state: IStateDB | null;
  readonly dialogs: ISessionContextDialogs | null;
}
