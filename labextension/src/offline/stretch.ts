// A map of one axis that makes space for boxes that have grown: it keeps order and never brings two
// places nearer.

/** A box along one axis, and the space that it needs now on either side of the place `at` in it. */
export interface Span {
  readonly low: number;
  readonly at: number;
  readonly high: number;
  readonly before: number;
  readonly after: number;
}

/** From a place as it was drawn to where it is now. */
export type Stretch = (place: number) => number;

interface Need {
  readonly from: number;
  readonly to: number;
  readonly space: number;
}

/**
 * The least map of [0, size] with which every span has its space. It grows at least as fast as its
 * argument, so what was apart stays apart, and whatever stood between two others still does.
 *
 * Along the places where spans begin and end, what is as far to the left as it may and what is as
 * far to the right as it may are two solutions; so is their mean, which leaves small boxes in the
 * middle beside wide ones.
 */
export function stretchAxis(spans: readonly Span[], size: number): Stretch {
  if (spans.length === 0) return (place) => place;
  // Places are rounded, so a box may end a little beyond the border.
  const within = (place: number) => Math.min(Math.max(place, 0), size);
  const ends = spans.flatMap(({ low, at, high }) => [low, at, high].map(within));
  const knots = Float64Array.from(new Set([0, size, ...ends]));
  knots.sort();
  const number = new Map([...knots].map((place, k) => [place, k]));
  const needs = spans.flatMap(({ low, at, high, before, after }): Need[] => {
    const [from, middle, to] = [low, at, high].map((place) => number.get(within(place)) ?? 0) as [
      number,
      number,
      number,
    ];
    return [
      { from, to: middle, space: before },
      { from: middle, to, space: after },
    ];
  });
  const places = meanSolution(knots, needs);
  return (place) => interpolate(knots, places, place);
}

function meanSolution(knots: Float64Array, needs: readonly Need[]): Float64Array {
  const count = knots.length;
  const ending = Array.from({ length: count }, (): Need[] => []);
  const beginning = Array.from({ length: count }, (): Need[] => []);
  for (const need of needs) {
    ending[need.to]?.push(need);
    beginning[need.from]?.push(need);
  }
  const near = new Float64Array(count);
  const gap = (k: number) => (knots[k + 1] as number) - (knots[k] as number);
  near[0] = knots[0] as number;
  for (let k = 1; k < count; k++) {
    near[k] = (near[k - 1] as number) + gap(k - 1);
    for (const { from, space } of ending[k] ?? [])
      near[k] = Math.max(near[k] as number, from < k ? (near[from] as number) + space : 0);
  }
  const far = near.slice();
  for (let k = count - 2; k >= 0; k--) {
    far[k] = (far[k + 1] as number) - gap(k);
    for (const { to, space } of beginning[k] ?? [])
      if (to > k) far[k] = Math.min(far[k] as number, (far[to] as number) - space);
  }
  return near.map((place, k) => (place + (far[k] as number)) / 2);
}

function interpolate(knots: Float64Array, places: Float64Array, place: number): number {
  const last = knots.length - 1;
  if (place <= (knots[0] as number)) return place - (knots[0] as number) + (places[0] as number);
  if (place >= (knots[last] as number))
    return place - (knots[last] as number) + (places[last] as number);
  let [low, high] = [0, last];
  while (high - low > 1) {
    const half = (low + high) >> 1;
    if ((knots[half] as number) <= place) low = half;
    else high = half;
  }
  const [a, b] = [knots[low] as number, knots[high] as number];
  const [x, y] = [places[low] as number, places[high] as number];
  return x + ((place - a) * (y - x)) / (b - a);
}
