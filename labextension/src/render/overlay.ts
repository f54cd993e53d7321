// A canvas above the drawing for regions, moved boxes and connections in progress, so that the
// drawing need not be redrawn meanwhile.
import { at, boxOf, labelOf } from "../protocol/scene";
import type { Connection, Store } from "../state/store";
import { type Point, toScreen } from "./camera/camera";
import { NOMINAL, textSize } from "./canvas/far-labels";
import { edgesAt } from "./canvas/incident-edges";
import type { ItemMove } from "./gestures/move-item";
import { boundsOf, type Region } from "./hit-testing/region";
import type { Stage } from "./stage";

/** More outlines than this would slow the gesture down. */
const MOST_OUTLINES = 5000;

export class Overlay {
  readonly canvas = document.createElement("canvas");
  readonly #stage: Stage;
  readonly #store: Store;
  #scheduled = 0;

  constructor(stage: Stage, store: Store) {
    this.#stage = stage;
    this.#store = store;
    this.canvas.className = "tgw-overlay";
    this.canvas.hidden = true;
    store.watch(
      ["region", "camera", "scene", "connecting", "itemMove"],
      ({ region, connecting, itemMove }) => {
        const needed =
          region !== null || connecting !== null || itemMove !== null || !this.canvas.hidden;
        if (needed && this.#scheduled === 0)
          this.#scheduled = requestAnimationFrame(() => this.#frame());
      },
    );
  }

  #frame(): void {
    this.#scheduled = 0;
    const { region, connecting, itemMove } = this.#store.value;
    const ctx = this.canvas.getContext("2d");
    this.canvas.hidden = region === null && connecting === null && itemMove === null;
    if (!ctx || this.canvas.hidden) return;
    this.#clear(ctx);
    if (connecting) this.#line(ctx, connecting);
    if (itemMove) this.#ghost(ctx, itemMove);
    if (!region) return;
    const { palette } = this.#stage;
    ctx.strokeStyle = ctx.fillStyle =
      region.command === "remove" ? palette.warned : palette.selected;
    this.#outline(ctx, region);
    this.#draw(ctx, region);
  }

  /** A clean canvas of the stage's size, in CSS pixels. */
  #clear(ctx: CanvasRenderingContext2D): void {
    const { width, height } = this.#stage.viewport;
    const [wide, high] = [
      Math.round(width * devicePixelRatio),
      Math.round(height * devicePixelRatio),
    ];
    if (this.canvas.width !== wide || this.canvas.height !== high)
      Object.assign(this.canvas, { width: wide, height: high });
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.clearRect(0, 0, width, height);
  }

  /** The box that is being moved where it is now, with straight lines to its neighbors. */
  #ghost(ctx: CanvasRenderingContext2D, { item, dx, dy }: ItemMove): void {
    const { scene, camera, controls } = this.#store.value;
    if (!scene) return;
    const middle = (of: number, x = 0, y = 0): Point => {
      const box = boxOf(scene.box, of);
      return toScreen(camera, box.x + box.width / 2 + x, box.y + box.height / 2 + y);
    };
    const { palette } = this.#stage;
    ctx.strokeStyle = palette.selected;
    ctx.lineWidth = 1.25;
    ctx.setLineDash([]);
    ctx.beginPath();
    const here = middle(item, dx, dy);
    for (const edge of edgesAt(scene, item).slice(0, MOST_OUTLINES)) {
      const other =
        at(scene.source, edge) === item ? at(scene.target, edge) : at(scene.source, edge);
      if (other === at(scene.parent, item) || (at(scene.tensors, edge) === 0 && !controls))
        continue;
      const there = middle(other);
      ctx.moveTo(here.x, here.y);
      ctx.lineTo(there.x, there.y);
    }
    ctx.stroke();
    const { width, height } = boxOf(scene.box, item);
    const [wide, high] = [width * camera.zoom, height * camera.zoom];
    ctx.beginPath();
    ctx.roundRect(here.x - wide / 2, here.y - high / 2, wide, high, 6 * camera.zoom);
    ctx.fillStyle = palette.background;
    ctx.globalAlpha = 0.85;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.lineWidth = 2;
    ctx.stroke();
    ctx.font = `${textSize(NOMINAL, camera.zoom)}px ${palette.font}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillStyle = palette.text;
    ctx.fillText(labelOf(scene, item), here.x, here.y, Math.max(wide - 8, 1));
  }

  /** From the port to the pointer. */
  #line(ctx: CanvasRenderingContext2D, { op, point, refused }: Connection): void {
    const { scene, hover } = this.#store.value;
    const item = scene?.byKey.get(op) ?? -1;
    if (!scene || item < 0) return;
    const { x, y, height } = this.#stage.handle(item);
    const start = { x, y: y + height / 2 };
    const { palette } = this.#stage;
    ctx.strokeStyle = ctx.fillStyle = refused?.has(scene.names[hover] ?? "")
      ? palette.warned
      : palette.selected;
    ctx.lineWidth = 2;
    ctx.setLineDash(refused ? [] : [4, 4]);
    const bend = Math.max(Math.abs(point.y - start.y) / 2, 24);
    ctx.beginPath();
    ctx.moveTo(start.x, start.y);
    ctx.bezierCurveTo(start.x, start.y + bend, point.x, point.y - bend, point.x, point.y);
    ctx.stroke();
    ctx.setLineDash([]);
    for (const end of [start, point]) {
      ctx.beginPath();
      ctx.arc(end.x, end.y, 4, 0, 2 * Math.PI);
      ctx.fill();
    }
  }

  /** Around what letting go now would take. */
  #outline(ctx: CanvasRenderingContext2D, region: Region): void {
    const { scene, camera } = this.#store.value;
    const { items } = this.#stage.itemsIn(region);
    if (!scene || items.length > MOST_OUTLINES) return;
    ctx.beginPath();
    for (const item of items) {
      const { x, y, width, height } = boxOf(scene.box, item);
      const corner = toScreen(camera, x, y);
      ctx.rect(corner.x - 1, corner.y - 1, width * camera.zoom + 2, height * camera.zoom + 2);
    }
    ctx.lineWidth = 2;
    ctx.setLineDash([]);
    ctx.stroke();
  }

  #draw(ctx: CanvasRenderingContext2D, region: Region): void {
    const corners = region.shape === "box" ? cornersOf(region) : region.points;
    ctx.beginPath();
    for (const { x, y } of corners) {
      const point = toScreen(this.#store.value.camera, x, y);
      ctx.lineTo(point.x, point.y);
    }
    ctx.closePath();
    ctx.globalAlpha = 0.1;
    ctx.fill("evenodd");
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1.25;
    ctx.setLineDash([5, 3]);
    ctx.stroke();
  }
}

function cornersOf(region: Region): Point[] {
  const { x, y, width, height } = boundsOf(region);
  return [
    { x, y },
    { x: x + width, y },
    { x: x + width, y: y + height },
    { x, y: y + height },
  ];
}
