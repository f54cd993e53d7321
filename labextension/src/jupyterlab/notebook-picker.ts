// Asks which notebook the launcher's card refers to: an open one, one with a running kernel, or a
// new one.
import { InputDialog } from "@jupyterlab/apputils";
import type { PanelContext } from "./context";

const NEW = "A new notebook";

/** Returns a notebook's path, "" for a new one, null if the user cancels. */
export async function pickNotebook({ app, notebooks }: PanelContext): Promise<string | null> {
  const opened: string[] = [];
  notebooks.forEach(({ context: { path } }) => void opened.push(path));
  const { sessions } = app.serviceManager;
  await sessions.refreshRunning().catch(() => {}); // then those that were known
  const running = [...sessions.running()]
    .filter(({ type }) => type === "notebook")
    .map(({ path }) => path);
  const [first, ...more] = [...new Set([...opened, ...running.sort()])];
  if (first === undefined) return "";
  // There is nothing to choose when the only one is on the page.
  if (!more.length && opened.length) return first;
  const { value, button } = await InputDialog.getItem({
    title: "Choose a notebook",
    label: "The Graph Editor shows graphs of a notebook's kernel:",
    items: [first, ...more, NEW],
    okLabel: "Open",
  });
  if (!button.accept || value === null) return null;
  return value === NEW ? "" : value;
}
