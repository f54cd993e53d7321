// Results computed once per scene, such as the edges at each item.
import { at, type Scene } from "../../protocol/scene";

/** So many for a drawing: what depends on the zoom comes and goes. */
const MOST = 12;
const known = new WeakMap<Scene, Map<string, unknown>>();

/** What `work` makes of a scene, made once. */
export function cachedForScene<T>(scene: Scene, name: string, work: (scene: Scene) => T): T {
  const found = known.get(scene) ?? new Map<string, unknown>();
  known.set(scene, found);
  if (!found.has(name)) {
    const [oldest] = [...found.keys()].filter((key) => key.includes(" "));
    if (found.size >= MOST && oldest) found.delete(oldest);
    found.set(name, work(scene));
  }
  return found.get(name) as T;
}

/** Edges by item: those of an item are `edges` from `start[item]` to `start[item + 1]`. */
interface IncidentEdges {
  readonly start: Uint32Array;
  readonly edges: Uint32Array;
}

function incidentEdges(scene: Scene): IncidentEdges {
  const start = new Uint32Array(scene.length + 1);
  const ends = [scene.source, scene.target];
  for (const end of ends) for (const item of end) start[item + 1] = at(start, item + 1) + 1;
  for (let item = 0; item < scene.length; item++)
    start[item + 1] = at(start, item + 1) + at(start, item);
  const next = start.slice();
  const edges = new Uint32Array(2 * scene.edges);
  for (const end of ends)
    for (let edge = 0; edge < scene.edges; edge++) {
      const item = at(end, edge);
      edges[at(next, item)] = edge;
      next[item] = at(next, item) + 1;
    }
  return { start, edges };
}

/** The lines at an item. */
export function edgesAt(scene: Scene, item: number): number[] {
  if (item <= 0) return [];
  const { start, edges } = cachedForScene(scene, "wiring", incidentEdges);
  return [...new Set(edges.subarray(at(start, item), at(start, item + 1)))];
}
