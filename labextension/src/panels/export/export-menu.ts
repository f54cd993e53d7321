// The Export button: a menu of formats, and for the one that is chosen a path in the folder of the
// kernel, or a download.
import type { Outcome } from "../../interaction/exports";
import type { Parts } from "../../interaction/parts";
import type { Formats, SaveFormat } from "../../protocol/messages";
import { browseButton } from "../controls/browse-button";
import { checkboxField, labeledField, selectField, TEXT } from "../controls/form-fields";
import { createMenu, Dropdown, type MenuItem } from "../controls/menus";
import { button, element, ICONS, icon, setAttributes, whileBusy } from "../dom";
import { colorsOf, isPicture, savePicture, visibleArea } from "./picture";

const TITLE = "Save the graph, the edits or a picture";

export function createExportMenu(parts: Parts): HTMLElement {
  const { actions } = parts;
  const opener = {
    attributes: { class: "tgw-mode tgw-opener tgw-asks", title: TITLE, "aria-label": "Export" },
    children: [
      icon(ICONS.save),
      element("span", { class: "tgw-opener-text" }, "Export"),
      icon(ICONS.chevron, "tgw-chevron"),
    ],
  };
  const close = () => dropdown.close();
  const showForm = (format: SaveFormat, formats: Formats) => {
    const form = exportForm(parts, format, formats, dropdown.root, close);
    dropdown.show(form);
    const path = form.querySelector("input");
    if (path) selectStem(path);
  };
  const entry = (format: SaveFormat, formats: Formats): MenuItem => {
    const { label, suffix, refused } = format;
    const refuse = () =>
      actions.showStatus({ kind: "refused", text: `${label} cannot be saved now: ${refused}.` });
    return {
      id: format.kind,
      text: label,
      note: suffix === "/" ? "folder" : suffix,
      why: refused,
      act: refused ? refuse : () => showForm(format, formats),
    };
  };
  const menu = async () => {
    const formats = await actions.exports.formats();
    if (!formats) return null;
    const sections = [...groupsOf(formats.formats)].map(([title, members]) => ({
      title,
      items: members.map((format) => entry(format, formats)),
    }));
    return createMenu({ "aria-label": TITLE }, sections, close);
  };
  const dropdown = new Dropdown("tgw-export", opener, menu);
  return dropdown.root;
}

/** The formats below their headings, in the order of the kernel. */
export function groupsOf(formats: readonly SaveFormat[]): Map<string, SaveFormat[]> {
  const groups = new Map<string, SaveFormat[]>();
  for (const format of formats)
    groups.set(format.group, [...(groups.get(format.group) ?? []), format]);
  return groups;
}

/** Enter saves; a file that is there is replaced after a second click. */
function exportForm(
  parts: Parts,
  format: SaveFormat,
  { folder }: Formats,
  from: Element,
  close: () => void,
): HTMLFormElement {
  const { exports } = parts.actions;
  const colors = isPicture(format.kind) ? colorsOf(parts.stage) : [];
  const path = element("input", {
    ...TEXT,
    class: "tgw-input tgw-mono",
    name: "path",
    "aria-label": "Path",
    required: true,
  });
  path.value = format.name;
  const visible = element("input", { type: "checkbox", name: "visible" });
  const area = () => (visible.checked ? visibleArea(parts) : []);
  const fields = format.options.map(({ name, label, choices, about }) => {
    const [only = "", ...others] = choices;
    if (others.length === 0) {
      const input = element("input", { ...TEXT, class: "tgw-input tgw-mono", name, title: about });
      input.value = only;
      return { name, label, control: input, value: () => input.value };
    }
    const texts = Object.fromEntries(
      choices.map((value: string) => [` ${value}`, value || "as it is"]),
    );
    const { select, value } = selectField(name, texts); // a space before numbers keeps the order
    setAttributes(select, { title: about });
    return { name, label, control: select, value };
  });
  const options = () =>
    fields.flatMap(({ name, value }): [string, string][] => {
      const chosen = value().trim();
      return chosen ? [[name, chosen]] : [];
    });
  const why = element("p", { class: "tgw-refusal", role: "alert", hidden: true });
  const save = element("button", { type: "submit", class: "tgw-primary" }, "Save");
  let replaces = false;
  const askToReplace = (replace: boolean) => {
    replaces = replace;
    save.textContent = replace ? "Replace" : "Save";
  };
  const finish = ({ done, exists = "", why: text = "" }: Outcome) => {
    if (done) return close();
    askToReplace(exists !== "");
    why.textContent = exists || text;
    why.hidden = why.textContent === "";
    if (!why.hidden) path.focus();
  };
  const download = button(
    { class: "tgw-button", title: "Download to this computer" },
    () =>
      whileBusy(download, async () => {
        if (isPicture(format.kind))
          finish(await savePicture(parts, format.kind, path.value, area()));
        else finish(await exports.download(format, path.value, options()));
      }),
    "Download",
  );
  path.addEventListener("input", () => askToReplace(false));
  const form = element(
    "form",
    { class: "tgw-export-form", "aria-label": `Save ${format.label}` },
    element("p", { class: "tgw-export-title" }, format.label),
    element("p", { class: "tgw-hint" }, format.about),
    path,
    element("p", { class: "tgw-hint tgw-export-folder" }, `in ${folder}`),
    ...browseButton(path, parts, { title: "Choose the folder to save in", kind: "folder" }),
    ...fields.map(({ label, control }) => labeledField(label, control)),
    ...(isPicture(format.kind) ? [checkboxField("Only the visible part", visible)] : []),
    why,
    element("div", { class: "tgw-buttons" }, save, download),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void whileBusy(save, async () =>
      finish(await exports.save(format, path.value, replaces, from, colors, options(), area())),
    );
  });
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
  });
  return form;
}

/** Mark the name of the file without its suffix, which typing replaces. */
function selectStem(input: HTMLInputElement): void {
  const dot = input.value.lastIndexOf(".");
  input.setSelectionRange(0, dot > 0 ? dot : input.value.replace(/\/$/, "").length);
}
