// What only the screen knows, beside the last thing Python said. Nothing here is ever synced.
import type { Progress } from "./channel";
import type { Examined, Found, Inspected, Offer, Previewed, State } from "./protocol";
import type { Camera, Point } from "./render/camera";
import type { Lift } from "./render/lift";
import type { Region, Shape } from "./render/region";
import type { Paint, Scene } from "./scene";

/** What a click does. */
export type Mode = "look" | "input" | "output";
/** What a drag does. */
export type Tool = "pan" | Shape;
export interface Status {
  readonly kind: "notice" | "refused" | "error";
  readonly text: string;
  /** Edits that would do instead. */
  readonly mends?: readonly Offer[];
}

/** A tensor on its way to an op that shall read it. */
export interface Aim {
  /** The op that it comes from. */
  readonly op: string;
  /** "" until it is known. */
  readonly tensor: string;
  /** Where the line ends, on the canvas. */
  readonly point: Point;
  /** The ops in view that cannot read it, and why; null until the kernel has said so. */
  readonly refused: ReadonlyMap<string, string> | null;
}

/** An op is to be clicked: the status line asks for it as long as it is so. */
export interface Picking {
  readonly ask: string;
  take(op: string): void;
}

export interface Screen {
  /** The last drawing, selection and state that Python sent. */
  readonly scene: Scene | null;
  readonly paint: Paint | null;
  readonly state: State | null;
  readonly camera: Camera;
  /** Where the camera was in the rooms that were left, by the name of the room (rooms.ts). */
  readonly rooms: ReadonlyMap<string, Camera>;
  /** The item under the pointer, or -1. */
  readonly hover: number;
  /** The key (scene.ts keyOf) of the item that the inspector shows, or "". */
  readonly picked: string;
  readonly mode: Mode;
  readonly tool: Tool;
  /** The box or lasso that is being drawn. */
  readonly region: Region | null;
  /** The box that is being moved. */
  readonly lift: Lift | null;
  /** What is being dragged from a port. */
  readonly aim: Aim | null;
  /** Who takes the op that is clicked next. */
  readonly picking: Picking | null;
  readonly panelOpen: boolean;
  /** Whether control edges are drawn. */
  readonly controls: boolean;
  /** Whether the minimap is there. */
  readonly minimap: boolean;
  /** Whether the help sheet is open. */
  readonly helping: boolean;
  readonly details: Inspected | null;
  /** What else there is to say of the op in the inspector, once it has come. */
  readonly examined: Examined | null;
  readonly found: Found | null;
  /** The names of the ops found, in the order of the list (finding.ts). */
  readonly hitNames: readonly string[];
  /** The place among them of the one gone to last, or -1. */
  readonly hit: number;
  /** What the last clone that was asked about would do. */
  readonly preview: Previewed | null;
  /** Whether that is not the present one any more: its answer is on the way. */
  readonly previewing: boolean;
  readonly query: string;
  readonly status: Status | null;
  /** Ops that a refusal names. */
  readonly warned: readonly string[];
  /** The warnings that were read and put away. */
  readonly dismissed: readonly string[];
  /** Requests without an answer yet. */
  readonly pending: number;
  /** What the kernel does that takes its time, and how far it is; "" while a request waits for its turn. */
  readonly working: Progress | null;
  /** Whether nobody in the kernel answers any more. */
  readonly gone: boolean;
  /** Whether the last scene and selection are on the canvas, at rest. */
  readonly drawn: boolean;
}

const EMPTY: Screen = {
  scene: null,
  paint: null,
  state: null,
  camera: { x: 0, y: 0, zoom: 1 },
  rooms: new Map(),
  hover: -1,
  picked: "",
  mode: "look",
  tool: "pan",
  region: null,
  lift: null,
  aim: null,
  picking: null,
  panelOpen: true,
  controls: true,
  minimap: true,
  helping: false,
  details: null,
  examined: null,
  found: null,
  hitNames: [],
  hit: -1,
  preview: null,
  previewing: false,
  query: "",
  status: null,
  warned: [],
  dismissed: [],
  pending: 0,
  working: null,
  gone: false,
  drawn: false,
};

type Listener = (screen: Screen) => void;

/** An observable value: listeners name the fields they depend on and are called once per change. */
export class Store {
  #value: Screen = EMPTY;
  readonly #listeners: { fields: readonly (keyof Screen)[]; listener: Listener }[] = [];

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

  /** Call `listener` now and whenever one of `fields` has another value. */
  watch(fields: readonly (keyof Screen)[], listener: Listener): void {
    this.#listeners.push({ fields, listener });
    listener(this.#value);
  }
}
