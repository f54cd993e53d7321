// The anywidget entry: one channel per model, one view per render.
import type { AnyModel } from "@anywidget/types";
import { createView, type View } from "./app";
import { type BesideView, createBeside } from "./beside/beside";
import { type BesideDocument, readDocument } from "./beside/document";
import { SIDES, type Side } from "./beside/partners";
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
  height: number;
  software_canvas: boolean;
  /** Of GraphWidget. */
  revision: number;
  /** Of BesideWidget: of each pane, and what the page knows of both graphs together. */
  revisions: [number, number];
  document?: DataView;
}
interface Props {
  model: AnyModel<Traits>;
}
type Shown = Pick<View, "catchUp" | "setHeight" | "close"> & Partial<BesideView>;

/** Called by anywidget once per model. */
export default function tfgraphwidget() {
  /** One for a graph; one for each pane of two graphs. */
  let channels: readonly ModelChannel[] = [];
  const views = new Set<Shown>();

  function initialize({ model }: Props): () => void {
    channels = isBeside(model)
      ? SIDES.map((side) => openChannel(wireOf(model, side)))
      : [openChannel(model)];
    const catchUp = () => {
      for (const view of views) view.catchUp();
    };
    const setHeight = () => {
      for (const view of views) view.setHeight(model.get("height"));
    };
    const setDocument = async () => {
      const compared = await documentOf(model);
      for (const view of views) view.setDocument?.(compared);
    };
    const check = () => {
      for (const channel of channels) void channel.check();
    };
    // A laptop was closed for a while, or the network was away.
    const wake = () => {
      if (!document.hidden && performance.now() - awake > ASLEEP) check();
      awake = performance.now();
    };
    let awake = performance.now();
    const listeners = [
      ["change:revision", catchUp],
      ["change:revisions", catchUp],
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
      for (const channel of channels) channel.close();
    };
  }

  function render({ model, el }: Props & { el: HTMLElement }): () => void {
    const [channel, other] = channels;
    if (!channel) throw new Error("tfgraphwidget was drawn before it was initialized.");
    const settings = { height: model.get("height"), software: model.get("software_canvas") };
    const closed = new AbortController();
    const show = (view: Shown) => {
      if (closed.signal.aborted) return view.close();
      views.add(view);
      closed.signal.addEventListener("abort", () => {
        views.delete(view);
        view.close();
      });
    };
    if (other) {
      const revision = (side: Side) => model.get("revisions")[side];
      void documentOf(model).then((compared) =>
        show(createBeside(el, [channel, other], compared, { ...settings, revision })),
      );
    } else {
      const revision = () => model.get("revision");
      show(createView(el, channel, { ...settings, revision, isAlone: () => views.size === 1 }));
    }
    return () => closed.abort();
  }

  return { initialize, render };
}

function isBeside(model: AnyModel<Traits>): boolean {
  return model.get("document") !== undefined;
}

function documentOf(model: AnyModel<Traits>): Promise<BesideDocument> {
  return readDocument((model.get("document") ?? new Uint8Array(0)) as BlobPart);
}

/** The wire of a pane: each message says which one it comes from. */
function wireOf(model: AnyModel<Traits>, side: Side): WidgetModel {
  return {
    send: (content, callbacks, buffers) =>
      model.send({ ...(content as object), side }, callbacks, buffers),
    on: (event, callback) => model.on(event, callback),
    off: (event, callback) => model.off(event, callback),
  };
}
