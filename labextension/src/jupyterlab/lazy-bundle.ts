// Entry of the second bundle: all that is needed only after the first user action. lazy-loader.ts
// loads it.
import { GraphDocument } from "./file-document";
import { GraphPanel } from "./graph-panel";
import { serveFiles } from "./host-files";
import { serve } from "./host-requests";
import { pickNotebook } from "./notebook-picker";
import { showSavedPicture } from "./saved-picture";

export const lazyBundle = {
  GraphDocument,
  GraphPanel,
  pickNotebook,
  serve,
  serveFiles,
  showSavedPicture,
};
