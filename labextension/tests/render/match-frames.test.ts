import { describe, expect, test } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import { matchFrames, NO_MATCHES } from "../../src/render/canvas/match-frames";
import { packed, sceneArrays } from "../example-graph";

const [CLOSED_SCOPE, GAP] = [3, 7];

function scene() {
  const { fields, buffer } = packed(sceneArrays(), { box: [5, 4], route: [5, 2] });
  return decodeScene(fields, buffer);
}

describe("the matches of a pattern", () => {
  test("are counted on the closed scope that holds them", () => {
    const { frames, inside } = matchFrames(scene(), [
      ["net/dense/a", "net/dense/b"],
      ["net/dense/c"],
    ]);
    expect(frames).toEqual([]);
    expect([...inside]).toEqual([[CLOSED_SCOPE, 2]]);
  });

  test("have one frame around the ops that are drawn, with the number of the hit", () => {
    const { frames } = matchFrames(scene(), [["net/dense/a"], ["input"]]);
    expect(frames).toEqual([
      {
        number: 2,
        boxes: [{ x: 50 - GAP, y: 20 - GAP, width: 80 + 2 * GAP, height: 30 + 2 * GAP }],
      },
    ]);
  });

  test("of which an op lies in an open scope and is hidden have no frame there", () => {
    expect(matchFrames(scene(), [["net/other"]])).toEqual({ frames: [], inside: new Map() });
  });

  test("that are none cost nothing", () => {
    expect(matchFrames(scene(), [])).toBe(NO_MATCHES);
  });
});
