// What a request of one pane means in the other one.
import type { Request } from "../protocol/messages";
import type { Partners, Side } from "./partners";

/**
 * The request that does in the other pane what this one does in the pane of `side`; null for one
 * that does nothing there. What opens or closes a scope depends on the drawing: see link.ts.
 */
export function forwarded(request: Request, side: Side, partners: Partners): Request | null {
  const all = (names: readonly string[]) => partners.all(side, names);
  switch (request.type) {
    case "expand_all":
    case "set_direction":
    case "derive":
    case "select_matching":
    case "color":
    case "leave":
      return request;
    case "select": {
      const [ops, scopes] = [all(request.ops), all(request.scopes.map(slashed)).map(bare)];
      const isLost = ops.length + scopes.length === 0;
      // A selection of what only this graph has leaves nothing selected in the other one.
      if (isLost) return request.command === "set" ? { type: "derive", command: "clear" } : null;
      return { ...request, ops, scopes };
    }
    case "hide": {
      const names = all(request.names);
      return request.names.length > 0 && names.length === 0 ? null : { ...request, names };
    }
    case "open_only":
      return {
        ...request,
        scopes: all(request.scopes.map(slashed)).map(bare),
        names: all(request.names),
      };
    case "reveal": {
      const name = partners.of(side, request.name);
      return name === null ? null : { ...request, name };
    }
    case "enter": {
      const op = partners.of(side, request.op);
      return op === null ? null : { ...request, op };
    }
    default:
      return null;
  }
}

function slashed(scope: string): string {
  return `${scope}/`;
}

function bare(scope: string): string {
  return scope.replace(/\/$/, "");
}
