// Loads the second bundle, lazy-bundle.ts, through the function that container.js passes in.

import { Dialog, showDialog } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import type * as module from "./lazy-bundle";

/** Given by container.js: imports the second bundle. */
declare const importLazyBundle: () => Promise<typeof module>;

export type LazyBundle = typeof module.lazyBundle;

/**
 * Load the second bundle, on the first call. If that fails, show a dialog and reject with the same
 * sentence; a later call tries again.
 */
export async function loadLazyBundle(): Promise<LazyBundle> {
  try {
    return (await importLazyBundle()).lazyBundle;
  } catch {
    const [why, ...buttons] = await loadErrorText();
    void showLoadError(why, buttons);
    throw new Error(why);
  }
}

/** Call `use` with the second bundle; returns undefined after the dialog if it cannot be loaded. */
export async function withLazyBundle<T>(
  use: (bundle: LazyBundle) => T | Promise<T>,
): Promise<T | undefined> {
  const bundle = await loadLazyBundle().catch(() => undefined);
  return bundle && use(bundle);
}

/** The file name changes with the content: if the server responds, it has another file. */
async function loadErrorText(): Promise<[string, ...Dialog.IButton[]]> {
  try {
    await fetch(`${PageConfig.getBaseUrl()}api`);
  } catch {
    return ["The server does not respond; try again when it is running.", Dialog.okButton()];
  }
  const reload = Dialog.okButton({ label: "Reload the page", actions: ["reload"] });
  const why = "tfgraphwidget was updated after this page was opened; reload the page.";
  return [why, Dialog.cancelButton({ label: "Later" }), reload];
}

async function showLoadError(body: string, buttons: Dialog.IButton[]): Promise<void> {
  const { button } = await showDialog({
    title: "The Graph Editor could not be loaded",
    body,
    buttons,
  });
  if (button.actions.includes("reload")) location.reload();
}
