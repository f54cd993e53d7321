// A line of code as a cell of a notebook.
import { NotebookActions, type NotebookPanel } from "@jupyterlab/notebook";

/** A new cell with this text, below the cell that `from` lies in, else below the active one; it is scrolled to. */
export async function insertCell(
  { content: notebook }: NotebookPanel,
  text: string,
  from?: Node,
): Promise<void> {
  const around = from ? notebook.widgets.findIndex((cell) => cell.node.contains(from)) : -1;
  if (around >= 0) notebook.activeCellIndex = around;
  NotebookActions.insertBelow(notebook);
  notebook.activeCell?.model.sharedModel.setSource(text);
  notebook.deselectAll();
  await notebook.scrollToItem(notebook.activeCellIndex, "auto");
}
