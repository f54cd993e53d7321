// What may stand in the way of the graph where it is to run: a list, lit on the drawing, with a
// button for each fix.
import type { Parts } from "../../interaction/parts";
import type { LintFinding, LintRequest, Offer, SignatureRow } from "../../protocol/messages";
import { selectField } from "../controls/form-fields";
import { trustQuestion } from "../controls/trust";
import { button, element, releaseFocus, taskButton } from "../dom";

const TARGETS: Record<LintRequest["target"], string> = {
  "": "as it is",
  cpu: "for a CPU",
  tflite: "for TFLite",
  onnx: "for ONNX",
};

/** What the button is found by. */
const CHECK = {
  name: "Check the graph",
  title: "Find what may stand in the way of a graph that is to run elsewhere",
  command: "lint",
  keywords: "problems tflite onnx signature",
};

export interface Problems {
  readonly root: HTMLElement;
  /**
   * Show what a quick check finds, unless the user has checked the graph: those findings stay, with
   * a word on it once the graph is another one.
   */
  look(): Promise<void>;
  /** The graph is another one: what a quick check has found of the last one goes. */
  forget(): void;
}

export function createProblems(parts: Parts): Problems {
  const { edits } = parts.actions;
  const target = selectField("target", TARGETS);
  target.select.setAttribute("aria-label", "Where the graph is to run");
  const heading = element("h4", { class: "tgw-label" });
  const list = element("ul", {
    class: "tgw-lint",
    "aria-label": "Findings",
    "aria-live": "polite",
  });
  // While the list has ops that do not run: the switch that lets them.
  const question = element("div", {});
  parts.store.watch(["state"], ({ state }) => {
    if (question.childElementCount > 0 && !state?.untrusted) void check();
  });
  // The version of the graph that the user has checked.
  let checked: string | null = null;
  const version = () =>
    JSON.stringify([parts.store.value.state?.path, parts.store.value.state?.code]);
  const say = (count: number) => {
    const isOld = checked !== null && checked !== version();
    heading.textContent =
      (count > 0 ? `Problems (${count})` : "Problems") + (isOld ? ", before the last edit" : "");
  };
  const show = (findings: readonly LintFinding[] | null) => {
    say(findings?.length ?? 0);
    const untrusted = findings?.some(({ code }) => code === "untrusted");
    const asks = untrusted && parts.store.value.state?.untrusted;
    releaseFocus(question);
    question.replaceChildren(...(asks ? [trustQuestion(parts)] : []));
    releaseFocus(list);
    const rows = (findings ?? []).map((finding) =>
      row(finding, () => edits.light(finding.sentence, finding.ops), fix),
    );
    const none = element("li", { class: "tgw-none" }, findings ? "Nothing found" : "Not checked");
    list.replaceChildren(...(rows.length > 0 ? rows : [none]));
  };
  const check = async () => {
    const reply = await edits.lint(target.value());
    if (!reply) return;
    checked = version();
    show(reply.findings);
  };
  const fix = async (line: string) => {
    await edits.fix(line);
    await check();
  };
  const start = taskButton({ class: "tgw-button", title: CHECK.title }, check, CHECK.name);
  const forget = () =>
    checked === null ? show(null) : say(list.querySelectorAll("[data-code]").length);
  const look = async () => {
    const findings = checked === null ? await edits.quickLint() : null;
    if (findings && checked === null) show(findings);
    else forget();
  };
  show(null);
  const root = element(
    "div",
    { class: "tgw-field" },
    heading,
    question,
    list,
    element(
      "div",
      { class: "tgw-check", role: "group", "aria-label": "Check" },
      start,
      target.select,
    ),
  );
  return { root, look, forget };
}

/** A finding: its sentence frames its ops, and its fix is a button. */
function row(
  finding: LintFinding,
  light: () => void,
  applyFix: (line: string) => Promise<unknown>,
): HTMLElement {
  const { severity, code, sentence, fix } = finding;
  const item = line(sentence, light, fix, applyFix);
  for (const [key, value] of [
    ["code", code],
    ["severity", severity],
  ] as const)
    item.dataset[key] = value;
  return item;
}

/**
 * A signature: its text frames its ops, a button shows what it computes, and another removes or
 * adds it.
 */
export function signatureRow(
  parts: Parts,
  { text, ops, edit, name }: SignatureRow,
  applyFix: (line: string) => Promise<unknown>,
): HTMLElement {
  const item = line(text, () => parts.actions.edits.light(text, ops), edit, applyFix);
  if (name)
    item.append(
      button(
        { class: "tgw-button tgw-fix", title: `Show what signature '${name}' computes` },
        () => void parts.actions.openSignature(name),
        "Open",
      ),
    );
  return item;
}

/** A text that frames its ops, and the button of an edit. */
function line(
  text: string,
  light: () => void,
  edit: Offer | null,
  applyFix: (line: string) => Promise<unknown>,
): HTMLElement {
  const show = button({ class: "tgw-finding", title: "Frame its ops in the drawing" }, light, text);
  const item = element("li", {}, show);
  if (edit)
    item.append(
      taskButton(
        { class: "tgw-button tgw-fix", title: edit.line },
        () => applyFix(edit.line),
        edit.text,
      ),
    );
  return item;
}
