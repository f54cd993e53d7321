// What the kernel says of a model of some thousand ops.
import type { ModelReply } from "../src/protocol/messages";

export const MODEL: ModelReply = {
  type: "model_reply",
  title: "net.meta",
  inside: "",
  about: ["MetaGraph"],
  values: "",
  ops: 3379,
  variables: 388,
  parameters: 27182194,
  size: 108728776,
  dtypes: ["float32"],
  flops: -1,
  batch: 0,
  inputs: [],
  input_count: 0,
  outputs: [],
  output_count: 0,
  signatures: [],
  is_small: false,
  is_ready: false,
  is_complete: true,
};
