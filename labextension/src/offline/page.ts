// Entry of the page that editor.save("view.html") writes: the view of the notebook, with
// offline-backend.ts in place of a kernel.

import { createView } from "../app";
import { localChannel, OfflineBackend } from "./offline-backend";
import style from "./page.css";
import { unpack } from "./page-data";

async function show(): Promise<void> {
  const place = document.getElementById("tfgraphwidget");
  const packed = document.getElementById("tfgraphwidget-data")?.textContent ?? "";
  if (!place) return;
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const heading = document.querySelector("header");
  const height = () => window.innerHeight - (heading?.offsetHeight ?? 0);
  try {
    const data = await unpack(packed);
    place.replaceChildren();
    const view = createView(place, localChannel(new OfflineBackend(data)), {
      height: height(),
      software: true,
      readOnly: true,
      revision: () => 1,
      isAlone: () => true,
    });
    window.addEventListener("resize", () => view.setHeight(height()));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.textContent = `This page cannot be shown: ${why}`;
  }
}

void show();
