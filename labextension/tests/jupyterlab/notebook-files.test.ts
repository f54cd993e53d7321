import type { JupyterFrontEnd } from "@jupyterlab/application";
import { expect, test, vi } from "vitest";
import { notebookFile, openInNotebook, openingCode } from "../../src/jupyterlab/notebook-files";

test("a Keras model is opened in a notebook; graphs in files and their edits are not", () => {
  expect(notebookFile("models/small.keras")?.what).toBe("a Keras model");
  for (const name of ["graph.pb", "graph.pbtxt", "train.meta", "small.tgw", "weights.h5", "keras"])
    expect(notebookFile(name)).toBeUndefined();
});

test("the cell names the file as a literal of Python, from the notebook beside it", () => {
  expect(openingCode('models/a "b"\\c.keras')).toContain('load_model("a \\"b\\"\\\\c.keras")');
});

test("the notebook is made beside the file, with a Python kernel, and its cell run", async () => {
  const saved: Record<string, unknown>[] = [];
  const run: string[] = [];
  const ready = Promise.resolve();
  const app = {
    serviceManager: {
      contents: {
        newUntitled: vi.fn(async ({ path }) => ({ path: `${path}/Untitled.ipynb` })),
        save: async (path: string, { content }: { content: object }) =>
          saved.push({ path, ...content }),
      },
      kernelspecs: {
        ready,
        specs: {
          default: "ir",
          kernelspecs: {
            ir: { name: "ir", language: "R", display_name: "R" },
            python3: { name: "python3", language: "python", display_name: "Python 3" },
          },
        },
      },
    },
    commands: {
      execute: async (id: string, args?: { path: string }) => {
        run.push(args ? `${id} ${args.path}` : id);
        return { context: { ready }, sessionContext: { ready } };
      },
    },
  };
  await openInNotebook(app as unknown as JupyterFrontEnd, "models/small.keras");
  expect(saved).toMatchObject([
    { path: "models/Untitled.ipynb", metadata: { kernelspec: { name: "python3" } } },
  ]);
  expect(run).toEqual(["docmanager:open models/Untitled.ipynb", "notebook:run-all-cells"]);
});
