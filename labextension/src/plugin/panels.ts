// "Open Graph Editor": the commands, where they are found, and which panels there are. What a panel does is in
// graph-panel.ts, which is fetched with the first of them.
import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from "@jupyterlab/application";
import {
  type ICommandPalette,
  type ISessionContextDialogs,
  MainAreaWidget,
  WidgetTracker,
} from "@jupyterlab/apputils";
import type { ILauncher } from "@jupyterlab/launcher";
import type { INotebookTracker, NotebookPanel } from "@jupyterlab/notebook";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import type { Widget } from "@lumino/widgets";
import type { GraphPanel } from "./graph-panel";
import { graphIcon } from "./icon";
import { ifFetched } from "./lazily";

export const OPEN = "tfgraphwidget:open";

/** What there is around a panel; Notebook 7 has some of it only. */
export interface Around {
  readonly app: JupyterFrontEnd;
  readonly notebooks: INotebookTracker;
  readonly labShell: ILabShell | null;
  readonly restorer: ILayoutRestorer | null;
  readonly palette: ICommandPalette | null;
  readonly launcher: ILauncher | null;
  readonly dialogs: ISessionContextDialogs | null;
}

type PanelTab = MainAreaWidget<GraphPanel>;
interface Asked extends ReadonlyPartialJSONObject {
  /** The notebook's, when a page that was reloaded brings a panel back. */
  path?: string;
  /** What it had open, by the name of a variable. */
  choice?: string;
  isLauncher?: boolean;
  /** The folder that the launcher is for. */
  cwd?: string;
}

export function addPanels(around: Around): void {
  const { app, notebooks, restorer, palette, launcher } = around;
  const tracker = new WidgetTracker<PanelTab>({ namespace: "tfgraphwidget-panels" });
  app.commands.addCommand(OPEN, {
    label: (args) => (args["isLauncher"] ? "Graph Editor" : "Open Graph Editor"),
    caption: "Show the TensorFlow graphs of a notebook's kernel beside it",
    icon: graphIcon,
    isEnabled: (args) => Boolean(args["isLauncher"] || args["path"] || notebooks.currentWidget),
    execute: (args) => open(around, tracker, args as Asked),
  });
  palette?.addItem({ command: OPEN, category: "Notebook Operations" });
  launcher?.add({ command: OPEN, args: { isLauncher: true }, category: "Other", rank: 90 });
  notebooks.currentChanged.connect(() => app.commands.notifyCommandChanged(OPEN));
  if (restorer) {
    void restorer.restore(tracker, {
      command: OPEN,
      args: ({ content: { path, choice } }) => ({ path, ...(choice === null ? {} : { choice }) }),
      name: ({ content }) => content.path,
    });
  }
}

async function open(
  around: Around,
  tracker: WidgetTracker<PanelTab>,
  asked: Asked,
): Promise<Widget | undefined> {
  const current = around.notebooks.currentWidget;
  if (asked.isLauncher) return launch(around, tracker, asked.cwd);
  if (asked.path !== undefined) await show(around, tracker, asked.path, null, asked.choice ?? null);
  else if (current) await show(around, tracker, current.context.path, current, null);
  return undefined;
}

/** Gives the notebook when it had to be opened, for the launcher to make room for. */
async function launch(
  around: Around,
  tracker: WidgetTracker<PanelTab>,
  cwd = "",
): Promise<Widget | undefined> {
  const { app, notebooks } = around;
  const path = await ifFetched(({ askWhich }) => askWhich(around));
  if (path === null || path === undefined) return undefined;
  const known = notebooks.find(({ context }) => context.path === path);
  if (known) {
    app.shell.activateById(known.id); // the launcher may lie over it
    await show(around, tracker, path, known, null);
    return undefined;
  }
  const [command, args] = path
    ? (["docmanager:open", { path }] as const)
    : (["notebook:create-new", { cwd }] as const);
  const made: NotebookPanel | undefined = await app.commands.execute(command, args);
  // Its place in the layout is the launcher's, which takes it when this returns.
  if (made) setTimeout(() => void show(around, tracker, made.context.path, made, null));
  return made;
}

/** One panel for each notebook: the one that is there, or a new one beside it. */
async function show(
  around: Around,
  tracker: WidgetTracker<PanelTab>,
  path: string,
  notebook: NotebookPanel | null,
  choice: string | null,
): Promise<void> {
  await ifFetched(({ GraphPanel }) => {
    const known = tracker.find(({ content }) => content.path === path);
    const tab = known ?? made(new GraphPanel(around, path, choice), tracker);
    if (!tab.isAttached) place(around, tab, notebook);
    if (notebook) around.app.shell.activateById(tab.id);
  });
}

function made(content: GraphPanel, tracker: WidgetTracker<PanelTab>): PanelTab {
  const tab = new MainAreaWidget({ content, toolbar: content.bar });
  tab.title.icon = graphIcon;
  content.remembered.connect(() => void tracker.save(tab));
  void tracker.add(tab);
  return tab;
}

function place({ app, labShell }: Around, tab: PanelTab, notebook: NotebookPanel | null): void {
  if (labShell) labShell.add(tab, "main", notebook ? { mode: "split-right", ref: notebook.id } : {});
  else app.shell.add(tab, "right", { rank: 900 });
}
