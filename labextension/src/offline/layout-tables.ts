// The layouts of all containers, as columns. Python twin:
// tfgraphwidget/export/html/layout_tables.py, which defines the columns.
import { at } from "../protocol/scene";
import type { Data } from "./page-data";

type Column = ArrayLike<number>;

export class LayoutTables {
  readonly data: Data;
  readonly insideSize: Column;
  readonly insidePort: Column;
  readonly childStart: Column;
  readonly lineStart: Column;
  readonly childIs: Column;
  readonly childBox: Column;
  readonly childOpen: Column;
  readonly childAux: Column;
  readonly badgeStart: Column;
  readonly lineSource: Column;
  readonly lineTarget: Column;
  readonly routeStart: Column;
  readonly route: Column;
  readonly tensorStart: Column;
  readonly tensor: Column;
  readonly parent: Column;
  readonly least: Column;
  /**
   * Node -> its inside with everything closed in it, as it was in the editor (-1: not seen there),
   * its row as a child.
   */
  readonly base: Int32Array;
  readonly saved: Int32Array;
  readonly row: Int32Array;
  /** Insides with nothing open in them, as they were put together: they never change. */
  readonly known = new Map<number, ComposedContainer>();

  constructor(data: Data) {
    const column = (name: string) => data.column(name);
    this.data = data;
    this.insideSize = column("inside_size");
    this.insidePort = column("inside_port");
    this.childStart = column("inside_child");
    this.lineStart = column("inside_line");
    this.childIs = column("child_is");
    this.childBox = column("child_box");
    this.childOpen = column("child_open");
    this.childAux = column("child_aux");
    this.badgeStart = column("child_badge");
    this.lineSource = column("line_source");
    this.lineTarget = column("line_target");
    this.routeStart = column("line_route");
    this.route = column("route");
    this.tensorStart = column("line_tensor");
    this.tensor = column("tensor");
    this.parent = column("node_parent");
    this.least = column("node_least");
    const nodes = this.parent.length;
    this.base = new Int32Array(nodes).fill(-1);
    this.saved = new Int32Array(nodes).fill(-1);
    this.row = new Int32Array(nodes).fill(-1);
    this.#number(column("inside_node"), column("inside_saved"));
  }

  #number(node: Column, saved: Column): void {
    for (let inside = 0; inside < node.length; inside++) {
      const isSaved = at(saved, inside) === 1;
      (isSaved ? this.saved : this.base)[at(node, inside)] = inside;
      for (let row = at(this.childStart, inside); row < at(this.childStart, inside + 1); row++)
        if (!isSaved && at(this.childIs, row) >= 0) this.row[at(this.childIs, row)] = row;
    }
  }
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type Point = readonly [x: number, y: number];

/** A box in the drawing's x and y, from the upper left corner of the inside around it. */
export interface PlacedBox {
  readonly row: number;
  readonly node: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** What is inside, when it is open. */
  readonly open: ComposedContainer | null;
  /** Not drawn: it is a badge of those that read it, now that they can be seen. */
  readonly gone: boolean;
}

/** A line of one inside; ends are places in `children`, -1 for the border. */
export interface Line {
  readonly row: number;
  readonly source: number;
  readonly target: number;
  readonly route: readonly Point[];
  /** The tensors of the line; NO_TENSOR for control inputs. */
  readonly tensors: readonly number[];
}

export const NO_TENSOR = -1;

/** The ports of one border: the x of each, and the port of each tensor. */
export interface Ports {
  readonly x: readonly number[];
  readonly of: ReadonlyMap<number, number>;
}

/**
 * An open container: its size with its frame, where lines enter and leave it, where in it the
 * inside begins.
 */
export interface ComposedContainer {
  readonly inside: number;
  readonly width: number;
  readonly height: number;
  readonly enter: number;
  readonly leave: number;
  readonly enterPorts: Ports;
  readonly leavePorts: Ports;
  readonly left: number;
  readonly top: number;
  readonly children: readonly PlacedBox[];
  readonly lines: readonly Line[];
}
