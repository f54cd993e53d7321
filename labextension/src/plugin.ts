// What JupyterLab and Notebook 7 load with each page: names of commands and files, and nothing that draws.
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
import { listenToEditors } from "./plugin/events";
import { files } from "./plugin/files";
import { Owners } from "./plugin/owners";
import { addPanels } from "./plugin/panels";
import { answerSettings } from "./plugin/preferences";
import { renewShown } from "./plugin/renewing";
import { guardSavedWidgets } from "./plugin/untrusted";

const ID = "tfgraphwidget:plugin";

const plugin: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: "Opens TensorFlow graphs of a notebook's kernel beside the notebook.",
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
    renewShown(notebooks);
    addPanels({ app, notebooks, labShell, restorer, palette, launcher, dialogs });
    listenToEditors(new Owners(app, notebooks));
    if (registry) answerSettings(registry, ID).catch(() => {}); // without them everything is as it was designed
  },
};

export default [plugin, files];
