// The tensor that runs along a line of the drawing, also where the line is only the part of its way
// to a scope's border.
import type { InspectReply } from "../protocol/messages";
import { at, isScope, keyOf, type Scene } from "../protocol/scene";

/**
 * A tensor, and the ops and scopes at the end of the line that read it; none where all of them are.
 */
export interface LineTensor {
  readonly tensor: string;
  readonly only: readonly string[];
}

type Describe = (key: string) => Promise<InspectReply | null>;

/** Null where several tensors run along a line, or it is between closed scopes. */
export async function lineTensor(
  scene: Scene,
  edge: number,
  describe: Describe,
): Promise<LineTensor | null> {
  const [source, target] = [at(scene.source, edge), at(scene.target, edge)];
  const [from, to] = [keyOf(scene, source), keyOf(scene, target)];
  if (!isScope(at(scene.kind, source))) {
    const leaves = isAround(scene, target, source);
    const isRead = (peer: string) => isIn(peer, to) !== leaves;
    const outputs = ((await describe(from))?.outputs ?? []).filter(({ peers }) =>
      peers.some(isRead),
    );
    const [output] = outputs;
    if (!output || outputs.length > 1) return null;
    return {
      tensor: output.name,
      only: leaves ? output.peers.filter(isRead) : [scene.names[target] ?? ""],
    };
  }
  if (isScope(at(scene.kind, target))) return null;
  const enters = isAround(scene, source, target);
  const inputs = ((await describe(to))?.inputs ?? []).filter(
    ({ name }) => isIn(name, from) !== enters,
  );
  const [input] = inputs;
  return input && inputs.length === 1
    ? { tensor: input.name, only: [scene.names[target] ?? ""] }
    : null;
}

/** Whether an op is the one of that key, or in the scope of that key. */
function isIn(op: string, key: string): boolean {
  return key.endsWith("/") ? op.startsWith(key) : op === key;
}

function isAround(scene: Scene, outer: number, item: number): boolean {
  for (let inner = item; inner > 0; inner = at(scene.parent, inner))
    if (at(scene.parent, inner) === outer) return true;
  return false;
}
