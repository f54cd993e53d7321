// The anywidget entry: one channel per model, one view per render.
import type { AnyModel } from "@anywidget/types";
import { createView, type View } from "./app";
import { type Channel, openChannel } from "./rpc/model-channel";

/**
 * Jupyter's widgets send this event when a kernel is restarted; elsewhere the next request detects
 * it.
 */
const RESTARTED = "comm_live_update";
/** Milliseconds after which the kernel is checked. */
const ASLEEP = 60_000;

/** The synced traits of tfgraphwidget/widget/widget.py; the graph itself is never synced. */
interface Traits extends Record<string, unknown> {
  revision: number;
  height: number;
  software_canvas: boolean;
}
interface Props {
  model: AnyModel<Traits>;
}

/** Called by anywidget once per model. */
export default function tfgraphwidget() {
  let channel: Channel | null = null;
  const views = new Set<View>();

  function initialize({ model }: Props): () => void {
    const opened = openChannel(model);
    channel = opened;
    const catchUp = () => {
      for (const view of views) view.catchUp();
    };
    const setHeight = () => {
      for (const view of views) view.setHeight(model.get("height"));
    };
    const check = () => void opened.check();
    // A laptop was closed for a while, or the network was away.
    const wake = () => {
      if (!document.hidden && performance.now() - awake > ASLEEP) check();
      awake = performance.now();
    };
    let awake = performance.now();
    model.on("change:revision", catchUp);
    model.on("change:height", setHeight);
    model.on(RESTARTED, check);
    addEventListener("online", check);
    document.addEventListener("visibilitychange", wake);
    return () => {
      model.off("change:revision", catchUp);
      model.off("change:height", setHeight);
      model.off(RESTARTED, check);
      removeEventListener("online", check);
      document.removeEventListener("visibilitychange", wake);
      opened.close();
    };
  }

  function render({ model, el }: Props & { el: HTMLElement }): () => void {
    if (!channel) throw new Error("tfgraphwidget was drawn before it was initialized.");
    const settings = {
      height: model.get("height"),
      software: model.get("software_canvas"),
      revision: () => model.get("revision"),
      isAlone: () => views.size === 1,
    };
    const view = createView(el, channel, settings);
    views.add(view);
    return () => {
      views.delete(view);
      view.close();
    };
  }

  return { initialize, render };
}
