// Inserts a cell below that of the widget. A widget has no access to the application around it, so
// this simulates the user: the key for a new cell, then the text in its editor. It works in
// JupyterLab and Notebook 7.
import { insertCellByHost } from "../../interaction/host-application";

/** The part of CodeMirror that takes text; it is found on the element that it draws. */
interface EditorView {
  readonly state: { readonly doc: { readonly length: number } };
  dispatch(change: { changes: { from: number; insert: string } }): void;
}
type Content = HTMLElement & {
  cmView?: { view?: EditorView };
  cmTile?: { view?: EditorView; root?: { view?: EditorView } };
};

const KEY_B = 66;
/** Milliseconds in which a new cell comes. */
const PATIENCE = 2000;
const BETWEEN = 50;

/** Whether there is a notebook around an element that took the text as a new cell. */
export async function insertCell(from: Element, text: string): Promise<boolean> {
  // In JupyterLab our extension does it, also from a panel, which is in no cell.
  if (insertCellByHost(from, text)) return true;
  const cell = from.closest<HTMLElement>(".jp-Cell");
  const notebook = cell?.closest<HTMLElement>(".jp-Notebook");
  if (!cell || !notebook) return false;
  const before = new Set(notebook.querySelectorAll(".jp-Cell"));
  // The notebook makes the cell that has the focus the active one, and leaves editing for commands.
  cell.focus({ preventScroll: true });
  pressKey(document.activeElement ?? cell);
  // Only some cells of a long notebook are in the page, and scrolling adds others: the new one is
  // the active one.
  const isMade = (one: Element) => !before.has(one) && one.classList.contains("jp-mod-active");
  const added = await waitFor(() => [...notebook.querySelectorAll(".jp-Cell")].find(isMade));
  const content =
    added && (await waitFor(() => added.querySelector<Content>(".cm-content") ?? undefined));
  return content ? writeCell(content, text) : false;
}

function pressKey(target: Element): void {
  const init = {
    key: "b",
    code: "KeyB",
    keyCode: KEY_B,
    bubbles: true,
    cancelable: true,
    composed: true,
  };
  target.dispatchEvent(new KeyboardEvent("keydown", init as KeyboardEventInit));
}

function writeCell(content: Content, text: string): boolean {
  const view = content.cmView?.view ?? content.cmTile?.view ?? content.cmTile?.root?.view;
  if (view) {
    if (view.state.doc.length > 0) return false; // someone else's
    view.dispatch({ changes: { from: 0, insert: text } });
    return true;
  }
  content.focus();
  return document.execCommand("insertText", false, text);
}

async function waitFor<T>(find: () => T | undefined): Promise<T | undefined> {
  const end = performance.now() + PATIENCE;
  for (;;) {
    const found = find();
    if (found !== undefined || performance.now() > end) return found;
    await new Promise((resolve) => setTimeout(resolve, BETWEEN));
  }
}
