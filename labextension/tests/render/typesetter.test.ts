// Names that are cut to fit their boxes.
import { expect, test } from "vitest";
import { shorten } from "../../src/render/canvas/typesetter";

test.each([
  ["resnet_v2_50/block1/unit_1/conv2", 12, "resnet_v…nv2"],
  ["layer_0 … layer_2", 14, "layer_0…yer_2"],
  ["layer_0 … layer_2", 7, "laye…_2"],
  ["👍👍👍👍👍👍", 5, "👍👍👍…👍"],
  ["abc", 1, ""],
  ["block_7_*", 8, "block_7"],
  ["block_12_*", 7, "bloc…12"],
])("%s in %i letters is %s", (name, room, cut) => {
  expect(shorten(name, (part) => [...part].length <= room)).toBe(cut);
});
