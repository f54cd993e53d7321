// Files that Python opens and a document does not: a click makes a notebook beside the file, with
// the cell that opens it.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { PathExt } from "@jupyterlab/coreutils";
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { KernelSpec } from "@jupyterlab/services";

export interface NotebookFile {
  /** What the file is. */
  readonly what: string;
  /** Why a document does not open it. */
  readonly why: string;
  /** The cell that opens it; `name` is a literal. */
  readonly code: (name: string) => string;
}

const FILES: Readonly<Record<string, NotebookFile>> = {
  ".keras": {
    what: "a Keras model",
    why: "Keras loads it and makes its graph.",
    code: (name) =>
      `import keras\nimport tfgraphwidget as tgw\n\n` +
      `model = keras.models.load_model(${name})\neditor = tgw.edit(model)\neditor`,
  },
};

/** What a file is that is opened in a notebook; undefined for others. */
export const notebookFile = (path: string): NotebookFile | undefined =>
  FILES[PathExt.extname(path)];

/** The cell that opens the file in a notebook beside it. */
export function openingCode(path: string): string {
  return notebookFile(path)?.code(JSON.stringify(PathExt.basename(path))) ?? "";
}

/** Make a notebook beside the file, open it, and run the cell that opens the file. */
export async function openInNotebook(
  { commands, serviceManager }: JupyterFrontEnd,
  path: string,
): Promise<void> {
  const { contents, kernelspecs } = serviceManager;
  await kernelspecs.ready;
  const python = pythonSpec(kernelspecs.specs);
  const { path: made } = await contents.newUntitled({
    path: PathExt.dirname(path),
    type: "notebook",
  });
  const cell = {
    cell_type: "code",
    source: openingCode(path),
    metadata: {},
    outputs: [],
    execution_count: null,
  };
  const { name, display_name, language } = python ?? {};
  const metadata = python ? { kernelspec: { name, display_name, language } } : {};
  const content = { cells: [cell], metadata, nbformat: 4, nbformat_minor: 4 };
  await contents.save(made, { type: "notebook", format: "json", content });
  const panel: NotebookPanel | undefined = await commands.execute("docmanager:open", {
    path: made,
  });
  if (!panel) return; // Notebook 7 opens it in another tab of the browser
  await panel.context.ready;
  await panel.sessionContext.ready;
  await commands.execute("notebook:run-all-cells");
}

/** The default kernel if it is of Python, else the first that is. */
function pythonSpec(specs: KernelSpec.ISpecModels | null): KernelSpec.ISpecModel | undefined {
  const all = Object.values(specs?.kernelspecs ?? {}).filter((spec) => spec?.language === "python");
  return all.find((spec) => spec?.name === specs?.default) ?? all[0];
}
