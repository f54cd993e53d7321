"""What reads or names each output of an op, so that no edit of the op itself takes one of them
away.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.control_flow_contexts import nested_contexts, structural_tensors
from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import all_variables
from tfgraphwidget.naming import count_text, split_tensor
from tfgraphwidget.sentences import editor_call, either
from tfgraphwidget.tf_types import ContextDef, NodeDef

_REPLACE = "make a new op and " + editor_call("replace") + " this one"


class OutputUses:
    """The uses of the outputs of a graph's ops."""

    def __init__(self, context: PlanContext) -> None:
        self._context, self._index = context, context.index

    def check(self, op: int, node: NodeDef) -> None:
        """Raise GraphEditError where an op, whose NodeDef is to be `node`, loses an output that is
        read or named, or one that is read changes its dtype.
        """
        index = self._index
        if index.typing.definition(node.op) is None:
            return  # nothing is known of its outputs
        before, after = index.dtypes(op), index.typing.dtypes(node)
        if before == after:
            return
        name, moves = index.names[op], EdgeMoves(index)
        for consumer in sorted(set(index.consumer_lists[op])):
            for k, (source, port) in enumerate(moves.current_inputs(consumer)):
                was = before[port] if source == op and port < len(before) else ""
                now = after[port] if port < len(after) else "gone"
                is_mended = bool(now) and moves.expected_dtype((consumer, k)) == now.removesuffix(
                    "_ref"
                )
                if (
                    source == op
                    and was != now
                    and not is_mended
                    and (now == "gone" or (was and now))
                ):
                    raise GraphEditError(
                        f"{_was(name, port, was)} would be {now}, and op {index.names[consumer]!r} "
                        "reads it; let "
                        "it read another tensor first" + either(" (editor.reroute).", "."),
                        [name, index.names[consumer]],
                    )
        for port, who, way_out in self._names_by_op.get(name, ()):
            if port >= len(after):
                raise GraphEditError(
                    f"Op {name!r} would have {count_text(len(after), 'output')}, and {who} names "
                    f"'{name}:{port}'; " + way_out + ".",
                    [name],
                )

    @cached_property
    def _names_by_op(self) -> dict[str, list[tuple[int, str, str]]]:
        """By ops: an output that is named beside edges, what names it, and a way out."""
        names_by_op: dict[str, list[tuple[int, str, str]]] = {}
        for tensor, who, way_out in self._names():
            op, port = split_tensor(tensor)
            if port is not None:
                names_by_op.setdefault(op, []).append((port, who, way_out))
        return names_by_op

    def _names(self) -> Iterator[tuple[str, str, str]]:
        context, index = self._context, self._index
        for signature in context.signatures:
            for _, tensor in (*signature.inputs, *signature.outputs):
                yield (
                    tensor,
                    f"signature {signature.name!r}",
                    (editor_call("signatures.remove", f"{signature.name!r}") + " first"),
                )
        owner = f"function {context.function!r}" if context.function else "a signature"
        yield from ((tensor, owner, _REPLACE) for tensor in context.external_tensors)
        for key, members in index.collections.items():
            yield from (
                (member.name, f"collection {key!r}", _REPLACE)
                for member in members
                if member.kind != "op"
            )
        for variable in all_variables(index):
            parts = (f"{variable.handle}:0", variable.snapshot, variable.initial_value)
            yield from ((name, f"variable {variable.handle!r}", _REPLACE) for name in parts if name)
        for outer in index.extras.contexts():
            yield from _context_names(outer)


def _was(name: str, port: int, dtype: str) -> str:
    return f"'{name}:{port}'" + (f" is {dtype} and" if dtype else "")


def _context_names(context: ContextDef) -> Iterator[tuple[str, str, str]]:
    """The tensors that a control flow context and those inside it name."""
    who = f"control flow context {context.context_name!r}"
    tensors = (*structural_tensors(context), *context.values_def.external_values.values())
    yield from ((tensor, who, _REPLACE) for tensor in tensors)
    for inner in nested_contexts(context):
        yield from _context_names(inner)
