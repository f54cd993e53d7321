"""Mends: an op between a reader and a tensor that does not fit it: a Cast, a Reshape, a Transpose.

What a reader takes is told by what it reads so far: the dtype, and the static shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any, Literal

from tfgraphwidget.edits.rewire.edge_moves import Slot, Tensor, Wires
from tfgraphwidget.edits.rewire.execution_frames import may_run_within, within
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONTROL, HANDLE_DTYPES, Shape, shape_text
from tfgraphwidget.naming import as_input
from tfgraphwidget.tf_types import NodeDef

Mend = Literal["", "Cast", "Reshape", "Transpose"]

_MOST_DIMENSIONS = 6  # of what is transposed: there are 720 ways to turn six
_CAST = frozenset({
    "bool", "bfloat16", "half", "float16", "float32", "float64", "complex64", "complex128",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
})  # fmt: skip


def mend(wires: Wires, kind: str) -> None:
    """Put an op of that type between each moved input and what it is to read, where that fits it.

    One for all inputs that need the same. Raises GraphEditError when it would fit none.
    """
    if kind not in _FITTING:
        known = ", ".join(map(repr, _FITTING))
        raise GraphEditError(f"mend={kind!r} is not known; it is one of {known}.")
    made: dict[tuple[Tensor, Any], int] = {}
    for slot, old, new in wires.moves():
        wanted = _FITTING[kind](wires, old, new)
        if wanted is not None:
            if (new, wanted) not in made:
                made[new, wanted] = _MAKING[kind](wires, slot, new, wanted)
            wires.mended[slot] = made[new, wanted]
    if not made:
        ends = next((f" ({wires.told(new)!r} for {wires.told(old)!r})" for _, old, new in wires.moves()), "")
        raise GraphEditError(f"A {kind} mends nothing here{ends}; leave mend={kind!r} out.")


def possible(wires: Wires) -> tuple[Mend, ...]:
    """The mends that could help: a Cast where dtypes differ, else what makes the static shapes the same."""
    moves = [(old, new) for _, old, new in wires.moves() if new[0] < len(wires.index)]
    differ = [(old, new) for old, new in moves if _base(wires, old) != _base(wires, new)]
    if differ:
        return ("Cast",) if all(_cast(wires, old, new) for old, new in differ) else ()
    shapes = [(old, new) for old, new in moves if wires.index.shape(*old) != wires.index.shape(*new)]
    kinds: tuple[Mend, ...] = ("Transpose", "Reshape")
    return tuple(k for k in kinds if shapes and all(_FITTING[k](wires, old, new) is not None for old, new in shapes))


def _base(wires: Wires, tensor: Tensor) -> str:
    return wires.dtype(tensor).removesuffix("_ref")


# What fits: told by what the input reads (`old`) and is to read (`new`); None where nothing is to be mended or can be


def _cast(wires: Wires, old: Tensor, new: Tensor) -> str | None:
    """The dtype to cast to."""
    had, given = _base(wires, old), _base(wires, new)
    return had if had != given and {had, given} <= _CAST else None


def _reshape(wires: Wires, old: Tensor, new: Tensor) -> tuple[int, ...] | None:
    """The shape to give, -1 for the one unknown dimension."""
    had, given = wires.index.shape(*old), wires.index.shape(*new)
    if had is None or had == given or had.count(None) > 1:
        return None
    total = None if given is None or None in given else math.prod(size or 0 for size in given)
    known = math.prod(size for size in had if size is not None)
    if total is not None and (total != known if None not in had else not known or total % known):
        return None
    return tuple(-1 if size is None else size for size in had)


def _transpose(wires: Wires, old: Tensor, new: Tensor) -> tuple[int, ...] | None:
    """The order of the dimensions."""
    had, given = wires.index.shape(*old), wires.index.shape(*new)
    if had is None or given is None or had == given or not 1 < len(had) <= _MOST_DIMENSIONS or len(had) != len(given):
        return None
    return next((p for p in permutations(range(len(had))) if tuple(given[k] for k in p) == had), None)


# What is made


def _make_cast(wires: Wires, slot: Slot, new: Tensor, wanted: str) -> int:
    number, node = wires.make("Cast", _beside(wires, slot, "Cast"), (_text(wires, new),))
    _type(wires, node, "SrcT", _base(wires, new))
    _type(wires, node, "DstT", wanted)
    return number


def _make_reshape(wires: Wires, slot: Slot, new: Tensor, wanted: tuple[int, ...]) -> int:
    return _with_numbers(wires, ("Reshape", "shape", "Tshape"), slot, new, wanted)


def _make_transpose(wires: Wires, slot: Slot, new: Tensor, wanted: tuple[int, ...]) -> int:
    return _with_numbers(wires, ("Transpose", "perm", "Tperm"), slot, new, wanted)


def _with_numbers(wires: Wires, kind: tuple[str, str, str], slot: Slot, new: Tensor, numbers: tuple[int, ...]) -> int:
    """An op that reads a tensor and a constant of whole numbers, which stands under the op's name."""
    op_type, argument, attribute = kind
    name = _beside(wires, slot, op_type)
    _, constant = wires.make("Const", f"{name}/{argument}", _same_place(wires, new))
    _type(wires, constant, "dtype", "int32")
    tensor = constant.attr["value"].tensor
    tensor.dtype = wires.index.typing.number("int32")
    tensor.tensor_shape.dim.add(size=len(numbers))
    tensor.int_val.extend(numbers)
    number, node = wires.make(op_type, name, (_text(wires, new), constant.name))
    _type(wires, node, "T", _base(wires, new))
    _type(wires, node, attribute, "int32")
    return number


