// Navigation between the top level and functions. Each graph keeps its own camera.
import type { State } from "../protocol/messages";
import type { GraphEntry } from "../render/camera/destination";
import type { Screen } from "./store";

/** A key for the graph that a state belongs to: "" before there is one. */
export function graphKey(state: State | null): string {
  return state?.path.join(" / ") ?? "";
}

/**
 * How the screen changes from the current graph to that of `next`; null if it is the same graph.
 */
export function graphChange(
  { state, camera, cameras }: Pick<Screen, "state" | "camera" | "cameras">,
  next: State,
): { change: Partial<Screen>; entrance: GraphEntry } | null {
  if (!state || graphKey(state) === graphKey(next)) return null;
  return {
    // Inspected items, search hits and pending picks belong to the previous graph.
    change: {
      cameras: new Map(cameras).set(graphKey(state), camera),
      picked: "",
      details: null,
      found: null,
      hitNames: [],
      hitOps: [],
      hitCounts: [],
      hit: -1,
      query: "",
      region: null,
      picking: null,
    },
    entrance: {
      camera: cameras.get(graphKey(next)) ?? null,
      inward: next.path.length > state.path.length,
    },
  };
}
