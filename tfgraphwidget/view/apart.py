"""Lines between the forward pass and training: one from the end of the forward pass, instead of one from everything.

Gradients read nearly every tensor of the network they are of. Drawn, these lines hide it. What a person wants to know
is where training begins: at the last op that is fed, which is the loss or stands right before it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tfgraphwidget.view.bundle import Ints, Pairs
from tfgraphwidget.view.facts import Mask


def apart(pairs: Pairs, parent: Ints, depth: Ints, part: npt.NDArray[np.uint8], fed: Mask) -> Pairs:
    """The pairs, those from one part to the other only between siblings, and into training one source each.

    `parent`, `depth` and `part` are per item, `fed` (depends on what is fed) per op.
    """
    across = part[pairs.source] != part[pairs.target]
    if not across.any():
        return pairs
    rows = np.flatnonzero(across)
    rows = rows[fed[pairs.op[rows]]]
    crossing = pairs.rows(rows)
    a, b = crossing.source.copy(), crossing.target.copy()
    rest = np.flatnonzero(parent[a] != parent[b])
    while len(rest):
        up, down = a[rest], b[rest]
        rise_a, rise_b = depth[up] >= depth[down], depth[down] >= depth[up]
        a[rest], b[rest] = np.where(rise_a, parent[up], up), np.where(rise_b, parent[down], down)
        rest = rest[parent[a[rest]] != parent[b[rest]]]
    into = part[crossing.target] > 0
    last = np.full(len(parent), -1, dtype=np.int64)
    np.maximum.at(last, b[into], crossing.op[into])
    kept = ~into | (last[b] == crossing.op)
    straight = np.flatnonzero(~across)
    return Pairs(
        np.concatenate([pairs.source[straight], a[kept]]).astype(np.int32),
        np.concatenate([pairs.target[straight], b[kept]]).astype(np.int32),
        np.concatenate([pairs.op[straight], crossing.op[kept]]),
        np.concatenate([pairs.port[straight], crossing.port[kept]]),
        np.concatenate([pairs.back[straight], crossing.back[kept]]),
    )
