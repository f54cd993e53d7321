// The color of a line says what the legend says, in every state of the drawing and in every theme.
import { expect, test } from "vitest";
import { meaningsIn } from "../../src/panels/controls/meanings";
import { at, OPEN, type Scene } from "../../src/protocol/scene";
import type { Palette } from "../../src/render/canvas/palette";
import { routesOf, tensorRoute } from "../../src/render/canvas/tensor-route";
import { decoded, drawnAbove, drawnOf, paletteOf, pictures, type Shape } from "./recorder";

const STATE = { hitNames: [], hitOps: [], hitCounts: [], warned: [], edited: [], controls: true };

/** The edges that are drawn in a color, by where they end: the last piece of each runs there. */
function edgesIn(scene: Scene, shapes: readonly Shape[], color: string): number[] {
  const ends = shapes.flatMap(({ kind, ends, line }) =>
    kind === "line" && line === color ? [(ends as number[]).slice(2).map(Math.round).join()] : [],
  );
  return Array.from({ length: scene.edges }, (_, edge) => edge).filter((edge) => {
    const last = at(scene.routeStart, edge + 1) - 1;
    return ends.includes([0, 1].map((k) => Math.round(at(scene.route, 2 * last + k))).join());
  });
}

const sorted = (edges: Iterable<number>) => [...new Set(edges)].sort((a, b) => a - b);
const items = (scene: Scene) => Array.from({ length: scene.length }, (_, item) => item).slice(1);

test.each(pictures)("blue lines are those between selected ops: $name, $theme", (picture) => {
  const { scene, paint } = decoded(picture);
  const palette: Palette = paletteOf(picture.theme);
  const between = Array.from({ length: scene.edges }, (_, edge) => edge).filter(
    (edge) => at(paint.selectedLine, edge) === 1,
  );
  expect(edgesIn(scene, drawnOf(scene, paint, picture.theme), palette.selected)).toEqual(between);
  const explained = meaningsIn(scene, paint, { ...STATE, picked: "" });
  expect(explained.some((meaning) => meaning.startsWith("Blue line"))).toBe(between.length > 0);
});

test.each(pictures)("brown lines come to an op, teal lines leave it: $name, $theme", (picture) => {
  const { scene, paint } = decoded(picture);
  const palette = paletteOf(picture.theme);
  expect(items(scene).filter((item) => at(scene.kind, item) === OPEN)).not.toEqual([]);
  for (const state of ["picked", "hover"])
    for (const item of items(scene)) {
      const { arriving, leaving } = routesOf(scene, item, () => true);
      const drawn = drawnAbove(scene, paint, picture.theme, { [state]: item });
      expect(edgesIn(scene, drawn, palette.upstream)).toEqual(sorted(arriving));
      expect(edgesIn(scene, drawn, palette.downstream)).toEqual(sorted(leaving));
      expect(drawn.filter(({ line }) => line === palette.selected)).toEqual([]);
    }
  const [explained] = meaningsIn(scene, paint, { ...STATE, picked: "net/act" }).filter((meaning) =>
    meaning.startsWith("Black frame"),
  );
  expect(explained).toContain("brown dashed lines come to it, teal lines leave it");
});

test.each(pictures)(
  "the line at the pointer is teal on all of its way: $name, $theme",
  (picture) => {
    const { scene, paint } = decoded(picture);
    const palette = paletteOf(picture.theme);
    for (let edge = 0; edge < scene.edges; edge++) {
      const drawn = drawnAbove(scene, paint, picture.theme, { hoverEdge: edge });
      expect(edgesIn(scene, drawn, palette.downstream)).toEqual(
        sorted(tensorRoute(scene, edge).edges),
      );
      expect(drawn.filter(({ line }) => line === palette.selected)).toEqual([]);
    }
  },
);

test("what selects, leads to an op and leads away from it has a color of its own", () => {
  for (const theme of ["light", "dark"]) {
    const { selected, upstream, downstream, edge, back, found, fresh } = paletteOf(theme);
    const colors = [selected, upstream, downstream, edge, back, found, fresh];
    expect(new Set(colors).size).toBe(colors.length);
  }
});
