// What a view gets when the application cannot answer what it asks about files.
import type { JupyterFrontEnd } from "@jupyterlab/application";
import { expect, test, vi } from "vitest";
import { serveFiles } from "../../src/jupyterlab/host-files";

const shown = vi.hoisted((): string[] => []);
// JupyterLab's packages look at the page when they are imported, and here is none.
vi.mock("@jupyterlab/docmanager", () => ({ IDocumentManager: "the manager of documents" }));
vi.mock("@jupyterlab/notebook", () => ({ NotebookActions: {} }));
vi.mock("@jupyterlab/filebrowser", () => ({ FileDialog: {} }));
vi.mock("@jupyterlab/apputils", () => ({
  showErrorMessage: async (title: string, error: Error) =>
    void shown.push(`${title}: ${error.message}`),
}));

test("a dialog that does not open is reported, and the view does not wait for it", async () => {
  const app = { resolveRequiredService: async () => Promise.reject(new Error("no manager")) };
  const answers: unknown[] = [];
  const request = {
    title: "Choose a graph",
    kind: "file",
    done: (answer: unknown) => void answers.push(answer),
  } as const;
  await serveFiles(app as unknown as JupyterFrontEnd, request);
  expect(answers).toEqual([null]);
  expect(shown).toHaveLength(1);
  expect(shown[0]).toMatch(/^The dialog of files does not open: ./);
});

test("a place that cannot be told is answered, too", async () => {
  const app = {
    get serviceManager(): never {
      throw new Error("disposed");
    },
  };
  const answers: unknown[] = [];
  const request = {
    title: "",
    kind: "file",
    path: "a.pb",
    done: (answer: unknown) => void answers.push(answer),
  } as const;
  await serveFiles(app as unknown as JupyterFrontEnd, request);
  expect(answers).toEqual([null]);
});
