// What a view asks of the application around it. A widget has no access to that: it sends events,
// which our extension of JupyterLab and Notebook 7 answers (jupyterlab/host-requests.ts,
// jupyterlab/host-files.ts), and which have no answer elsewhere.

const HOST = "tfgraphwidget:host";
/**
 * Another event, since an extension that is older than the widget takes each of the first kind for
 * one that it knows.
 */
const FILES = "tfgraphwidget:files";

/**
 * A file as the application has it: its path begins at the root of the server, which the
 * application may not know.
 */
export interface ServerPath {
  readonly path: string;
  readonly root: string;
}

/** What is to be chosen in the application's dialog. */
export interface FileChoice {
  readonly title: string;
  readonly kind: "file" | "folder";
  /** Only files with this ending are shown; "" for all, and for folders that are models. */
  readonly suffix?: string;
}

/** Whether the application has taken an event. */
function send(from: EventTarget, type: string, detail: object): boolean {
  return !from.dispatchEvent(new CustomEvent(type, { bubbles: true, cancelable: true, detail }));
}

/**
 * Open a file of the kernel's folder through the application, or (`ask`) only check whether that is
 * possible.
 */
export function openFile(from: EventTarget, path: string, ask: boolean): boolean {
  return send(from, HOST, { path, ask });
}

/** Have the application insert a cell; whether it does. */
export function insertCellByHost(from: EventTarget, text: string): boolean {
  return send(from, HOST, { text });
}

/** Whether the application has a dialog in which files are chosen. */
export function hasFileDialog(from: EventTarget): boolean {
  return send(from, FILES, { ask: true });
}

/**
 * Have the user choose a file or a folder in the application's dialog; null if the user cancels.
 */
export function chooseFile(from: EventTarget, choice: FileChoice): Promise<ServerPath | null> {
  return new Promise((done) => {
    if (!send(from, FILES, { ...choice, done })) done(null);
  });
}

/**
 * Where a file lies that was dragged from the application's list of files; without an answer the
 * kernel looks for it.
 */
export function locateDragged(from: EventTarget, path: string): Promise<ServerPath> {
  const unknown = { path, root: "" };
  return new Promise((resolve) => {
    const done = (location: ServerPath | null) => resolve(location ?? unknown);
    if (!send(from, FILES, { path, done })) done(null);
  });
}
