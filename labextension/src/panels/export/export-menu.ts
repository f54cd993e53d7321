// The Export button: a menu of formats, and for the one that is chosen a path in the folder of the
// kernel, or a download.
import type { Parts } from "../../interaction/parts";
import type { Formats, SaveFormat, SaveOption } from "../../protocol/messages";
import { createForm } from "../controls/edit-form";
import type { Field, Values } from "../controls/form-fields";
import { createMenu, Dropdown, type MenuItem } from "../controls/menus";
import { element, ICONS, icon } from "../dom";
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
  const { kind, label, about, name, options } = format;
  const { exports } = parts.actions;
  const colors = isPicture(kind) ? colorsOf(parts.stage) : [];
  const areaOf = ({ visible }: Values) => (visible === "True" ? visibleArea(parts) : []);
  const optionsOf = (values: Values) =>
    options.flatMap((option): [string, string][] => {
      const chosen = values[option.name] ?? "";
      return chosen ? [[option.name, chosen]] : [];
    });
  let taken = "";
  const save = async (values: Values) => {
    const { path = "" } = values;
    const request = { path, replace: path === taken, colors, options: optionsOf(values) };
    const outcome = await exports.save({ format: kind, ...request, area: areaOf(values) }, from);
    taken = outcome === "exists" ? path : "";
    return outcome === "saved";
  };
  const download = async (values: Values) => {
    const { path = "" } = values;
    if (isPicture(kind)) return savePicture(parts, kind, path, areaOf(values));
    return exports.download(kind, path, optionsOf(values));
  };
  const fields: Field[] = [
    { key: "path", label: "Path", kind: "path", initial: name, hint: `in ${folder}` },
    ...options.map(optionField),
    ...(isPicture(kind) ? [VISIBLE] : []),
  ];
  const title = element("p", { class: "tgw-export-title" }, label);
  return createForm(
    {
      fields,
      apply: save,
      submit: ({ path }) => (path === taken ? "Replace" : "Save"),
      others: [{ text: "Download", title: "Download to this computer", apply: download }],
      head: [title, element("p", { class: "tgw-hint" }, about)],
      label: `Save ${label}`,
    },
    parts,
    close,
  );
}

const VISIBLE: Field = { key: "visible", label: "Only the visible part", kind: "switch" };

/** A list; or a text that can be changed, where there is one choice. */
function optionField({ name, label, choices, about }: SaveOption): Field {
  return {
    key: name,
    label,
    kind: choices.length > 1 ? "choice" : "text",
    words: choices.length > 1 ? choices : [],
    texts: choices.map((choice) => choice || "as it is"),
    initial: choices[0] ?? "",
    title: about,
    optional: true,
  };
}

/** Mark the name of the file without its suffix, which typing replaces. */
function selectStem(input: HTMLInputElement): void {
  const dot = input.value.lastIndexOf(".");
  input.setSelectionRange(0, dot > 0 ? dot : input.value.replace(/\/$/, "").length);
}
