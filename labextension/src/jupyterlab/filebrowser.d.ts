// Types of JupyterLab's file browser, as far as it is used here; the package would bring 120 others
// for its types.
declare module "@jupyterlab/filebrowser" {
  import type { Dialog } from "@jupyterlab/apputils";
  import type { IDocumentManager } from "@jupyterlab/docmanager";
  import type { Contents } from "@jupyterlab/services";

  interface FileDialogOptions {
    readonly manager: IDocumentManager;
    readonly title: string;
    readonly defaultPath: string;
    /** Null for what is not shown. */
    readonly filter?: (model: Contents.IModel) => object | null;
  }

  type Chosen = Promise<Dialog.IResult<Contents.IModel[]>>;

  export const FileDialog: {
    getOpenFiles(options: FileDialogOptions): Chosen;
    getExistingDirectory(options: FileDialogOptions): Chosen;
  };
}
