// Prevents an untrusted notebook from running code: Jupyter's widgets restore saved widgets without
// checking trust, and anywidget runs a widget's code as soon as it exists, displayed or not.
import type { INotebookModel, INotebookTracker } from "@jupyterlab/notebook";

const KEY = "widgets";
const STATE = "application/vnd.jupyter.widget-state+json";
/** The one module whose widgets bring their code with them. */
const WITH_CODE = "anywidget";

/**
 * Whether the saved widgets contain code. A list with the module's name counts too: it converts to
 * the name.
 */
function hasCode(saved: unknown): boolean {
  const { state } = (saved as { [STATE]?: { state?: object } } | undefined)?.[STATE] ?? {};
  return Object.values(state ?? {}).some((one) => String(one?.model_module) === WITH_CODE);
}

/** Jupyter marks all code cells or none; without any there is nothing that could show a widget. */
function isTrusted({ cells }: INotebookModel): boolean {
  const codes = [...cells].filter(({ type }) => type === "code");
  return codes.length > 0 && codes.every(({ trusted }) => trusted);
}

/**
 * Withhold all saved widgets while the notebook is not trusted, since one may change
 * another's code. The notebook keeps them, whatever else is to be saved in their place, as
 * Jupyter's "Save Widget State Automatically" would: once it is trusted, they are there when it is
 * reopened.
 */
export function guardSavedWidgets(notebooks: INotebookTracker): void {
  const guarded = new WeakSet<INotebookModel>(); // a notebook may be shown in several tabs
  const guard = ({ model }: { model: INotebookModel }) => {
    if (guarded.has(model)) return;
    guarded.add(model);
    const getMetadata = model.getMetadata.bind(model);
    const set = model.setMetadata.bind(model);
    const isWithheld = (key: string) =>
      key === KEY && hasCode(getMetadata(KEY)) && !isTrusted(model);
    model.getMetadata = (key) => (isWithheld(key) ? undefined : getMetadata(key));
    model.setMetadata = (key, value) => {
      if (!isWithheld(key)) set(key, value);
    };
  };
  notebooks.forEach(({ context }) => void guard(context));
  notebooks.widgetAdded.connect((_, { context }) => guard(context));
}
