// What is only needed once a person asks for something of ours lies in a second file; container.js gives the way to it.
import { Dialog, showDialog } from "@jupyterlab/apputils";
import { PageConfig } from "@jupyterlab/coreutils";
import type { later as parts } from "./later";

declare const tgwLater: () => Promise<{ later: typeof parts }>;

export type Later = typeof parts;

/**
 * The second file's parts, fetched at the first call. When they cannot be had the person is told, and it rejects with
 * the same sentence; it may be tried again.
 */
export async function fetchLater(): Promise<Later> {
  try {
    return (await tgwLater()).later;
  } catch {
    const [why, ...buttons] = await whyNot();
    void tell(why, buttons);
    throw new Error(why);
  }
}

/** What cannot be done then is not done: the person knows. */
export async function ifFetched<T>(use: (later: Later) => T | Promise<T>): Promise<T | undefined> {
  const later = await fetchLater().catch(() => undefined);
  return later && use(later);
}

/** Its name changes with its content, so a server that is there has another one. */
async function whyNot(): Promise<[string, ...Dialog.IButton[]]> {
  try {
    await fetch(`${PageConfig.getBaseUrl()}api`);
  } catch {
    return ["The server does not answer; try again when it is there.", Dialog.okButton()];
  }
  const reload = Dialog.okButton({ label: "Reload the page", actions: ["reload"] });
  const why = "tfgraphwidget was updated after this page was opened; reload the page.";
  return [why, Dialog.cancelButton({ label: "Later" }), reload];
}

async function tell(body: string, buttons: Dialog.IButton[]): Promise<void> {
  const { button } = await showDialog({ title: "The Graph Editor is not loaded", body, buttons });
  if (button.actions.includes("reload")) location.reload();
}
