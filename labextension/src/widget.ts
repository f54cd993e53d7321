// The anywidget entry: one channel per model, one view per render.
import type { AnyModel } from "@anywidget/types";
import { createView, type View } from "./app";
import { type Channel, openChannel } from "./channel";

/** The synced traits of tfgraphwidget/widget.py; the graph itself never is one. */
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
    channel = openChannel(model);
    const catchUp = () => {
      for (const view of views) view.catchUp();
    };
    const setHeight = () => {
      for (const view of views) view.setHeight(model.get("height"));
    };
    model.on("change:revision", catchUp);
    model.on("change:height", setHeight);
    return () => {
      model.off("change:revision", catchUp);
      model.off("change:height", setHeight);
      channel?.close();
    };
  }

  function render({ model, el }: Props & { el: HTMLElement }): () => void {
    if (!channel) throw new Error("tfgraphwidget was drawn before it was initialised.");
    const settings = {
      height: model.get("height"),
      software: model.get("software_canvas"),
      revision: () => model.get("revision"),
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
