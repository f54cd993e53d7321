// What is only needed once a person asks for something of ours lies in a second file; container.js gives the way to it.
import type { later as parts } from "./later";

declare const tgwLater: () => Promise<{ later: typeof parts }>;

/** The second file's parts, fetched at the first call; rejects, and may be tried again, when the server is gone. */
export async function fetchLater(): Promise<typeof parts> {
  return (await tgwLater()).later;
}
