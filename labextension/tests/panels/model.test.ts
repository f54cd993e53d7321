import { expect, test } from "vitest";
import { sizeTexts } from "../../src/panels/model/model";
import type { ModelReply } from "../../src/protocol/messages";

const MODEL: ModelReply = {
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
};

test.each([
  [{}, ["3,379 ops", "388 variables", "27.2M parameters", "109MB of float32"]],
  [{ ops: 1, variables: 0, parameters: 0, size: 0, dtypes: [] }, ["1 op"]],
])("says how large a model is: %j", (change, texts) => {
  expect(sizeTexts({ ...MODEL, ...change })).toEqual(texts);
});
