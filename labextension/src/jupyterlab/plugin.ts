// What JupyterLab and Notebook 7 load with every page: commands, file types and settings, but no
// drawing code.
import {
  ILabShell,
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { ICommandPalette, ISessionContextDialogs } from "@jupyterlab/apputils";
import { ILauncher } from "@jupyterlab/launcher";
import { INotebookTracker } from "@jupyterlab/notebook";
import { ISettingRegistry } from "@jupyterlab/settingregistry";
import { SETTINGS, SETTINGS_CHANGED } from "../state/preferences";
import { files } from "./file-plugin";
import type { FileRequest } from "./host-files";
import type { HostRequest } from "./host-requests";
import { resetShownNotebooks } from "./kernel-restarts";
import { loadLazyBundle, withLazyBundle } from "./lazy-loader";
import { addPanels } from "./panel-commands";
import { showSavedPictures } from "./saved-pictures";
import { guardSavedWidgets } from "./untrusted-notebooks";
import { WidgetOwners } from "./widget-owners";

const ID = "tfgraphwidget:plugin";

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: "Opens graphs of a kernel.",
  autoStart: true,
  requires: [INotebookTracker],
  optional: [
    ILabShell,
    ILayoutRestorer,
    ICommandPalette,
    ILauncher,
    ISessionContextDialogs,
    ISettingRegistry,
  ],
  activate: (
    app: JupyterFrontEnd,
    notebooks: INotebookTracker,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null,
    dialogs: ISessionContextDialogs | null,
    registry: ISettingRegistry | null,
  ) => {
    guardSavedWidgets(notebooks);
    showSavedPictures(notebooks);
    resetShownNotebooks(notebooks);
    addPanels({ app, notebooks, labShell, restorer, palette, launcher, dialogs });
    listenToEditors(new WidgetOwners(app, notebooks), app);
    // without them everything is as it was designed
    if (registry) answerSettings(registry, ID).catch(() => {});
  },
};

export default [plugin, files];

// Handles the events with which an editor asks the application to interrupt the kernel, insert a
// cell, open or find a file.

/** What JupyterLab's dialog of files needs. */
const FILE_DIALOG = "@jupyterlab/docmanager-extension:manager";

export function listenToEditors(owners: WidgetOwners, app: JupyterFrontEnd): void {
  const besideOf = (node: Node) => owners.notebookOf(node)?.context.path ?? owners.documentOf(node);
  document.addEventListener("tfgraphwidget:interrupt", (event) => {
    const kernel = owners.kernelOf(event.target as Node);
    if (!kernel) return;
    event.preventDefault();
    if (!(event as CustomEvent<{ ask?: boolean } | null>).detail?.ask)
      void kernel.interrupt().catch(() => {});
  });
  document.addEventListener("tfgraphwidget:host", (event) => {
    const { target, detail } = event as CustomEvent<HostRequest>;
    const from = target as Node;
    const notebook = owners.notebookOf(from);
    const beside = besideOf(from);
    if (!(detail.path ? beside : notebook)) return;
    event.preventDefault();
    if (!detail.ask)
      void withLazyBundle(({ serve }) => serve(detail, { app, notebook, beside, from }));
  });
  document.addEventListener("tfgraphwidget:files", (event) => {
    const { target, detail } = event as CustomEvent<FileRequest>;
    if (!app.hasPlugin(FILE_DIALOG)) return;
    event.preventDefault();
    if (!detail.ask)
      void loadLazyBundle().then(
        ({ serveFiles }) => serveFiles(app, detail, besideOf(target as Node)),
        () => detail.done(null),
      );
  });
}

// Answers the settings events of widgets, which do not depend on JupyterLab.

/**
 * Answer what views ask, now and after each change; until the settings are there nothing is filled
 * in.
 */
export async function answerSettings(registry: ISettingRegistry, plugin: string): Promise<void> {
  let known: object = {};
  document.addEventListener(SETTINGS, (event) =>
    Object.assign((event as CustomEvent).detail, known),
  );
  const settings = await registry.load(plugin);
  const read = () => {
    known = settings.composite;
    document.dispatchEvent(new CustomEvent(SETTINGS_CHANGED));
  };
  settings.changed.connect(read);
  read();
}
