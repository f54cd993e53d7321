// The Export button: a menu of formats, and for the one that is chosen a path in the folder of the kernel, or a download.
import type { Outcome } from "../../interaction/exports";
import type { Parts } from "../../interaction/parts";
import type { Formats, SaveFormat } from "../../protocol/messages";
import { browseButton, isBrowsing } from "../controls/browse-button";
import { checkboxField, labeledField, selectField, TEXT } from "../controls/form-fields";
import { handleMenuKey, limitHeight, menuItem } from "../controls/menus";
import { button, element, hasFocus, ICONS, icon, setAttributes, uniqueId, whileBusy } from "../dom";
import { colorsOf, isPicture, savePicture, visibleArea } from "./picture";

const TITLE = "Save the graph, the edits or a picture";

export function createExportMenu(parts: Parts): HTMLElement {
  return new ExportMenu(parts).root;
}

class ExportMenu {
  readonly root: HTMLElement;
  readonly #parts: Parts;
  readonly #opener: HTMLButtonElement;
  readonly #popup: HTMLElement;
  /** Incremented each time it is opened or closed, so that a late reply does not open it again. */
  #turn = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    const id = uniqueId();
    this.#popup = element("div", { class: "tgw-dropdown tgw-export", id, hidden: true });
    this.#opener = button(
      {
        class: "tgw-mode tgw-opener tgw-asks",
        title: TITLE,
        "aria-label": "Export",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        "aria-controls": id,
      },
      () => (this.#popup.hidden ? whileBusy(this.#opener, () => this.#open()) : this.#close()),
      icon(ICONS.save),
      element("span", { class: "tgw-opener-text" }, "Export"),
      icon(ICONS.chevron, "tgw-chevron"),
    );
    this.root = element("div", { class: "tgw-dropper" }, this.#opener, this.#popup);
    this.root.addEventListener("focusout", ({ relatedTarget }) => {
      const isInside = relatedTarget instanceof Node && this.root.contains(relatedTarget);
      if (!isInside && !isBrowsing(this.#popup)) this.#close();
    });
    // A click on its text keeps it open.
    this.#popup.addEventListener("mousedown", (event) => {
      if (!(event.target instanceof Element && event.target.closest("button, input, label")))
        event.preventDefault();
    });
  }

  async #open(): Promise<void> {
    this.#turn += 1;
    const turn = this.#turn;
    const formats = await this.#parts.actions.exports.formats();
    if (formats && turn === this.#turn) this.#showMenu(formats);
  }

  #close(): void {
    this.#turn += 1;
    if (this.#popup.hidden) return;
    const had = hasFocus(this.#popup);
    this.#popup.hidden = true;
    setAttributes(this.#opener, { "aria-expanded": "false" });
    if (had) this.#opener.focus({ preventScroll: true });
  }

  #show(content: HTMLElement): void {
    const before = [...this.#popup.children];
    this.#popup.append(content);
    this.#popup.hidden = false;
    setAttributes(this.#opener, { "aria-expanded": "true" });
    // While the old content is there: when it takes the focus with it, the menu closes.
    const first = content.querySelector<HTMLElement>("input, button");
    first?.focus({ preventScroll: true });
    if (first instanceof HTMLInputElement) selectStem(first);
    for (const old of before) old.remove();
    this.#place();
  }

  /** Inside of the widget, where the button is too far at the left for it. */
  #place(): void {
    const { style } = this.#popup;
    style.right = "";
    const around = this.root.closest(".tfgraphwidget")?.getBoundingClientRect().left ?? 0;
    const beyond = around + 4 - this.#popup.getBoundingClientRect().left;
    if (beyond > 0) style.right = `${-beyond}px`;
    limitHeight(this.#popup);
  }

  #showMenu(formats: Formats): void {
    const list = element("div", { role: "menu", "aria-label": TITLE });
    for (const [group, members] of groupsOf(formats.formats)) {
      const heading = element("p", { class: "tgw-label", "aria-hidden": "true" }, group);
      const content: HTMLElement[] = [heading];
      for (const same of runsOf(members)) {
        const why = same[0]?.refused ?? "";
        const reason = why && element("p", { class: "tgw-reason", id: uniqueId() }, why);
        content.push(...same.map((format) => this.#item(format, formats, reason ? reason.id : "")));
        if (reason) content.push(reason);
      }
      list.append(element("div", { role: "group", "aria-label": group }, ...content));
    }
    list.addEventListener("keydown", (event) => handleMenuKey(event, list, () => this.#close()));
    this.#show(list);
  }

  /** `reason`: the id of the element that says why it is refused. */
  #item(format: SaveFormat, formats: Formats, reason: string): HTMLElement {
    const { label, suffix, refused } = format;
    const choose = () => {
      if (!refused) return this.#showForm(format, formats);
      this.#close();
      const text = `${label} cannot be saved now: ${refused}.`;
      this.#parts.actions.showStatus({ kind: "refused", text });
    };
    const item = menuItem({ text: label, key: suffix === "/" ? "folder" : suffix, act: choose }, () => {});
    item.removeAttribute("aria-keyshortcuts");
    if (refused) {
      item.classList.add("tgw-barred");
      setAttributes(item, { title: refused, "aria-describedby": reason });
    }
    return item;
  }

  #showForm(format: SaveFormat, formats: Formats): void {
    this.#show(exportForm(this.#parts, format, formats, this.root, () => this.#close()));
  }
}

/** The formats below their headings, in the order of the kernel. */
export function groupsOf(formats: readonly SaveFormat[]): Map<string, SaveFormat[]> {
  const groups = new Map<string, SaveFormat[]>();
  for (const format of formats) groups.set(format.group, [...(groups.get(format.group) ?? []), format]);
  return groups;
}

/** Neighbors that are refused for the same reason together, so that it stands below them once. */
export function runsOf(formats: readonly SaveFormat[]): SaveFormat[][] {
  const runs: SaveFormat[][] = [];
  for (const format of formats) {
    const last = runs.at(-1);
    if (last?.[0]?.refused === format.refused) last.push(format);
    else runs.push([format]);
  }
  return runs;
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
    const texts = Object.fromEntries(choices.map((value: string) => [` ${value}`, value || "as it is"]));
    const field = selectField(name, texts); // a space before numbers keeps the order
    setAttributes(field.select, { title: about });
    return { name, label, field };
  });
  const options = () =>
    fields.flatMap(({ name, field }): [string, string][] => {
      const value = field.value().trim();
      return value ? [[name, value]] : [];
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
        if (isPicture(format.kind)) finish(await savePicture(parts, format.kind, path.value, area()));
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
    ...fields.map(({ label, field }) => labeledField(label, field.select)),
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
