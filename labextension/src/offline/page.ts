// Entry of the page that editor.save("view.html") writes: the view of the notebook, with
// offline-backend.ts in place of a kernel.

import { createView } from "../app";
import { createBeside } from "../beside/beside";
import { readDocument } from "../beside/document";
import type { Channel } from "../rpc/model-channel";
import { localChannel, OfflineBackend } from "./offline-backend";
import style from "./page.css";
import { fromBase64, unpack } from "./page-data";

async function show(): Promise<void> {
  const place = document.getElementById("tfgraphwidget");
  if (!place) return;
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const heading = document.querySelector("header");
  const height = () => window.innerHeight - (heading?.offsetHeight ?? 0);
  try {
    const channel = await channelOf("data");
    const beside = partOf("beside");
    const settings = {
      height: height(),
      software: true,
      readOnly: true,
      revision: () => 1,
      isAlone: () => true,
    };
    const pair = beside
      ? ([await channelOf("before"), await readDocument(fromBase64(beside))] as const)
      : null;
    place.replaceChildren();
    const view = pair
      ? createBeside(place, [pair[0], channel], pair[1], settings)
      : createView(place, channel, settings);
    // Keys go to the list, before anything is clicked.
    place.querySelector<HTMLElement>(".tgw-beside")?.focus();
    window.addEventListener("resize", () => view.setHeight(height()));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    place.textContent = `This page cannot be shown: ${why}`;
  }
}

/** A piece of the page's data; "" for what it does not have. */
function partOf(what: string): string {
  return document.getElementById(`tfgraphwidget-${what}`)?.textContent ?? "";
}

async function channelOf(what: string): Promise<Channel> {
  return localChannel(new OfflineBackend(await unpack(partOf(what))));
}

void show();
