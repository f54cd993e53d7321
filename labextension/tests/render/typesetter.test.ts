// Names that are cut to fit their boxes.
import { expect, test } from "vitest";
import { shorten, twoLines } from "../../src/render/canvas/typesetter";

test.each([
  ["resnet_v2_50/block1/unit_1/conv2", 12, "resnet_v…nv2"],
  ["layer_0 … layer_2", 14, "layer_0 … 2"],
  ["layer_9 … layer_12", 10, "layer_9…12"],
  ["layer_0 … layer_2", 7, "laye…_2"],
  ["Mixed_5b … Mixed_5d", 14, "Mixed_5b … 5d"],
  ["block1 … block12", 11, "block1 … 12"],
  ["first_part … second_part", 14, "first_par…part"],
  ["tower_0/net", 8, "to…0/net"],
  ["tower_0/net", 7, "towe…et"],
  ["Slice_1", 3, "Sl…"],
  ["hidden_layer_12", 8, "hidde…12"],
  ["conv2d/kernel", 9, "conv2d…el"],
  ["👍👍👍👍👍👍", 5, "👍👍👍…👍"],
  ["abc", 1, ""],
  ["block_7_*", 8, "block_7"],
  ["block_12_*", 7, "bloc…12"],
])("%s in %i letters is %s", (name, room, cut) => {
  expect(shorten(name, (part) => [...part].length <= room)).toBe(cut);
});

test.each([
  ["strided_slice_12", 9, ["strided_", "slice_12"]],
  ["ProdEnvMatA", 7, ["Prod", "EnvMatA"]],
  ["batch_normalization/FusedBatchNorm", 20, ["batch_normalization/", "FusedBatchNorm"]],
  ["Placeholder", 8, null],
  ["a_very_long_name_of_a_layer", 8, null],
])("%s in two lines of %i letters is %s", (name, room, lines) => {
  expect(twoLines(name, (part) => part.length <= room)).toEqual(lines);
});
