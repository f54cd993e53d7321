// The anywidget entry: one channel per model, one view per render.
import type { AnyModel } from "@anywidget/types";
import { createView, type View } from "./app";
import { type BesideView, createBeside } from "./beside/beside";
import { type BesideDocument, readDocument } from "./beside/document";
import { type ModelChannel, openChannel, type WidgetModel } from "./rpc/model-channel";

/**
 * Jupyter's widgets send this event when a kernel is restarted; elsewhere the next request detects
 * it.
 */
const RESTARTED = "comm_live_update";
/** Milliseconds after which the kernel is checked. */
const ASLEEP = 60_000;

/** The synced traits of tfgraphwidget/widget/widget.py; a graph itself is never synced. */
interface Traits extends Record<string, unknown> {
  revision: number;
  height: number;
  software_canvas: boolean;
  /**
   * While another graph is in a pane on the left, what the page knows of both together, else empty;
   * and the revision of that graph. JupyterLab's panels, which have one pane, have neither.
   */
  document?: DataView;
  left_revision?: number;
}
interface Props {
  model: AnyModel<Traits>;
}
type Shown = Pick<View, "catchUp" | "setHeight" | "close"> & Partial<BesideView>;

/** Called by anywidget once per model. */
export default function tfgraphwidget() {
  let channels: readonly [right: ModelChannel, left: ModelChannel] | null = null;
  const views = new Set<{ shown: Shown | null; show(): void }>();

  function initialize({ model }: Props): () => void {
    const opened = [openChannel(model), openChannel(leftWire(model))] as const;
    channels = opened;
    let isSplit = hasTwo(model);
    const catchUp = () => {
      for (const { shown } of views) shown?.catchUp();
    };
    const setHeight = () => {
      for (const { shown } of views) shown?.setHeight(model.get("height"));
    };
    const setDocument = async () => {
      const wasSplit = isSplit;
      isSplit = hasTwo(model);
      if (wasSplit && isSplit) {
        const compared = await documentOf(model);
        for (const { shown } of views) shown?.setDocument?.(compared);
      } else for (const view of views) view.show();
    };
    const check = () => {
      for (const channel of opened) void channel.check();
    };
    // A laptop was closed for a while, or the network was away.
    const wake = () => {
      if (!document.hidden && performance.now() - awake > ASLEEP) check();
      awake = performance.now();
    };
    let awake = performance.now();
    const listeners = [
      ["change:revision", catchUp],
      ["change:left_revision", catchUp],
      ["change:document", () => void setDocument()],
      ["change:height", setHeight],
      [RESTARTED, check],
    ] as const;
    for (const [event, listener] of listeners) model.on(event, listener);
    addEventListener("online", check);
    document.addEventListener("visibilitychange", wake);
    return () => {
      for (const [event, listener] of listeners) model.off(event, listener);
      removeEventListener("online", check);
      document.removeEventListener("visibilitychange", wake);
      for (const channel of opened) channel.close();
    };
  }

  function render({ model, el }: Props & { el: HTMLElement }): () => void {
    if (!channels) throw new Error("tfgraphwidget was drawn before it was initialized.");
    const [right, left] = channels;
    const settings = () => ({
      height: model.get("height"),
      software: model.get("software_canvas"),
      canSplit: model.get("document") !== undefined,
      isAlone: () => views.size === 1,
    });
    const view = {
      shown: null as Shown | null,
      /** One graph, or two: what is shown is closed once the other is there. */
      async show() {
        const compared = hasTwo(model) ? await documentOf(model) : null;
        view.shown?.close();
        view.shown = null;
        if (!views.has(view)) return;
        const revision = () => model.get("revision");
        view.shown = compared
          ? createBeside(el, [left, right], compared, {
              ...settings(),
              revision: (side) => (side === 0 ? (model.get("left_revision") ?? 0) : revision()),
              pair: (before, after) =>
                right
                  .request({ type: "pair_by_hand", before, after })
                  .then((answer) => (answer.type === "refusal" ? answer.why : "")),
              leave: () => void right.request({ type: "beside", source: "" }),
            })
          : createView(el, right, { ...settings(), revision });
      },
    };
    views.add(view);
    void view.show();
    return () => {
      views.delete(view);
      view.shown?.close();
    };
  }

  return { initialize, render };
}

/** Whether another graph is in a pane on the left. */
function hasTwo(model: AnyModel<Traits>): boolean {
  return (model.get("document")?.byteLength ?? 0) > 0;
}

function documentOf(model: AnyModel<Traits>): Promise<BesideDocument> {
  return readDocument(model.get("document") as BlobPart);
}

/** The wire of the left pane: each message says that it comes from there. */
function leftWire(model: AnyModel<Traits>): WidgetModel {
  return {
    send: (content, callbacks, buffers) =>
      model.send({ ...(content as object), left: true }, callbacks, buffers),
    on: (event, callback) => model.on(event, callback),
    off: (event, callback) => model.off(event, callback),
  };
}
