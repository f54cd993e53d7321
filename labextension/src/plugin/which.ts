// The launcher's card belongs to no notebook: of those that are open here, or whose kernels run, which one is meant?
import { InputDialog } from "@jupyterlab/apputils";
import type { Around } from "./panels";

const NEW = "A new notebook";

/** A notebook's path, "" for one that is to be made, null when the person has left the question. */
export async function askWhich({ app, notebooks }: Around): Promise<string | null> {
  const opened: string[] = [];
  notebooks.forEach(({ context: { path } }) => void opened.push(path));
  const { sessions } = app.serviceManager;
  await sessions.refreshRunning().catch(() => {}); // then those that were known
  const running = [...sessions.running()].filter(({ type }) => type === "notebook").map(({ path }) => path);
  const [first, ...more] = [...new Set([...opened, ...running.sort()])];
  if (first === undefined) return "";
  // There is nothing to choose when the only one is on the page.
  if (!more.length && opened.length) return first;
  const { value, button } = await InputDialog.getItem({
    title: "Whose graphs?",
    label: "Graphs live in the kernel of a notebook:",
    items: [first, ...more, NEW],
    okLabel: "Open",
  });
  if (!button.accept || value === null) return null;
  return value === NEW ? "" : value;
}
