// The history: each edit as a sentence with the current position marked; a click goes there. Its
// Python that a switch shows.
import type { Parts } from "../../interaction/parts";
import type { State } from "../../protocol/messages";
import { at, type Scene } from "../../protocol/scene";
import { copyToClipboard, copyTools, showBriefly } from "../controls/copy-button";
import { offerButton } from "../controls/messages";
import {
  breakableName,
  element,
  hasFocus,
  ICONS,
  icon,
  releaseFocus,
  scrollToShow,
  taskButton,
} from "../dom";
import { insertCell } from "./insert-cell";

export function createHistory(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const steps = element("ol", { class: "tgw-steps", "aria-label": "Edits" });
  const [status, copy] = copyTools(steps, "Copy the lines of Python");
  const empty = element(
    "p",
    { class: "tgw-hint" },
    "Each edit is listed here. Click one to go back to it; point at one to see what it changed.",
  );
  const python = element("input", { type: "checkbox", role: "switch", name: "python" });
  const code = element("label", { class: "tgw-tick" }, python, element("span", {}, "Python"));
  const tools = element("div", { class: "tgw-history-tools" }, code, status, copy);
  const scripts = scriptButtons(parts);
  const setPython = () => {
    steps.toggleAttribute("data-python", python.checked);
    scripts.hidden = copy.hidden = !python.checked;
  };
  python.addEventListener("change", setPython);
  setPython();
  markEdited(steps, (step) => void actions.edits.showEdited(step));
  let shown = "";
  store.watch(["state"], ({ state }) => {
    if (!state) return;
    const nothing = state.sentences.length === 0;
    steps.hidden = tools.hidden = nothing;
    scripts.hidden = nothing || !python.checked;
    empty.hidden = !nothing;
    const text = JSON.stringify([state.code, state.ahead]);
    // Text that someone is marking stays as it is.
    if (text === shown) return;
    shown = text;
    const focused = hasFocus(steps);
    releaseFocus(steps);
    steps.replaceChildren(...stepsOf(state, (to) => actions.edits.jump(to)));
    const here = steps.querySelector<HTMLElement>("[aria-current]");
    if (here) scrollToShow(here);
    if (focused) here?.focus({ preventScroll: true });
  });
  return element(
    "section",
    { class: "tgw-history-section", "aria-label": "History" },
    empty,
    createOffers(parts),
    steps,
    tools,
    scripts,
    changedNames(parts, steps),
  );
}

/** As many names are listed. */
const MOST_NAMES = 4;

/**
 * What the edit at the pointer changed, in words: where the panel lies over the drawing, the frames
 * are below it.
 */
function changedNames({ store }: Parts, steps: HTMLElement): HTMLElement {
  const line = element("p", { class: "tgw-changed-names", role: "status", hidden: true });
  store.watch(["edited", "panelPlace"], ({ edited, panelPlace }) => {
    const { scene } = store.value;
    const names = scene ? edited.filter((name) => !isGroup(scene, name)) : [];
    line.hidden = panelPlace !== "over" || names.length === 0 || !isPointedAt(steps);
    line.replaceChildren(...(line.hidden ? [] : [breakableName(changedText(names))]));
  });
  return line;
}

/** Whether a name is that of a group, which is made for the drawing: its ops are named, too. */
function isGroup(scene: Scene, name: string): boolean {
  return at(scene.members, scene.byKey.get(`${name}/`) ?? 0) > 0;
}

function isPointedAt(steps: HTMLElement): boolean {
  return steps.matches(":hover") || hasFocus(steps);
}

/** "Changed: tower/, first/act and 12 more". */
export function changedText(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(", ");
  const rest = names.length - MOST_NAMES;
  return `Changed: ${shown}${rest > 0 ? ` and ${rest.toLocaleString("en")} more` : ""}`;
}

/**
 * `mark` is called with the number of the edit that the pointer or the focus is on, and with 0 when
 * there is none.
 */
function markEdited(steps: HTMLElement, mark: (step: number) => void): void {
  const stepOf = ({ target }: Event) =>
    Number((target as Element).closest?.("[data-step]")?.getAttribute("data-step") ?? 0);
  for (const type of ["pointerover", "focusin"])
    steps.addEventListener(type, (event) => mark(stepOf(event)));
  for (const type of ["pointerleave", "focusout"]) steps.addEventListener(type, () => mark(0));
}

/**
 * What the graph suggests after the edits: to train only a clone, to remove ops that are unused.
 */
function createOffers({ store, actions }: Parts): HTMLElement {
  const root = element("div", {
    class: "tgw-buttons tgw-offers",
    role: "group",
    "aria-label": "Suggested edits",
  });
  let shown = "[]";
  store.watch(["state"], ({ state }) => {
    const offers = state?.offers ?? [];
    root.hidden = offers.length === 0;
    const text = JSON.stringify(offers);
    if (text === shown) return;
    shown = text;
    releaseFocus(root);
    root.replaceChildren(...offers.map((offer) => offerButton(offer, actions.edits)));
  });
  return root;
}

/** One entry for each state that one can go to, the opened graph first. */
function stepsOf(
  { code, ahead, sentences }: State,
  jump: (to: number) => Promise<unknown>,
): HTMLElement[] {
  const lines = [...code, ...ahead];
  const entry = (to: number, text: string) => {
    const line = lines[to - 1] ?? "";
    const python = line ? [element("code", { class: "tgw-step-line" }, line)] : [];
    const isHere = to === code.length;
    return element(
      "li",
      {},
      taskButton(
        {
          class: to > code.length ? "tgw-step tgw-ahead" : "tgw-step",
          "aria-current": isHere ? "step" : undefined,
          "data-step": to,
          // "Copy" copies only the edits that are in effect, not those that were undone.
          "data-line": to > 0 && to <= code.length ? line : undefined,
          title: isHere
            ? "The graph is in the state after this edit"
            : "Go to the state after this edit",
        },
        () => jump(to),
        element("span", { class: "tgw-step-text" }, text),
        ...python,
      ),
    );
  };
  return [
    entry(0, "Original graph"),
    ...lines.map((line, i) => entry(i + 1, sentences[i] ?? line)),
  ];
}

function scriptButtons({ actions, store }: Parts): HTMLElement {
  const status = element("span", { role: "status", class: "tgw-none" });
  const root = element("div", { class: "tgw-buttons tgw-scripts" });
  const toClipboard = async (text: string, before = "") => {
    const done = await copyToClipboard(text);
    showBriefly(status, `${before}${done ? "Copied" : "The browser does not allow copying here"}`);
  };
  const copy = taskButton(
    { class: "tgw-button", title: "Copy a script that opens the graph and repeats all edits" },
    async () => {
      const text = await actions.edits.script();
      if (text !== null) await toClipboard(text);
    },
    icon(ICONS.copy),
    "Copy script",
  );
  const insert = taskButton(
    { class: "tgw-button", title: "Put the script into a new cell below" },
    async () => {
      const text = await actions.edits.script(true);
      if (text === null) return;
      if (await insertCell(root, text)) showBriefly(status, "Inserted below");
      else await toClipboard(text, "There is no notebook to insert into. ");
    },
    icon(ICONS.plus),
    "Insert as cell",
  );
  root.append(copy, insert, status);
  // In JupyterLab a document that is not a notebook has no cells.
  store.watch(["state"], () => {
    insert.hidden = root.closest(".jp-Document:not(.jp-NotebookPanel)") !== null;
  });
  return root;
}
