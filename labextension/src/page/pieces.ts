// The insides of all containers, as columns. The twin of tfgraphwidget/export/html/layout_tables.py, which says what each column is.
import { at } from "../scene";
import type { Composed } from "./compose";
import type { Data } from "./data";

type Column = ArrayLike<number>;

export class Pieces {
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
  readonly parent: Column;
  readonly least: Column;
  /** Node -> its inside with everything closed in it, as it was in the editor (-1: not seen there), its row as a child. */
  readonly base: Int32Array;
  readonly saved: Int32Array;
  readonly row: Int32Array;
  /** Insides with nothing open in them, as they were put together: they never change. */
  readonly known = new Map<number, Composed>();

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
