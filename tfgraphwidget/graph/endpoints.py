"""Names of ops and tensors as op numbers and ports."""

from __future__ import annotations

from collections.abc import Iterable

from tfgraphwidget.errors import UnknownName
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.naming import split_tensor


def pairs(index: GraphIndex, names: Iterable[str]) -> list[tuple[int, int]]:
    """(op, port) of each name; ANY_PORT for an op's name, which represents every tensor of it."""
    tensors = []
    for name in names:
        port = None if name in index.ids else split_tensor(name)[1]
        tensors.append((index.op(name), traversal.ANY_PORT if port is None else port))
    return tensors


def consumers_of(index: GraphIndex, tensors: list[tuple[int, int]]) -> list[int]:
    """The ops that read the tensors; of an op's name (ANY_PORT) the op itself."""
    ops = [op for op, port in tensors if port == traversal.ANY_PORT]
    of_one_port = [tensor for tensor in tensors if tensor[1] != traversal.ANY_PORT]
    return [*ops, *traversal.consumers_of(index, of_one_port).tolist()]


def check_ports(index: GraphIndex, names: Iterable[str]) -> None:
    """Raise UnknownName when a name is not an op's, or asks for an output that its op has not."""
    for name in names:
        op, port = (name, None) if name in index.ids else split_tensor(name)
        number = index.op(op)
        if port is None or port < len(index.typing.dtypes(index.nodes[number])):
            continue
        if port < (count := len(index.dtypes(number))):
            # Asked last, since it looks at every edge of the graph.
            continue
        # What an op that TensorFlow does not know lacks is not known.
        if index.typing.definition(index.types[number]) is not None:
            has = f"has {count} output{'s' * (count > 1)}" if count else "has no output"
            raise UnknownName(
                f"There is no tensor {name!r}: op {op!r} {has}; an op is named without ':'.", [op]
            )
