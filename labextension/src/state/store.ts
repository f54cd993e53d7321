// The state of a view: the last state that Python sent, and what only the screen knows. Nothing
// here is synced.
import type {
  BoundaryTensor,
  ClonePreview,
  ExamineReply,
  InspectReply,
  Offer,
  SearchReply,
  State,
} from "../protocol/messages";
import type { Paint, Scene } from "../protocol/scene";
import type { Camera, Point } from "../render/camera/camera";
import type { ItemMove } from "../render/gestures/move-item";
import type { Region, Shape } from "../render/hit-testing/region";
import type { Progress } from "../rpc/client";

/** What a click does. */
export type Mode = "look" | "input" | "output";
/** What a drag does. */
export type Tool = "pan" | Shape;
/** A tab of the side panel. */
export type PanelTab = "model" | "selection" | "op" | "history" | "costs";
interface StatusAction {
  readonly text: string;
  readonly title: string;
  act(): void;
}
export interface Status {
  readonly kind: "notice" | "nothing" | "refused" | "error";
  readonly text: string;
  /** The field of a form that a refusal is about. */
  readonly argument?: string;
  /** Suggested fixes. */
  readonly fixes?: readonly Offer[];
  /** Whether it is refused because the file is not trusted. */
  readonly trust?: boolean;
  /** Buttons beside a notice. */
  readonly actions?: readonly StatusAction[];
}

/** A connection in progress: a tensor is dragged to its new consumer. */
export interface Connection {
  /** The op that it comes from. */
  readonly op: string;
  /** "" until it is known. */
  readonly tensor: string;
  /** Where the line ends, on the canvas. */
  readonly point: Point;
  /** The visible ops that cannot read it, and why; null until the kernel has replied. */
  readonly refused: ReadonlyMap<string, string> | null;
}

/** A form waits for an op to be clicked; the status line shows the prompt `ask`. */
interface Picking {
  readonly ask: string;
  take(op: string): void;
}

/** A scope is marked by some of its tensors, which the user ticks. */
interface Ticking {
  readonly item: number;
  readonly side: "inputs" | "outputs";
  readonly tensors: readonly BoundaryTensor[];
  take(tensors: string[]): void;
}

/** Where the panel is; over the drawing in a view that is too small for both. */
export type PanelPlace = "beside" | "below" | "over";

export interface Screen {
  /** The last drawing, selection and state that Python sent. */
  readonly scene: Scene | null;
  readonly paint: Paint | null;
  readonly state: State | null;
  readonly camera: Camera;
  /** The last cameras of other graphs, by their key (navigation.ts). */
  readonly cameras: ReadonlyMap<string, Camera>;
  /** The item under the pointer, or -1. */
  readonly hover: number;
  /** The edge under the pointer, or -1. */
  readonly hoverEdge: number;
  /** The key (protocol/scene.ts keyOf) of the item that the inspector shows, or "". */
  readonly picked: string;
  readonly mode: Mode;
  readonly tool: Tool;
  /** The box or lasso that is being drawn. */
  readonly region: Region | null;
  /** The box that is being moved. */
  readonly itemMove: ItemMove | null;
  /** The connection that is being dragged from a port. */
  readonly connecting: Connection | null;
  /** The form that gets the next clicked op. */
  readonly picking: Picking | null;
  /** The tensors to tick, see Ticking. */
  readonly ticking: Ticking | null;
  readonly panelOpen: boolean;
  readonly panelPlace: PanelPlace;
  /** The tab in front. */
  readonly tab: PanelTab;
  /** Whether control edges are drawn. */
  readonly controls: boolean;
  /** Whether the minimap is there. */
  readonly minimap: boolean;
  /** Whether the help sheet is open. */
  readonly helping: boolean;
  readonly details: InspectReply | null;
  /** The op whose outputs were computed last, on request; another object for each run. */
  readonly run: { readonly name: string } | null;
  /** Further details of the inspected op, once received. */
  readonly examined: ExamineReply | null;
  readonly found: SearchReply | null;
  /** The names of the ops found, in the order of the list (search-results.ts). */
  readonly hitNames: readonly string[];
  /** Of a pattern, the ops of each hit, in the same order; else none. */
  readonly hitOps: readonly (readonly string[])[];
  /** How many ops found each closed scope and group of the drawing holds; of a pattern, none. */
  readonly hitCounts: readonly (readonly [string, number])[];
  /** The position of the current hit, or -1. */
  readonly hit: number;
  /** The last received preview of a clone. */
  readonly preview: ClonePreview | null;
  /** Whether a newer preview has been requested. */
  readonly previewing: boolean;
  readonly query: string;
  readonly status: Status | null;
  /** Ops that a refusal names. */
  readonly warned: readonly string[];
  /** Ops and scopes that an edit changed, which the pointer is on in the history. */
  readonly edited: readonly string[];
  /** The warnings that the user dismissed. */
  readonly dismissed: readonly string[];
  /** The number of requests without a reply. */
  readonly pending: number;
  /** The progress of a long operation; `what` is "" while the kernel has not begun. */
  readonly working: Progress | null;
  /** Whether the kernel has stopped replying. */
  readonly kernelGone: boolean;
  /** Whether the last scene and selection are on the canvas, at rest. */
  readonly drawn: boolean;
}

const EMPTY: Screen = {
  scene: null,
  paint: null,
  state: null,
  camera: { x: 0, y: 0, zoom: 1 },
  cameras: new Map(),
  hover: -1,
  hoverEdge: -1,
  picked: "",
  mode: "look",
  tool: "pan",
  region: null,
  itemMove: null,
  connecting: null,
  picking: null,
  ticking: null,
  panelOpen: true,
  panelPlace: "beside",
  tab: "model",
  controls: true,
  minimap: true,
  helping: false,
  details: null,
  run: null,
  examined: null,
  found: null,
  hitNames: [],
  hitOps: [],
  hitCounts: [],
  hit: -1,
  preview: null,
  previewing: false,
  query: "",
  status: null,
  warned: [],
  edited: [],
  dismissed: [],
  pending: 0,
  working: null,
  kernelGone: false,
  drawn: false,
};

type Listener = (screen: Screen) => void;

/** An observable value: listeners name their slice of it and are called once per change. */
export class Store {
  #value: Screen = EMPTY;
  readonly #listeners = new Set<{ fields: readonly (keyof Screen)[]; listener: Listener }>();

  get value(): Screen {
    return this.#value;
  }

  set(change: Partial<Screen>): void {
    const before = this.#value;
    const after = { ...before, ...change };
    this.#value = after;
    for (const { fields, listener } of this.#listeners) {
      if (fields.some((field) => before[field] !== after[field])) listener(this.#value);
    }
  }

  /**
   * Call `listener` now and whenever one of `fields` has another value, until the function that is
   * returned is called. It gets these fields; what it reads besides, without waiting for it, is in
   * `value`.
   */
  watch<Field extends keyof Screen>(
    fields: readonly Field[],
    listener: (slice: Pick<Screen, Field>) => void,
  ): () => void {
    const entry = { fields, listener: listener as Listener };
    this.#listeners.add(entry);
    listener(this.#value);
    return () => this.#listeners.delete(entry);
  }
}

/**
 * Bring the tab of the panel to the front that shows what was done; the costs stay, which are
 * linked with the drawing.
 */
export function bringForward(store: Store, tab: PanelTab): void {
  if (store.value.tab !== "costs") store.set({ tab });
}
