// Inserts code as a cell of a notebook.
import type { NotebookPanel } from "@jupyterlab/notebook";
import type { JSONObject } from "@lumino/coreutils";

/** As tfgraphwidget/jupyterlab/namespace.py describes a panel. */
export interface PanelEdit {
  readonly variable: string;
  /** The newest edit's, in Python. */
  readonly line: string;
  /** Code that opens the graph again after a kernel restart; "" if unknown. */
  readonly opening: string;
  /** How many edits there are. */
  readonly count: number;
}

export function parsePanelEdit(reply: JSONObject): PanelEdit {
  const [variable = "", line = "", opening = ""] = ["variable", "line", "opening"].map((key) =>
    String(reply[key] ?? ""),
  );
  return { variable, line, opening, count: Number(reply["count"] ?? 0) };
}

/**
 * The text of a cell for an edit's line, which is done in the panel and would be refused when the
 * cell is run.
 */
export function cellText({ line, opening }: PanelEdit): string {
  return opening
    ? `# Done already in the panel. After a restart, first: ${opening}\n${line}`
    : line;
}

/**
 * A new cell with this text, below the cell that `from` lies in, else below the active one; it is
 * scrolled to.
 */
export async function insertCell(
  { content: notebook }: NotebookPanel,
  text: string,
  from?: Node,
): Promise<void> {
  const around = from ? notebook.widgets.findIndex((cell) => cell.node.contains(from)) : -1;
  const below = (around >= 0 ? around : notebook.activeCellIndex) + 1;
  // Jupyter's own command would make a cell of the kind that is set for new ones, which may be
  // Markdown.
  const cell = { cell_type: "code", source: text, metadata: { trusted: true } } as const;
  notebook.model?.sharedModel.insertCell(below, cell);
  notebook.activeCellIndex = below;
  notebook.deselectAll();
  await notebook.scrollToItem(below, "auto");
}
