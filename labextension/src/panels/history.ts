// History: every edit as its line of Python, with a mark where one is; a click goes there. The whole as a script.
import { button, disable, element, ICONS, icon, releaseFocus, taskButton } from "../dom";
import { insertCell } from "../notebook";
import type { State } from "../protocol";
import { copied, copyTools, saySoon } from "./copy";
import type { Parts } from "./parts";
import { section } from "./section";

export function createHistory(parts: Parts): HTMLElement {
  const { store, actions } = parts;
  const undo = button({ class: "tgw-button" }, () => actions.edits.undo(), icon(ICONS.undo), "Undo");
  const redo = button({ class: "tgw-button" }, () => actions.edits.redo(), icon(ICONS.redo), "Redo");
  const steps = element("ol", { class: "tgw-code", "aria-label": "Edits, as Python that does the same" });
  const [said, copy] = copyTools(steps, "Copy the lines");
  const empty = element(
    "p",
    { class: "tgw-hint" },
    "Every edit prints the line of Python that does the same.",
  );
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
  return section("History", { class: "tgw-history-section" }, [said, copy], buttons, steps, scripts, empty);
}

/** One entry for each state that one can go to, the opened graph first. */
function stepsOf({ code, ahead }: State, jump: (to: number) => Promise<void>): HTMLElement[] {
  const entry = (to: number, text: string, line: string | undefined) =>
    element(
      "li",
      {},
      taskButton(
        {
          class: to > code.length ? "tgw-step tgw-ahead" : "tgw-step",
          "aria-current": to === code.length ? "step" : undefined,
          "data-line": line,
          title: to === code.length ? "The graph is as it was after this" : "Go back or forth to here",
        },
        () => jump(to),
        text,
      ),
    );
  return [
    entry(0, "as it was opened", undefined),
    ...code.map((line, i) => entry(i + 1, line, line)),
    // What was undone is no part of what has been done so far, which "Copy" copies.
    ...ahead.map((line, i) => entry(code.length + i + 1, line, undefined)),
  ];
}

function scriptButtons({ actions }: Parts): HTMLElement {
  const said = element("span", { role: "status", class: "tgw-none" });
  const root = element("div", { class: "tgw-buttons tgw-scripts" });
  const toClipboard = async (text: string, before = "") => {
    const done = await copied(text);
    saySoon(said, `${before}${done ? "Copied" : "The browser does not let a page copy here"}`);
  };
  const copy = taskButton(
    { class: "tgw-button", title: "Copy a script that opens the graph and does all of it" },
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
      if (await insertCell(root, text)) saySoon(said, "Inserted below");
      else await toClipboard(text, "No notebook takes a cell here. ");
    },
    icon(ICONS.plus),
    "Insert as cell",
  );
  root.append(copy, insert, said);
  return root;
}

function label(target: HTMLButtonElement, verb: string, what: string, keys: string): void {
  disable(target, what === "");
  target.title = what ? `${verb} ${what} (${keys})` : `Nothing to ${verb.toLowerCase()}`;
  target.setAttribute("aria-label", what ? `${verb} ${what}` : verb);
}
