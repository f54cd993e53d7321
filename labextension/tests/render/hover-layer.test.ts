// What lies above the lines and frames that follow the pointer.
import { expect, test, vi } from "vitest";
import { decodeScene } from "../../src/protocol/scene";
import { drawHoverLayer } from "../../src/render/canvas/hover-layer";
import { matchFrames } from "../../src/render/canvas/match-frames";
import { readPalette } from "../../src/render/canvas/palette";
import type { Pen } from "../../src/render/canvas/pen";
import { packed, sceneArrays } from "../example-graph";

const CLOSED_SCOPE = 3;

test("no frame runs through the number of a group, or through how many ops found it holds", () => {
  const arrays = { ...sceneArrays(), members: Uint32Array.from([0, 0, 0, 8, 0]) };
  const { fields, buffer } = packed(arrays, { box: [5, 4], route: [5, 2] });
  const scene = decodeScene(fields, buffer);
  const drawn: string[] = [];
  const ctx = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => {
      if (name === "measureText") return () => ({ width: 12 });
      if (name === "fillText") return (text: string) => drawn.push(text);
      return name === "stroke" ? () => drawn.push("line") : () => undefined;
    },
    set: () => true,
  });
  const frame = {
    ...{
      scene,
      boxes: scene.box,
      camera: { x: 0, y: 0, zoom: 1 },
      match: 0,
      hover: -1,
      hoverEdge: -1,
    },
    ...{
      picked: 4,
      edited: new Set([CLOSED_SCOPE]),
      alike: new Set(),
      hits: new Set([CLOSED_SCOPE]),
      barred: new Set(),
    },
    ...{
      matches: matchFrames(scene, []),
      hitCounts: new Map([[CLOSED_SCOPE, 12]]),
      controls: true,
    },
    paint: new Proxy({}, { get: () => [] }),
  };
  const found = { itemsIn: () => [CLOSED_SCOPE], edgesIn: () => [] };
  const typesetter = { font: "sans", width: () => 1, fit: (_: unknown, text: string) => text };
  const style = {
    backgroundColor: "rgb(255, 255, 255)",
    color: "rgb(0, 0, 0)",
    fontFamily: "sans",
  };
  vi.stubGlobal("getComputedStyle", () => style);
  const viewport = { width: 500, height: 500 };
  const pen = {
    ctx,
    frame,
    palette: readPalette({} as Element),
    ratio: 1,
    items: [],
    edges: [],
    sceneIndex: found,
    typesetter,
    viewport,
  };
  drawHoverLayer(pen as unknown as Pen);
  expect(drawn).toContain("×8");
  // the rim of the tag itself
  expect(drawn.slice(drawn.lastIndexOf("×8") + 1)).toEqual(["line", "12 found"]);
});
