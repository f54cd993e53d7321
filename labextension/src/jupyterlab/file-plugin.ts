// Registers the file types .pb, .pbtxt, .meta, .tflite, .onnx and .tgw in JupyterLab and Notebook 7, and .keras,
// whose document leads to a notebook: JupyterLab by itself opens them as text, and fails. It
// contains only what every page loads; file-document.ts has the behavior and is loaded with the
// first document.
import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import { type ISessionContext, ISessionContextDialogs, WidgetTracker } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import {
  ABCWidgetFactory,
  Base64ModelFactory,
  type DocumentRegistry,
  DocumentWidget,
} from "@jupyterlab/docregistry";
import { IMainMenu } from "@jupyterlab/mainmenu";
import { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import { IStateDB } from "@jupyterlab/statedb";
import { StackedPanel } from "@lumino/widgets";
import type { DocumentContext, FileWidget } from "./context";
import type { GraphDocument } from "./file-document";
import { graphIcon } from "./icon";
import { loadLazyBundle } from "./lazy-loader";

/** What "Open With" calls it. */
const NAME = "TensorFlow Graph Editor";
const TYPE = "tensorflow-graph";

/**
 * Suffixes of the files that the server's package opens; the built-in formats' if the server does
 * not list them.
 */
const SUFFIXES = ".pb .pbtxt .meta .tflite .onnx .keras .tgw";

/** The bytes of a file never come to the page: the kernel reads them. */
class GraphModelFactory extends Base64ModelFactory {
  override get name(): string {
    return TYPE;
  }
  override get fileFormat(): null {
    return null;
  }
  override preferredLanguage(): string {
    return "python";
  }
}

class GraphFactory extends ABCWidgetFactory<FileWidget> {
  readonly #documents = new WeakMap<DocumentRegistry.Context, Promise<GraphDocument>>();
  readonly #services: DocumentContext;

  constructor(
    services: DocumentContext,
    options: DocumentRegistry.IWidgetFactoryOptions<FileWidget>,
  ) {
    super(options);
    this.#services = services;
  }

  protected createNewWidget(context: DocumentRegistry.Context): FileWidget {
    const widget = new DocumentWidget({ content: new StackedPanel(), context });
    widget.title.icon = graphIcon;
    const opened = this.#documents.get(context) ?? this.#open(context);
    opened
      .then((made) => made.add(widget))
      .catch((error: Error) => {
        this.#documents.delete(context);
        widget.content.node.textContent = error.message;
      });
    return widget;
  }

  /** From here on saving is ours: what Jupyter would write is an empty file. */
  #open(context: DocumentRegistry.Context): Promise<GraphDocument> {
    const opened = loadLazyBundle().then(
      (later) => new later.GraphDocument(context, this.#services),
    );
    this.#documents.set(context, opened);
    const save = () => opened.then((made) => made.saveIfActive());
    const saveAs = () => {
      // Jupyter would take any file that is written before this is over for this one's new name,
      // and close the tab.
      void opened.then((made) => made.save()).catch(() => {});
      return Promise.resolve();
    };
    const reopen = () => opened.then((made) => made.reopen());
    const nothing = () => Promise.resolve();
    // No kernel before the document has seen to it where kernels start.
    const { sessionContext: session } = context;
    const initialize = session.initialize.bind(session);
    session.initialize = () =>
      opened.then(
        () => initialize(),
        () => false,
      );
    Object.assign(context, {
      save,
      saveAs,
      revert: reopen,
      restoreCheckpoint: reopen,
      createCheckpoint: nothing,
      listCheckpoints: () => Promise.resolve([]),
    });
    // Neither does it save by itself, nor keep a copy of a file that may be large.
    Object.defineProperty(context, "canSave", { value: false });
    return opened;
  }
}

export const files: JupyterFrontEndPlugin<void> = {
  id: "tfgraphwidget:files",
  description: "Opens graph files.",
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [ILayoutRestorer, IStateDB, ISessionContextDialogs, IMainMenu],
  activate: (
    app: JupyterFrontEnd,
    rendermime: IRenderMimeRegistry,
    restorer: ILayoutRestorer | null,
    state: IStateDB | null,
    dialogs: ISessionContextDialogs | null,
    menu: IMainMenu | null,
  ) => {
    const { docRegistry } = app;
    docRegistry.addFileType({
      name: TYPE,
      displayName: "TensorFlow graph",
      extensions: (PageConfig.getOption("tfgraphwidgetSuffixes") || SUFFIXES).split(" "),
      mimeTypes: ["application/x-tensorflow-graph"],
      contentType: "file",
      fileFormat: "base64",
      icon: graphIcon,
    });
    docRegistry.addModelFactory(new GraphModelFactory());
    const factory = new GraphFactory(
      { app, rendermime, state, dialogs },
      {
        name: NAME,
        modelName: TYPE,
        fileTypes: [TYPE],
        defaultFor: [TYPE],
        preferKernel: true,
        canStartKernel: true,
        shutdownOnClose: true,
        autoStartDefault: true,
      },
    );
    docRegistry.addWidgetFactory(factory as DocumentRegistry.WidgetFactory);
    const tracker = new WidgetTracker<FileWidget>({ namespace: "tfgraphwidget-files" });
    factory.widgetCreated.connect((_, widget) => {
      widget.context.pathChanged.connect(() => void tracker.save(widget));
      void tracker.add(widget);
    });
    if (restorer) {
      void restorer.restore(tracker, {
        command: "docmanager:open",
        args: ({ context }) => ({ path: context.path, factory: NAME }),
        name: ({ context }) => context.path,
      });
    }
    if (menu) addToKernelMenu(app, tracker, dialogs, menu);
  },
};

/**
 * Interrupt, Restart and Change Kernel in the Kernel menu mean the document's kernel when it is in
 * front.
 */
function addToKernelMenu(
  { commands, shell }: JupyterFrontEnd,
  tracker: WidgetTracker<FileWidget>,
  dialogs: ISessionContextDialogs | null,
  { kernelMenu: { kernelUsers } }: IMainMenu,
): void {
  type Run = (session: ISessionContext) => unknown;
  const isEnabled = () => {
    const front = tracker.currentWidget;
    return (
      front === shell.currentWidget &&
      front?.context.sessionContext.kernelPreference.canStart === true
    );
  };
  const add = (users: typeof kernelUsers.restartKernel, id: string, label: string, run: Run) => {
    const command = `tfgraphwidget:file-${id}`;
    const execute = async () => {
      if (tracker.currentWidget) await run(tracker.currentWidget.context.sessionContext);
    };
    commands.addCommand(command, { label, isEnabled, execute });
    users.add({ id: command, isEnabled });
  };
  add(kernelUsers.interruptKernel, "interrupt", "Interrupt Kernel", (s) =>
    s.session?.kernel?.interrupt(),
  );
  add(
    kernelUsers.restartKernel,
    "restart",
    "Restart Kernel…",
    (s) => dialogs?.restart(s) ?? s.restartKernel(),
  );
  add(kernelUsers.changeKernel, "change", "Change Kernel…", (s) => dialogs?.selectKernel(s));
}
