// A line of code as a cell of a notebook.
import type { NotebookPanel } from "@jupyterlab/notebook";

/** A new cell with this text, below the cell that `from` lies in, else below the active one; it is scrolled to. */
export async function insertCell(
  { content: notebook }: NotebookPanel,
  text: string,
  from?: Node,
): Promise<void> {
  const around = from ? notebook.widgets.findIndex((cell) => cell.node.contains(from)) : -1;
  const below = (around >= 0 ? around : notebook.activeCellIndex) + 1;
  // Jupyter's own command would make a cell of the kind that is set for new ones, which may be Markdown.
  const cell = { cell_type: "code", source: text, metadata: { trusted: true } } as const;
  notebook.model?.sharedModel.insertCell(below, cell);
  notebook.activeCellIndex = below;
  notebook.deselectAll();
  await notebook.scrollToItem(below, "auto");
}
