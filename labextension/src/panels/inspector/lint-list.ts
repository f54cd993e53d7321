// What may stand in the way of the graph where it is to run: a list, lit on the drawing, with a
// button for each fix.
import type { Parts } from "../../interaction/parts";
import type { LintFinding, LintRequest, Offer, SignatureRow } from "../../protocol/messages";
import { selectField } from "../controls/form-fields";
import { trustQuestion } from "../controls/trust";
import { button, element, releaseFocus, taskButton } from "../dom";

const TITLE = "Check";
const TARGETS: Record<LintRequest["target"], string> = {
  "": "as it is",
  cpu: "for a CPU",
  tflite: "for TFLite",
  onnx: "for ONNX",
};

/** What the button is found by. */
export const CHECK = {
  name: "Check the graph",
  title: "Find what may stand in the way of a graph that is to run elsewhere",
  verb: "lint",
  keywords: "tflite onnx signature",
};

export function lintList(parts: Parts): HTMLElement {
  const { edits } = parts.actions;
  const target = selectField("target", TARGETS);
  target.select.setAttribute("aria-label", "Where the graph is to run");
  const signatures = element("ul", { class: "tgw-lint", "aria-label": "Signatures" });
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
  const check = async () => {
    const reply = await edits.lint(target.value());
    if (!reply) return;
    const fix = async (line: string) => {
      await edits.fix(line);
      await check();
    };
    const rows = reply.findings.map((finding) =>
      row(finding, () => edits.light(finding.sentence, finding.ops), fix),
    );
    signatures.replaceChildren(
      ...reply.signatures.map((signature) => signatureRow(parts, signature, fix)),
    );
    const asks =
      reply.findings.some(({ code }) => code === "untrusted") && parts.store.value.state?.untrusted;
    releaseFocus(question);
    question.replaceChildren(...(asks ? [trustQuestion(parts)] : []));
    list.replaceChildren(
      ...(rows.length > 0 ? rows : [element("li", { class: "tgw-none" }, "Nothing found")]),
    );
  };
  const start = taskButton({ class: "tgw-button", title: CHECK.title }, check, CHECK.name);
  return element(
    "div",
    { class: "tgw-command-group" },
    element("p", { class: "tgw-subtitle" }, TITLE),
    element(
      "div",
      { class: "tgw-derive", role: "group", "aria-label": TITLE },
      start,
      target.select,
    ),
    question,
    list,
    signatures,
  );
}

/** A finding: its sentence frames its ops, and its fix is a button. */
function row(
  finding: LintFinding,
  light: () => void,
  applyFix: (line: string) => Promise<void>,
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
function signatureRow(
  parts: Parts,
  { text, ops, edit, name }: SignatureRow,
  applyFix: (line: string) => Promise<void>,
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
  applyFix: (line: string) => Promise<void>,
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
