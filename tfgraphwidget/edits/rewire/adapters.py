"""Adapters between a tensor and a consumer that it does not fit: a Cast, a Reshape, a Transpose.

What a consumer takes follows from what it reads so far: the dtype, and the static shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any, Literal

from tfgraphwidget.edits.rewire.edge_moves import EdgeMoves, Slot, Tensor
from tfgraphwidget.edits.rewire.execution_frames import frames_of, may_run_in_frames
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, HANDLE_DTYPES, Shape, write_shape
from tfgraphwidget.naming import as_input
from tfgraphwidget.sentences import argument_value, drawn_shape, either
from tfgraphwidget.tf_types import NodeDef

AdapterType = Literal["", "Cast", "Reshape", "Transpose"]

_MOST_DIMENSIONS = 6  # of what is transposed: there are 720 ways to turn six
CASTABLE = frozenset({
    "bool", "bfloat16", "half", "float16", "float32", "float64", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
})  # fmt: skip
"""The dtypes that a Cast takes and gives."""


def insert_adapters(moves: EdgeMoves, kind: str) -> None:
    """Put an op of that type between each moved input and what it is to read, where that fits it.

    One for all inputs that need the same. Raises GraphEditError when it would fit none.
    """
    if kind not in _ADAPTERS:
        choices = ", ".join(map(repr, _ADAPTERS))
        raise GraphEditError(
            argument_value("adapter", repr(kind)) + f" is not known; it is one of {choices}."
        )
    adapters: dict[tuple[Tensor, object], int] = {}
    for slot, old, new in moves.given_inputs():
        setting = _ADAPTERS[kind](moves, slot, old, new)
        if setting is not None:
            if (new, setting) not in adapters:
                adapters[new, setting] = _BUILDERS[kind](moves, slot, new, setting)
            moves.adapter_ops[slot] = adapters[new, setting]
    if not adapters:
        edge = next(
            (
                f" ({moves.tensor_name(new)!r} for {moves.tensor_name(old)!r})"
                for _, old, new in moves.changed_inputs()
            ),
            "",
        )
        raise GraphEditError(
            f"A {kind} fixes nothing here{edge}; "
            + either(f"leave adapter={kind!r} out.", "leave adapter empty.")
        )


def possible_adapters(moves: EdgeMoves) -> tuple[AdapterType, ...]:
    """The fixes that could help: a Cast where dtypes differ, else one for static shapes."""
    edges = [edge for edge in moves.changed_inputs() if edge[2][0] < len(moves.index)]
    differ = [
        (slot, old, new) for slot, old, new in edges if _base(moves, old) != _base(moves, new)
    ]
    if differ:
        return ("Cast",) if all(_cast(moves, *edge) for edge in differ) else ()
    shapes = [
        (slot, old, new)
        for slot, old, new in edges
        if moves.index.shape(*old) != moves.index.shape(*new)
    ]
    kinds: tuple[AdapterType, ...] = ("Transpose", "Reshape")
    return tuple(
        k
        for k in kinds
        if shapes and all(_ADAPTERS[k](moves, *edge) is not None for edge in shapes)
    )


def _base(moves: EdgeMoves, tensor: Tensor) -> str:
    return moves.dtype(tensor).removesuffix("_ref")


# Which adapter fits between the tensor that an input reads (`old`) and a new one; None if none is
# needed or possible


def _cast(moves: EdgeMoves, slot: Slot, old: Tensor, new: Tensor) -> str | None:
    """The dtype to cast to."""
    had, has = moves.expected_dtype(slot) or _base(moves, old), _base(moves, new)
    return had if had != has and {had, has} <= CASTABLE else None


def _reshape(moves: EdgeMoves, _: Slot, old: Tensor, new: Tensor) -> tuple[int, ...] | None:
    """The shape to give, -1 for the one unknown dimension."""
    had, shape = moves.index.shape(*old), moves.index.shape(*new)
    if had is None or had == shape or had.count(None) > 1:
        return None
    total = None if shape is None or None in shape else math.prod(size or 0 for size in shape)
    product = math.prod(size for size in had if size is not None)
    if total is not None and (
        total != product if None not in had else not product or total % product
    ):
        return None
    return tuple(-1 if size is None else size for size in had)


def _transpose(moves: EdgeMoves, _: Slot, old: Tensor, new: Tensor) -> tuple[int, ...] | None:
    """The order of the dimensions."""
    had, shape = moves.index.shape(*old), moves.index.shape(*new)
    if (
        had is None
        or shape is None
        or had == shape
        or not 1 < len(had) <= _MOST_DIMENSIONS
        or len(had) != len(shape)
    ):
        return None
    return next(
        (p for p in permutations(range(len(had))) if tuple(shape[k] for k in p) == had), None
    )


# The new ops


def _make_cast(moves: EdgeMoves, slot: Slot, new: Tensor, dtype: str) -> int:
    number, node = moves.make("Cast", _free_name(moves, slot, "Cast"), (_input_text(moves, new),))
    _set_dtype(moves, node, "SrcT", _base(moves, new))
    _set_dtype(moves, node, "DstT", dtype)
    return number


def _make_reshape(moves: EdgeMoves, slot: Slot, new: Tensor, shape: tuple[int, ...]) -> int:
    return _make_with_integers(moves, ("Reshape", "shape", "Tshape"), slot, new, shape)


def _make_transpose(moves: EdgeMoves, slot: Slot, new: Tensor, order: tuple[int, ...]) -> int:
    return _make_with_integers(moves, ("Transpose", "perm", "Tperm"), slot, new, order)


def _make_with_integers(
    moves: EdgeMoves, kind: tuple[str, str, str], slot: Slot, new: Tensor, numbers: tuple[int, ...]
) -> int:
    """An op that reads a tensor and a constant of integers, which stands under its name."""
    op_type, argument, attribute = kind
    name = _free_name(moves, slot, op_type)
    _, constant = moves.make("Const", f"{name}/{argument}", _loop_control_inputs(moves, new))
    _set_dtype(moves, constant, "dtype", "int32")
    tensor = constant.attr["value"].tensor
    tensor.dtype = moves.index.typing.number("int32")
    tensor.tensor_shape.dim.add(size=len(numbers))
    tensor.int_val.extend(numbers)
    number, node = moves.make(op_type, name, (_input_text(moves, new), constant.name))
    _set_dtype(moves, node, "T", _base(moves, new))
    _set_dtype(moves, node, attribute, "int32")
    return number


def _loop_control_inputs(moves: EdgeMoves, tensor: Tensor) -> tuple[str, ...]:
    """The control inputs of a constant that runs whenever the tensor does: a loop has its own."""
    if not may_run_in_frames(moves.index, [tensor[0]]) or not frames_of(moves.index).source_context(
        tensor
    ):
        return ()
    return (as_input(moves.name(tensor[0]), CONTROL),)


def _free_name(moves: EdgeMoves, slot: Slot, op_type: str) -> str:
    """A free name in the scope of the op that reads."""
    return moves.free_name("".join(moves.name(slot[0]).rpartition("/")[:2]) + op_type)


def _input_text(moves: EdgeMoves, tensor: Tensor) -> str:
    return as_input(moves.name(tensor[0]), tensor[1])


def _set_dtype(moves: EdgeMoves, node: NodeDef, attribute: str, dtype: str) -> None:
    node.attr[attribute].type = moves.index.typing.number(dtype)


_ADAPTERS: dict[str, Callable[[EdgeMoves, Slot, Tensor, Tensor], object]] = {
    "Cast": _cast,
    "Reshape": _reshape,
    "Transpose": _transpose,
}
_BUILDERS: dict[str, Callable[[EdgeMoves, Slot, Tensor, Any], int]] = {
    "Cast": _make_cast,
    "Reshape": _make_reshape,
    "Transpose": _make_transpose,
}


# Placeholders, which are made in the same way


def placeholder(moves: EdgeMoves, tensor: Tensor) -> int:
    """A placeholder for what a tensor gives, of its dtype and its static shape; its number.

    Raises GraphEditError for what cannot be fed.
    """
    op, port = tensor
    dtype, tensor_text = _base(moves, tensor), moves.tensor_name(tensor)
    if not dtype or dtype in HANDLE_DTYPES:
        what = f"a {dtype}, which cannot be fed" if dtype else "of an unknown dtype"
        raise GraphEditError(
            f"{tensor_text!r} is {what}, so no placeholder can replace it; take "
            f"{moves.name(op)!r} along.",
            [moves.name(op)],
        )
    name = f"{moves.name(op)}_{port}" if port else moves.name(op)
    number, node = moves.make("Placeholder", moves.free_name(f"{name}_placeholder"))
    _set_dtype(moves, node, "dtype", dtype)
    shape: Shape = moves.index.shape(op, port)
    write_shape(node.attr["shape"].shape, shape)
    moves.notes.append(
        f"{node.name!r} " + drawn_shape(shape) + f" replaces {tensor_text!r} now; feed it."
    )
    return number
