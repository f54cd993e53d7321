"""How many bytes a GraphDef will be: protobuf stops at 2 GB, and finds out when all is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tfgraphwidget.errors import GraphEditError

LARGEST = (1 << 31) - 1
_AROUND = 10  # bytes that a node's length and tag take, at most


def check_size(
    kind: str, nodes: Iterable[Any], library: Any, way_out: str, held: Mapping[str, int] | None = None
) -> None:
    """Raise GraphEditError when the nodes and the library together are more than protobuf can hold.

    `held` are further bytes by the name of the variable that becomes a constant; `kind` begins the sentence, `way_out`
    ends it.
    """
    sizes = {node.name: node.ByteSize() + _AROUND for node in nodes}
    for name, bytes_held in (held or {}).items():
        sizes[name] = sizes.get(name, 0) + bytes_held
    total = sum(sizes.values()) + library.ByteSize()
    if total > LARGEST:
        biggest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:3]
        told = ", ".join(f"{name!r} ({_told(sizes[name])})" for name in biggest)
        raise GraphEditError(
            f"{kind} would be {_told(total)}, and protobuf stops at {_told(LARGEST)}: {told} hold most of it; "
            f"{way_out}.",
            biggest,
        )


def _told(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
