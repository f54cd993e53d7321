// The form that asks for the values of placeholders, where a run needs them; what was fed last is
// proposed again.
import type { Parts } from "../../interaction/parts";
import {
  type Feed,
  type FeedField,
  type Feeds,
  FORMS,
  type FormField,
} from "../../protocol/messages";
import { createForm } from "../controls/edit-form";
import { innerValues } from "../controls/fields";
import type { Field, Values } from "../controls/form-fields";
import { FormSlot } from "../controls/form-slot";

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
  const slot = new FormSlot(parts);
  const show = (feeds: Feeds) => slot.show(feedForm(target, feeds, parts, slot.close));
  const edit = async () => {
    const feeds = await parts.actions.edits.feedable(target.name, target.measure);
    if (feeds && feeds.fields.length > 0) return show(feeds);
    const text = "These outputs depend on no placeholder.";
    if (feeds) parts.actions.showStatus({ kind: "notice", text });
  };
  return { slot: slot.root, run: () => runWithFeeds(target, parts, show), edit };
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
  const groups = fields.map((field) => ({
    key: field.tensor,
    label: field.tensor.replace(/:0$/, ""),
    title: `${field.dtype} ${field.shape}`,
    kind: "group" as const,
    fields: feedFields(field),
  }));
  const apply = (values: Values) => {
    const feeds = fields.map(({ tensor, feed }) => feedOf(feed, innerValues(values, tensor)));
    return run(target, parts, feeds);
  };
  return createForm({ fields: groups, apply, submit: "Run", label: "Feeds" }, parts, close);
}

/** The fields for a placeholder: a scalar has no shape, and no text is random. */
function feedFields({ dtype, feed, variables }: FeedField): Field[] {
  return FORMS.feed
    .filter(({ key }) => key !== "shape" || feed.shape !== "[]")
    .map((field) => ({
      ...field,
      ...(field.key === "kind" && dtype === "string" && withoutWord(field, "random")),
      ...(field.key === "source" && field.kind !== "file" && { words: variables }),
      initial: String(feed[field.key as keyof Feed]),
    }));
}

function withoutWord({ words = [], texts = [] }: FormField, word: string): Partial<FormField> {
  const isOther = (_: string, i: number) => words[i] !== word;
  return { words: words.filter(isOther), texts: texts.filter(isOther) };
}

/** What is fed: the last feed, with what the fields hold. */
export function feedOf(last: Feed, values: Values): Feed {
  const number = (text = "0") => Number.parseFloat(text) || 0;
  return {
    ...last,
    ...values,
    low: values["low"] === undefined ? last.low : number(values["low"]),
    high: values["high"] === undefined ? last.high : number(values["high"]),
  };
}