def _same_place(wires: Wires, tensor: Tensor) -> tuple[str, ...]:
    """What a constant waits for, so that it is there whenever the tensor is: a loop has its own."""
    if not may_run_within(wires.index, [tensor[0]]) or not within(wires.index).given(tensor):
        return ()
    return (as_input(wires.name(tensor[0]), CONTROL),)


def _beside(wires: Wires, slot: Slot, op_type: str) -> str:
    """A free name in the scope of the op that reads."""
    return wires.free("".join(wires.name(slot[0]).rpartition("/")[:2]) + op_type)


def _text(wires: Wires, tensor: Tensor) -> str:
    return as_input(wires.name(tensor[0]), tensor[1])


def _type(wires: Wires, node: NodeDef, attribute: str, dtype: str) -> None:
    node.attr[attribute].type = wires.index.typing.number(dtype)


_FITTING: dict[str, Callable[[Wires, Tensor, Tensor], Any]] = {
    "Cast": _cast,
    "Reshape": _reshape,
    "Transpose": _transpose,
}
_MAKING: dict[str, Callable[[Wires, Slot, Tensor, Any], int]] = {
    "Cast": _make_cast,
    "Reshape": _make_reshape,
    "Transpose": _make_transpose,
}


# Not a mend, but made in the same way


def placeholder(wires: Wires, tensor: Tensor) -> int:
    """A placeholder for what a tensor gives, of its dtype and its static shape; its number.

    Raises GraphEditError for what nobody can feed.
    """
    op, port = tensor
    dtype, told = _base(wires, tensor), wires.told(tensor)
    if not dtype or dtype in HANDLE_DTYPES:
        what = f"a {dtype}, which nobody can feed" if dtype else "of a dtype that nobody tells"
        raise GraphEditError(
            f"{told!r} is {what}, so no placeholder can stand for it; take {wires.name(op)!r} along.", [wires.name(op)]
        )
    name = f"{wires.name(op)}_{port}" if port else wires.name(op)
    number, node = wires.make("Placeholder", wires.free(f"{name}_placeholder"))
    _type(wires, node, "dtype", dtype)
    shape: Shape = wires.index.shape(op, port)
    if shape is None:
        node.attr["shape"].shape.unknown_rank = True
    else:
        node.attr["shape"].shape.SetInParent()
        for size in shape:
            node.attr["shape"].shape.dim.add(size=-1 if size is None else size)
    wires.notes.append(f"{node.name!r} {shape_text(shape)} stands for {told!r} now; feed it.")
    return number
