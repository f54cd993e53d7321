// The command "Open Graph Editor", its places in menus and launcher, and the tracker of open
// panels. graph-panel.ts has the behavior and is loaded with the first panel.
import { MainAreaWidget, WidgetTracker } from "@jupyterlab/apputils";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { ReadonlyPartialJSONObject } from "@lumino/coreutils";
import type { Widget } from "@lumino/widgets";
import type { PanelContext } from "./context";
import type { GraphPanel } from "./graph-panel";
import { graphIcon } from "./icon";
import { withLazyBundle } from "./lazy-loader";

const OPEN = "tfgraphwidget:open";

type PanelTab = MainAreaWidget<GraphPanel>;
interface OpenArguments extends ReadonlyPartialJSONObject {
  /** The notebook's, when a page that was reloaded brings a panel back. */
  path?: string;
  /** The variable whose graph it showed. */
  choice?: string;
  isLauncher?: boolean;
  /** The folder that the launcher is for. */
  cwd?: string;
}

export function addPanels(services: PanelContext): void {
  const { app, notebooks, restorer, palette, launcher } = services;
  const tracker = new WidgetTracker<PanelTab>({ namespace: "tfgraphwidget-panels" });
  app.commands.addCommand(OPEN, {
    label: (args) => (args["isLauncher"] ? "Graph Editor" : "Open Graph Editor"),
    caption: "Show the graphs of this notebook",
    icon: graphIcon,
    isEnabled: (args) => Boolean(args["isLauncher"] || args["path"] || notebooks.currentWidget),
    execute: (args) => open(services, tracker, args as OpenArguments),
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
  services: PanelContext,
  tracker: WidgetTracker<PanelTab>,
  asked: OpenArguments,
): Promise<Widget | undefined> {
  const current = services.notebooks.currentWidget;
  if (asked.isLauncher) return launch(services, tracker, asked.cwd);
  if (asked.path !== undefined)
    await show(services, tracker, asked.path, null, asked.choice ?? null);
  else if (current) await show(services, tracker, current.context.path, current, null);
  return undefined;
}

/** Returns the notebook if it had to be opened: the launcher puts it in its own place. */
async function launch(
  services: PanelContext,
  tracker: WidgetTracker<PanelTab>,
  cwd = "",
): Promise<Widget | undefined> {
  const { app, notebooks } = services;
  const path = await withLazyBundle(({ pickNotebook }) => pickNotebook(services));
  if (path === null || path === undefined) return undefined;
  const known = notebooks.find(({ context }) => context.path === path);
  if (known) {
    app.shell.activateById(known.id); // the launcher may lie over it
    await show(services, tracker, path, known, null);
    return undefined;
  }
  const [command, args] = path
    ? (["docmanager:open", { path }] as const)
    : (["notebook:create-new", { cwd }] as const);
  const notebook: NotebookPanel | undefined = await app.commands.execute(command, args);
  // Its place in the layout is the launcher's, which takes it when this returns.
  if (notebook)
    setTimeout(() => void show(services, tracker, notebook.context.path, notebook, null));
  return notebook;
}

/** One panel for each notebook: the one that is there, or a new one beside it. */
async function show(
  services: PanelContext,
  tracker: WidgetTracker<PanelTab>,
  path: string,
  notebook: NotebookPanel | null,
  choice: string | null,
): Promise<void> {
  await withLazyBundle(({ GraphPanel }) => {
    const known = tracker.find(({ content }) => content.path === path);
    const tab = known ?? createTab(new GraphPanel(services, path, choice), tracker);
    if (!tab.isAttached) addToShell(services, tab, notebook);
    if (notebook) services.app.shell.activateById(tab.id);
  });
}

function createTab(content: GraphPanel, tracker: WidgetTracker<PanelTab>): PanelTab {
  const tab = new MainAreaWidget({ content, toolbar: content.bar });
  tab.title.icon = graphIcon;
  content.layoutChanged.connect(() => void tracker.save(tab));
  void tracker.add(tab);
  return tab;
}

function addToShell(
  { app, labShell }: PanelContext,
  tab: PanelTab,
  notebook: NotebookPanel | null,
): void {
  if (labShell)
    labShell.add(tab, "main", notebook ? { mode: "split-right", ref: notebook.id } : {});
  else app.shell.add(tab, "right", { rank: 900 });
}
