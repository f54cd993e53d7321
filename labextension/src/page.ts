// The page that editor.save("view.html") writes: the same view as in a notebook, over a channel that answers itself.
import { createView } from "./app";
import { unpacked } from "./page/data";
import { House, localChannel } from "./page/house";
import style from "./page/page.css";

async function show(): Promise<void> {
  const place = document.getElementById("tfgraphwidget");
  const packed = document.getElementById("tfgraphwidget-data")?.textContent ?? "";
  if (!place) return;
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  try {
    const data = await unpacked(packed);
    place.replaceChildren();
    const view = createView(place, localChannel(new House(data)), {
      height: window.innerHeight,
      software: true,
      revision: () => 1,
    });
    window.addEventListener("resize", () => view.setHeight(window.innerHeight));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.textContent = `This page cannot be shown: ${why}`;
  }
}

void show();
