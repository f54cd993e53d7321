// Rooms: the graph itself, and the functions inside it that one can enter. Each keeps its own camera.
import type { State } from "./protocol";
import type { Entrance } from "./render/arrival";
import type { Screen } from "./store";

/** The name of the room that a state is of: "" before there is one. */
export function roomOf(state: State | null): string {
  return state?.path.join(" / ") ?? "";
}

/** What going from the present room to that of `next` means for the screen; null when it is the same room. */
export function moved(
  { state, camera, rooms }: Pick<Screen, "state" | "camera" | "rooms">,
  next: State,
): { change: Partial<Screen>; entrance: Entrance } | null {
  if (!state || roomOf(state) === roomOf(next)) return null;
  return {
    // What was looked at, found or asked for is not there any more.
    change: {
      rooms: new Map(rooms).set(roomOf(state), camera),
      picked: "",
      details: null,
      found: null,
      hitNames: [],
      hit: -1,
      query: "",
      region: null,
      picking: null,
    },
    entrance: { camera: rooms.get(roomOf(next)) ?? null, inward: next.path.length > state.path.length },
  };
}
