// The second file: all that is only used once a person asks for it. Fetched by lazily.ts.
import { GraphDocument } from "./files-document";
import { GraphPanel } from "./graph-panel";
import { insertCell } from "./inserting";
import { askWhich } from "./which";

export const later = { GraphDocument, GraphPanel, insertCell, askWhich };
