// The form that asks for the values of placeholders, where a run needs them; what was fed last is
// proposed again.
import type { Parts } from "../../interaction/parts";
import type { Feed, FeedField, Feeds } from "../../protocol/messages";
import { browseButton } from "../controls/browse-button";
import { suggest } from "../controls/combobox";
import { createForm, ErrorLine, selectField, submitButton, TEXT } from "../controls/form-fields";
import { element, releaseFocus, scrollToShow, setAttributes } from "../dom";
import { withDrawnShapes } from "../shape-text";

/** What is run: the outputs of an op, "" for the selected ones; or all, to measure the time. */
export interface FeedTarget {
  readonly name: string;
  readonly measure: boolean;
}

/**
 * Run the graph for the outputs of an op, or to measure it. `showForm` is called with the form for
 * the placeholders that were never fed; resolves to whether it ran at once.
 */
export async function runWithFeeds(
  target: FeedTarget,
  parts: Parts,
  showForm: (feeds: Feeds) => void,
): Promise<boolean> {
  const feeds = await parts.actions.edits.feedable(target.name, target.measure);
  if (!feeds) return false;
  if (feeds.fields.length === 0 || feeds.remembered) return run(target, parts, []);
  showForm(feeds);
  return false;
}

/** Where a form for feeds opens in a panel. */
export interface FeedSlot {
  readonly slot: HTMLElement;
  /** Run the graph; where placeholders were never fed, ask for their values first. */
  run(): Promise<unknown>;
  /** Ask for the values of placeholders, also for those that were fed. */
  edit(): Promise<unknown>;
}

export function createFeedSlot(target: FeedTarget, parts: Parts): FeedSlot {
  const slot = element("div", { class: "tgw-form-slot" });
  const close = () => {
    releaseFocus(slot);
    slot.replaceChildren();
  };
  const show = (feeds: Feeds) => {
    slot.replaceChildren(feedForm(target, feeds, parts, close));
    slot.querySelector<HTMLElement>("input:not([hidden]), select")?.focus();
    scrollToShow(slot);
  };
  const edit = async () => {
    const feeds = await parts.actions.edits.feedable(target.name, target.measure);
    if (feeds && feeds.fields.length > 0) return show(feeds);
    const text = "These outputs depend on no placeholder.";
    if (feeds) parts.actions.showStatus({ kind: "notice", text });
  };
  return { slot, run: () => runWithFeeds(target, parts, show), edit };
}

function run({ name, measure }: FeedTarget, { actions }: Parts, feeds: Feed[]): Promise<boolean> {
  return measure ? actions.edits.measure(feeds) : actions.edits.probe(name, feeds);
}

export function feedForm(
  target: FeedTarget,
  { fields }: Feeds,
  parts: Parts,
  close: () => void,
): HTMLFormElement {
  const rows = fields.map((field) => feedRow(field, parts));
  const error = new ErrorLine();
  const submit = async () => {
    for (const row of rows) row.refuse("");
    const feeds = rows.map((row) => row.feed());
    if (await run(target, parts, feeds)) return close();
    const { status } = parts.store.value;
    const row = rows.find(({ tensor }) => tensor === status?.argument);
    row?.refuse(status?.text ?? "");
    error.say(row ? "" : (status?.text ?? ""));
    parts.store.set({ status: null }); // the form says it
  };
  return createForm({
    attributes: { class: "tgw-inline tgw-feed-form", novalidate: true, "aria-label": "Feeds" },
    content: [...rows.map(({ root }) => root), error.root],
    buttons: [submitButton("Run")],
    submit,
    close,
  });
}

const KINDS: Record<Feed["kind"], string> = {
  zeros: "Zeros",
  ones: "Ones",
  random: "Random",
  variable: "Variable",
  file: ".npy file",
};

interface FeedRow {
  readonly tensor: string;
  readonly root: HTMLElement;
  feed(): Feed;
  refuse(why: string): void;
}

function feedRow({ tensor, dtype, shape, feed, variables }: FeedField, parts: Parts): FeedRow {
  const label = element("span", { class: "tgw-label tgw-feed-name" }, tensor.replace(/:0$/, ""));
  const about = element("span", { class: "tgw-dtype" }, withDrawnShapes(`${dtype} ${shape}`));
  const { random: _, ...kindsOfText } = KINDS;
  const kind = selectField<Feed["kind"]>("kind", dtype === "string" ? kindsOfText : KINDS);
  kind.select.value = feed.kind;
  setAttributes(kind.select, { "aria-label": `Value of ${tensor}` });
  const input = (name: string, text: string, title: string) => {
    const field = element("input", {
      ...TEXT,
      class: "tgw-input tgw-mono",
      name,
      "aria-label": title,
      title,
    });
    field.value = text;
    return field;
  };
  const sizes = input("shape", feed.shape, "Shape");
  const low = input("low", String(feed.low), "From");
  const high = input("high", String(feed.high), "To");
  const source = input("source", feed.source, "Variable of the notebook, or path of the file");
  const names = suggest(source, variables);
  const file = { title: "Choose a .npy file", kind: "file", suffix: ".npy" } as const;
  const browse = element("div", { class: "tgw-feed-browse" }, ...browseButton(source, parts, file));
  const error = new ErrorLine();
  const range = element("span", { class: "tgw-feed-range" }, low, "to", high);
  const root = element(
    "div",
    { class: "tgw-feed", role: "group", "aria-label": tensor },
    element("div", { class: "tgw-titled" }, label, about),
    element("div", { class: "tgw-feed-line" }, kind.select, sizes, source, names),
    browse,
    range,
    error.root,
  );
  const update = () => {
    const chosen = kind.value();
    const isMade = chosen !== "variable" && chosen !== "file";
    sizes.hidden = !isMade || sizes.value === "[]";
    source.hidden = isMade;
    browse.hidden = chosen !== "file";
    range.hidden = chosen !== "random";
    setAttributes(source, {
      list: chosen === "variable" ? names.id : undefined,
      placeholder: chosen === "file" ? "data/x.npy" : "name",
    });
  };
  kind.select.addEventListener("change", () => {
    // some browsers leave the focus in a field that is hidden now, and a menu closes without it
    kind.select.focus();
    update();
    if (!source.hidden) source.focus();
  });
  update();
  const number = (field: HTMLInputElement) => Number.parseFloat(field.value) || 0;
  return {
    tensor,
    root,
    feed: () => ({
      tensor,
      kind: kind.value(),
      shape: sizes.value.trim(),
      low: number(low),
      high: number(high),
      source: source.value.trim(),
    }),
    refuse: (why) => {
      error.say(why);
      const isRangeWrong = kind.value() === "random" && number(low) > number(high);
      const wrong = why === "" ? [] : isRangeWrong ? [low, high] : [sizes, source];
      for (const field of [sizes, source, low, high])
        setAttributes(field, { "aria-invalid": wrong.includes(field) ? "true" : undefined });
    },
  };
}
