// The tabs of the side panel. A new one is an entry here, with its id in state/store.ts.
import { createCloneForm } from "./clone/clone-form";
import { createCosts } from "./costs/costs";
import { createPaletteSection } from "./forms/palette";
import { createChanges } from "./history/changes";
import { createHistory } from "./history/history";
import { createInspector } from "./inspector/inspector";
import { createModel } from "./model/model";
import { createSelection } from "./selection/selection";
import type { PanelTab } from "./side-panel";

export const TABS: readonly PanelTab[] = [
  {
    id: "model",
    title: "Model",
    tooltip: "What the graph is, and what can be done with the whole of it",
    kernel: true,
    render: (parts) => [createModel(parts)],
  },
  {
    id: "selection",
    title: "Selection",
    tooltip: "The selection, and its clone",
    render: (parts) =>
      parts.readOnly ? [createSelection(parts)] : [createCloneForm(parts), createSelection(parts)],
  },
  {
    id: "op",
    title: "Op",
    tooltip: "The op or scope that was clicked",
    render: (parts) =>
      parts.readOnly
        ? [createInspector(parts)]
        : [createInspector(parts), createPaletteSection(parts)],
  },
  {
    id: "history",
    title: "History",
    tooltip: "The edits, and what they changed",
    kernel: true,
    render: (parts) => [createHistory(parts), createChanges(parts)],
  },
  {
    id: "costs",
    title: "Costs",
    tooltip: "Parameters, FLOPs, memory",
    render: (parts) => [createCosts(parts)],
  },
];
