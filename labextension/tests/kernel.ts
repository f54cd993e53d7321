// Actions with a made-up kernel behind them, on the graph of example-graph.ts.
import { Actions } from "../src/interaction/actions";
import type { InspectReply, Request } from "../src/protocol/messages";
import type { Scene } from "../src/protocol/scene";
import type { Arrival } from "../src/render/camera/destination";
import type { Answer, Channel } from "../src/rpc/model-channel";
import { type Screen, Store } from "../src/state/store";
import { drawn } from "./example-graph";

export const INPUT = 1;
export const OPEN_SCOPE = 2;
export const CLOSED_SCOPE = 3;
/** It calls a function, too. */
export const OP_IN_SCOPE = 4;

export const NOTHING = new DataView(new ArrayBuffer(0));

export const refused = (why: string, ops: string[] = []): Answer => ({
  type: "refusal",
  why,
  ops,
  fixes: [],
  argument: "",
  trust: false,
  buffer: NOTHING,
});

/**
 * What the kernel says of an op or scope: of an op of type Identity without tensors, unless it is
 * changed.
 */
export function inspected(
  name: string,
  change: Partial<InspectReply> = {},
): InspectReply & { buffer: DataView } {
  return {
    type: "inspect_reply",
    name,
    op_type: "Identity",
    device: "",
    ops: 1,
    variables: 0,
    trainable: 0,
    input_count: change.inputs?.length ?? 0,
    output_count: change.outputs?.length ?? 0,
    control_input_count: change.control_inputs?.length ?? 0,
    inputs: [],
    outputs: [],
    control_inputs: [],
    attributes: [],
    shape: "",
    value: "",
    called_functions: [],
    contexts: [],
    effects: [],
    alike: [],
    alike_count: 0,
    ...change,
    buffer: NOTHING,
  };
}

/**
 * Actions on a store, with a kernel that answers from a list and a stage that only stores the
 * scene.
 */
export async function opened(...answers: (Answer | Error)[]) {
  return openedOn(drawn(), ...answers);
}

/** The same, with `first` as the answer to "open". */
export async function openedOn(first: Answer, ...answers: (Answer | Error)[]) {
  const sent: Request[] = [];
  const arrivals: Arrival[] = [];
  const queue: (Answer | Error)[] = [first, ...answers];
  const channel: Channel & { latency: number } = {
    latency: 0,
    request: async (message) => {
      sent.push(message);
      await Promise.resolve();
      const next = queue.shift() ?? refused("The test has no more answers.");
      if (next instanceof Error) throw next;
      return next;
    },
    close: () => undefined,
  };
  const store = new Store();
  const show = (scene: Scene, change: Partial<Screen>, arrival: Arrival) => {
    arrivals.push(arrival);
    store.set({ ...change, scene });
  };
  const actions = new Actions(store, channel, { show });
  await actions.reopen();
  sent.length = 0;
  arrivals.length = 0;
  return { store, actions, sent, arrivals, channel };
}
