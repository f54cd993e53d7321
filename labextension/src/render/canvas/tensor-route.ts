// Follows tensors through the borders of scopes: an edge is drawn in parts, which meet at ports
// (visible/visible_graph.py).
import { at, type Scene } from "../../protocol/scene";
import { cachedForScene, edgesAt } from "./incident-edges";

/** All parts of the edges that carry what one part carries, and the boxes at their ends. */
export interface TensorRoute {
  readonly edges: readonly number[];
  readonly producers: readonly number[];
  readonly consumers: readonly number[];
}

interface Ports {
  /** By port: the edges that arrive there, and those that go on from there. */
  readonly arriving: ReadonlyMap<number, readonly number[]>;
  readonly onward: ReadonlyMap<number, readonly number[]>;
}

/** So many are followed from one edge: more show nothing. */
const MOST = 1500;
const PORTS = 256;

/** Everything that an edge carries, back to the producers and on to the consumers. */
export function tensorRoute(scene: Scene, edge: number): TensorRoute {
  const back = follow(scene, edge, "arriving");
  const on = follow(scene, edge, "onward");
  const ends = (edges: readonly number[], end: Int32Array, port: Uint8Array) => [
    ...new Set(edges.filter((one) => at(port, one) === 0).map((one) => at(end, one))),
  ];
  return {
    edges: [...new Set([...back, ...on])],
    producers: ends(back, scene.source, scene.sourcePort),
    consumers: ends(on, scene.target, scene.targetPort),
  };
}

/** The edges that lead to an item and away from it, and the boxes outside of it at their ends. */
export interface ItemRoutes {
  readonly arriving: readonly number[];
  readonly leaving: readonly number[];
  readonly producers: readonly number[];
  readonly consumers: readonly number[];
}

/**
 * Everything that an item reads, from the producers on, and all that it gives, to the consumers;
 * of an open scope with the parts of the edges inside it.
 */
export function routesOf(
  scene: Scene,
  item: number,
  isDrawn: (edge: number) => boolean,
): ItemRoutes {
  const { source, target, sourcePort, targetPort, parent } = scene;
  const lines = edgesAt(scene, item).filter(isDrawn);
  const from = lines.filter((edge) => at(source, edge) === item);
  const to = lines.filter((edge) => at(target, edge) === item);
  // An edge between a scope and its child runs inside: it begins where tensors enter the scope.
  const isInside = (edge: number) =>
    at(parent, at(source, edge)) === item || at(parent, at(target, edge)) === item;
  const all = (edges: readonly number[], way: keyof Ports) =>
    [...new Set(edges.flatMap((edge) => follow(scene, edge, way)))].filter(isDrawn).slice(0, MOST);
  const isOutside = (edge: number) => !isInside(edge);
  const before = all(to.filter(isOutside), "arriving");
  const after = all(from.filter(isOutside), "onward");
  const ends = (edges: readonly number[], end: Int32Array, port: Uint8Array) => [
    ...new Set(edges.filter((edge) => at(port, edge) === 0).map((edge) => at(end, edge))),
  ];
  return {
    arriving: [...before, ...all(from.filter(isInside), "onward")],
    leaving: [...after, ...all(to.filter(isInside), "arriving")],
    producers: ends(before, source, sourcePort),
    consumers: ends(after, target, targetPort),
  };
}

/** An edge, and what comes to it ("arriving") or goes on from it, through all borders. */
function follow(scene: Scene, edge: number, way: keyof Ports): number[] {
  const ports = cachedForScene(scene, "ports", portsOf);
  const found = new Set([edge]);
  for (const one of found) {
    if (found.size > MOST) break;
    const port = way === "arriving" ? sourceKey(scene, one) : targetKey(scene, one);
    for (const next of ports[way].get(port) ?? []) found.add(next);
  }
  return [...found];
}

function portsOf(scene: Scene): Ports {
  const [arriving, onward] = [new Map<number, number[]>(), new Map<number, number[]>()];
  const add = (to: Map<number, number[]>, key: number, edge: number) => {
    if (key < 0) return;
    const there = to.get(key);
    if (there) there.push(edge);
    else to.set(key, [edge]);
  };
  for (let edge = 0; edge < scene.edges; edge++) {
    add(arriving, targetKey(scene, edge), edge);
    add(onward, sourceKey(scene, edge), edge);
  }
  return { arriving, onward };
}

/**
 * The port where an edge begins: of the scope around it, where tensors enter that, or of one that
 * they leave; or -1.
 */
function sourceKey({ source, target, parent, sourcePort }: Scene, edge: number): number {
  const [from, port] = [at(source, edge), at(sourcePort, edge)];
  const leaves = at(parent, at(target, edge)) === from ? 0 : 1;
  return port === 0 ? -1 : (2 * from + leaves) * PORTS + port;
}

function targetKey({ source, target, parent, targetPort }: Scene, edge: number): number {
  const [to, port] = [at(target, edge), at(targetPort, edge)];
  const leaves = at(parent, at(source, edge)) === to ? 1 : 0;
  return port === 0 ? -1 : (2 * to + leaves) * PORTS + port;
}
