// The history: each edit as a line of Python with the current position marked; a click goes there. Also the script.
import type { Parts } from "../../interaction/parts";
import type { Offer, State } from "../../protocol/messages";
import { copyToClipboard, copyTools, showBriefly } from "../controls/copy-button";
import { section } from "../controls/section";
import { button, disable, element, ICONS, icon, releaseFocus, taskButton } from "../dom";

export function createHistory(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const undo = button({ class: "tgw-button" }, () => actions.edits.undo(), icon(ICONS.undo), "Undo");
  const redo = button({ class: "tgw-button" }, () => actions.edits.redo(), icon(ICONS.redo), "Redo");
  const steps = element("ol", { class: "tgw-code", "aria-label": "Edits as Python code" });
  const [status, copy] = copyTools(steps, "Copy the lines");
  const empty = element("p", { class: "tgw-hint" }, "Each edit is listed here as one line of Python.");
  const scripts = scriptButtons(parts);
  let shown = "";
  store.watch(["state"], ({ state }) => {
    if (!state) return;
    label(undo, "Undo", state.undo, "Ctrl-Z");
    label(redo, "Redo", state.redo, "Ctrl-Y");
    const nothing = state.code.length + state.ahead.length === 0;
    steps.hidden = scripts.hidden = nothing;
    copy.hidden = state.code.length === 0;
    empty.hidden = !nothing;
    const text = JSON.stringify([state.code, state.ahead]);
    // Text that someone is marking stays as it is.
    if (text === shown) return;
    shown = text;
    const focused = steps.contains(document.activeElement);
    releaseFocus(steps);
    steps.replaceChildren(...stepsOf(state, (to) => actions.edits.jump(to)));
    const here = steps.querySelector<HTMLElement>("[aria-current]");
    if (here) steps.scrollTop = here.offsetTop - steps.clientHeight / 2;
    if (focused) here?.focus({ preventScroll: true });
  });
  const buttons = element("div", { class: "tgw-buttons" }, undo, redo);
  const tools = [buttons, createOffers(parts), steps, scripts, empty];
  return section("History", { class: "tgw-history-section" }, [status, copy], ...tools);
}

/** What the graph suggests after the edits: to remove the ops that they have left unused. */
function createOffers({ store, actions }: Parts): HTMLElement {
  const root = element("div", { class: "tgw-buttons", role: "group", "aria-label": "Suggested edits" });
  let shown = "[]";
  store.watch(["state"], ({ state }) => {
    const offers = state?.offers ?? [];
    root.hidden = offers.length === 0;
    const text = JSON.stringify(offers);
    if (text === shown) return;
    shown = text;
    releaseFocus(root);
    const remove = ({ text, line }: Offer) =>
      taskButton(
        { class: "tgw-button", title: "Edits have left these ops without consumers; they are dotted" },
        () => actions.edits.mend(line),
        text,
      );
    root.replaceChildren(...offers.map(remove));
  });
  return root;
}

/** One entry for each state that one can go to, the opened graph first. */
function stepsOf({ code, ahead }: State, jump: (to: number) => Promise<unknown>): HTMLElement[] {
  const entry = (to: number, text: string, line: string | undefined) =>
    element(
      "li",
      {},
      taskButton(
        {
          class: to > code.length ? "tgw-step tgw-ahead" : "tgw-step",
          "aria-current": to === code.length ? "step" : undefined,
          "data-line": line,
          title:
            to === code.length
              ? "The graph is in the state after this edit"
              : "Go to the state after this edit",
        },
        () => jump(to),
        text,
      ),
    );
  return [
    entry(0, "original graph", undefined),
    ...code.map((line, i) => entry(i + 1, line, line)),
    // "Copy" copies only the edits that are in effect, not those that were undone.
    ...ahead.map((line, i) => entry(code.length + i + 1, line, undefined)),
  ];
}

function scriptButtons({ actions }: Parts): HTMLElement {
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
      const text = await actions.edits.script();
      if (text === null) return;
      if (await insertCell(root, text)) showBriefly(status, "Inserted below");
      else await toClipboard(text, "There is no notebook to insert into. ");
    },
    icon(ICONS.plus),
    "Insert as cell",
  );
  root.append(copy, insert, status);
  return root;
}

function label(target: HTMLButtonElement, verb: string, what: string, keys: string): void {
  disable(target, what === "");
  target.title = what ? `${verb} ${what} (${keys})` : `Nothing to ${verb.toLowerCase()}`;
  target.setAttribute("aria-label", what ? `${verb} ${what}` : verb);
}

// Inserts a cell below that of the widget. A widget has no access to the application around it, so this simulates the
// user: the key for a new cell, then the text in its editor. It works in JupyterLab and Notebook 7.

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
  const insertion = new CustomEvent("tfgraphwidget:insert", {
    detail: { text },
    bubbles: true,
    cancelable: true,
  });
  if (!from.dispatchEvent(insertion)) return true;
  const cell = from.closest<HTMLElement>(".jp-Cell");
  const notebook = cell?.closest<HTMLElement>(".jp-Notebook");
  if (!cell || !notebook) return false;
  const before = new Set(notebook.querySelectorAll(".jp-Cell"));
  // The notebook makes the cell that has the focus the active one, and leaves editing for commands.
  cell.focus({ preventScroll: true });
  pressKey(document.activeElement ?? cell);
  // Only some cells of a long notebook are in the page, and scrolling adds others: the new one is the active one.
  const isMade = (one: Element) => !before.has(one) && one.classList.contains("jp-mod-active");
  const added = await waitFor(() => [...notebook.querySelectorAll(".jp-Cell")].find(isMade));
  const content = added && (await waitFor(() => added.querySelector<Content>(".cm-content") ?? undefined));
  return content ? writeCell(content, text) : false;
}

function pressKey(target: Element): void {
  const init = { key: "b", code: "KeyB", keyCode: KEY_B, bubbles: true, cancelable: true, composed: true };
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
