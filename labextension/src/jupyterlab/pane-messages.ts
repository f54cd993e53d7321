// What a panel says when it shows no graph: what is the matter, and how to get it back.
import { RefusedError } from "./kernel-comm";
import type { ChoiceRow, PaneAction, PaneMessage } from "./pane";
import { choiceDescription, choiceTitle, type GraphChoice } from "./panel-toolbar";

export const notebookClosedMessage = (path: string, open: () => void): PaneMessage => ({
  title: "The notebook is closed",
  text: `This panel shows graphs of the kernel of ${path}. When the notebook is open again, they are here again.`,
  actions: [{ label: "Open the notebook", run: open }],
});

/** Milliseconds; JupyterLab saves the layout of the page 750 ms after its last change. */
const SAVED_BY_THEN = 1500;

export const reloadAction: PaneAction = {
  label: "Reload the page",
  run: () => void window.setTimeout(() => location.reload(), SAVED_BY_THEN),
};

export const noKernelMessage = (actions: readonly PaneAction[]): PaneMessage => ({
  title: "There is no kernel",
  text: "Graphs live in the notebook's kernel. Start one, and run the cells that make a graph.",
  actions,
});

export const kernelDiedMessage = (actions: readonly PaneAction[]): PaneMessage => ({
  title: "The kernel has died",
  text: "Its graphs and variables are gone. After a restart, run the cells that make them.",
  actions,
});

export const restartingMessage = (actions: readonly PaneAction[]): PaneMessage => ({
  title: "The kernel restarts …",
  text: "Its graphs and variables are gone.",
  actions,
});

export const disconnectedMessage = (actions: readonly PaneAction[]): PaneMessage => ({
  title: "The connection has ended",
  text: "The kernel has closed it, or the notebook that it went through is closed. The kernel still has everything.",
  actions,
});

export function errorMessage(error: unknown, again: PaneAction, choose: PaneAction): PaneMessage {
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof RefusedError))
    return { title: "This cannot be shown", text, actions: [again] };
  const actions = error.kind === "Elsewhere" ? [reloadAction, choose] : [again];
  return { title: "This cannot be opened", text, actions };
}

export const busyMessage = (interrupt: () => void): PaneMessage => ({
  title: "The kernel is busy",
  text: "It answers when it has finished what it is running; then the graph is here.",
  actions: [{ label: "Interrupt the kernel", run: interrupt }],
});

export const waitingMessage = (actions: readonly PaneAction[]): PaneMessage => ({
  title: "Waiting for the kernel …",
  text: "It is starting, or connecting.",
  actions,
});

/** The choice of graphs; `wanted` was open, with that many edits, and is not in the kernel now. */
export function choiceMessage(
  choices: readonly GraphChoice[],
  wanted: string | null,
  open: (name: string) => void,
  actions: readonly PaneAction[],
  edits = 0,
): PaneMessage {
  const rows: ChoiceRow[] = choices.map((choice) => ({
    label: choiceTitle(choice),
    about: choiceDescription(choice),
    run: () => open(choice.name),
  }));
  if (wanted !== null) {
    const text = `Run the cells that make it, and it is opened here${rows.length ? "; or choose another" : ""}.${lostEditsText(edits)}`;
    return { title: `${choiceTitle({ name: wanted })} is not in the kernel`, text, actions, rows };
  }
  if (rows.length) return { title: "Which graph?", text: "", actions: [], rows };
  const text =
    "Run a cell that makes a tf.Graph, calls a tf.function, or builds a Keras model; it is opened here.";
  return { title: "There is no graph yet", text, actions };
}

function lostEditsText(edits: number): string {
  if (!edits) return "";
  const them = edits === 1 ? "The edit made in it is" : `The ${edits} edits made in it are`;
  return ` ${them} gone too; cells inserted from this panel do them again.`;
}
