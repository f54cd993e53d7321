import { expect, test } from "vitest";
import { sizeTexts } from "../../src/panels/model/model";
import { MODEL } from "../example-model";

test.each([
  [{}, ["3,379 ops", "388 variables", "27.2M parameters", "109MB of float32"]],
  [{ ops: 1, variables: 0, parameters: 0, size: 0, dtypes: [] }, ["1 op"]],
])("says how large a model is: %j", (change, texts) => {
  expect(sizeTexts({ ...MODEL, ...change })).toEqual(texts);
});
