// Where the panel is in a view of some size, and whether it is open at first.
import { describe, expect, test } from "vitest";
import { isOpenAtFirst, panelPlace } from "../../src/panels/panel-size";

describe("the side panel", () => {
  test.each([
    [1000, 600, "beside", true],
    [640, 300, "beside", true],
    [520, 1040, "below", true],
    [520, 780, "below", false],
    [520, 400, "over", false],
  ])("in a view of %i x %i", (width, height, place, open) => {
    expect(panelPlace(width, height)).toBe(place);
    expect(isOpenAtFirst(panelPlace(width, height), height)).toBe(open);
  });
});
