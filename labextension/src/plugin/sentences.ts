// What a panel says when it shows no graph: what is the matter, and how to get it back.
import { aboutOf, type Choice, titleOf } from "./graph-bar";
import { Refusal } from "./kernel";
import type { Row, Said, Way } from "./pane";

export const closed = (path: string, open: () => void): Said => ({
  title: "The notebook is closed",
  text: `This panel shows graphs of the kernel of ${path}. When the notebook is open again, they are here again.`,
  ways: [{ label: "Open the notebook", run: open }],
});

/** Milliseconds; JupyterLab writes down what a page is to look like again 750 ms after the last change of it. */
const SAVED_BY_THEN = 1500;

export const reload: Way = {
  label: "Reload the page",
  run: () => void window.setTimeout(() => location.reload(), SAVED_BY_THEN),
};

export const noKernel = (ways: readonly Way[]): Said => ({
  title: "There is no kernel",
  text: "Graphs live in the notebook's kernel. Start one, and run the cells that make a graph.",
  ways,
});

export const dead = (ways: readonly Way[]): Said => ({
  title: "The kernel has died",
  text: "Its graphs and variables are gone. After a restart, run the cells that make them.",
  ways,
});

export const restarting = (ways: readonly Way[]): Said => ({
  title: "The kernel restarts …",
  text: "Its graphs and variables are gone.",
  ways,
});

export const ended = (ways: readonly Way[]): Said => ({
  title: "The connection has ended",
  text: "The kernel has closed it, or the notebook that it went through is closed. The kernel still has everything.",
  ways,
});

export function failed(error: unknown, again: Way, choose: Way): Said {
  const text = error instanceof Error ? error.message : String(error);
  if (!(error instanceof Refusal)) return { title: "This cannot be shown", text, ways: [again] };
  const ways = error.kind === "Elsewhere" ? [reload, choose] : [again];
  return { title: "This cannot be opened", text, ways };
}

export const busy = (interrupt: () => void): Said => ({
  title: "The kernel is busy",
  text: "It answers when it has finished what it is running; then the graph is here.",
  ways: [{ label: "Interrupt the kernel", run: interrupt }],
});

export const waiting = (ways: readonly Way[]): Said => ({
  title: "Waiting for the kernel …",
  text: "It is starting, or connecting.",
  ways,
});

/** What there is to choose; `wanted` is what was open, with that many edits, and is not there now. */
export function toChoose(
  choices: readonly Choice[],
  wanted: string | null,
  open: (name: string) => void,
  ways: readonly Way[],
  edits = 0,
): Said {
  const rows: Row[] = choices.map((choice) => ({
    label: titleOf(choice),
    about: aboutOf(choice),
    run: () => open(choice.name),
  }));
  if (wanted !== null) {
    const text = `Run the cells that make it, and it is opened here${rows.length ? "; or choose another" : ""}.${goneWith(edits)}`;
    return { title: `${titleOf({ name: wanted })} is not in the kernel`, text, ways, rows };
  }
  if (rows.length) return { title: "Which graph?", text: "", ways: [], rows };
  const text =
    "Run a cell that makes a tf.Graph, calls a tf.function, or builds a Keras model; it is opened here.";
  return { title: "There is no graph yet", text, ways };
}

function goneWith(edits: number): string {
  if (!edits) return "";
  const them = edits === 1 ? "The edit made in it is" : `The ${edits} edits made in it are`;
  return ` ${them} gone too; cells inserted from this panel, or with what editor.code() gave, do them again.`;
}
