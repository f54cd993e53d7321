"""Which arguments of a SavedModel's functions are parts of sparse or ragged values, as the
structures of its functions in the object graph say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tfgraphwidget.graph import FUNCTION_CALLS
from tfgraphwidget.tf_types import FunctionDef, MetaGraphDef

_SPARSE, _INDEXED_SLICES, _RAGGED = 1, 2, 3  # TypeSpecProto.TypeSpecClass
_MOST_SPLITS = 64  # of a ragged value in a file that may be damaged
_NUMBER = re.compile(r"_\d+$")
_LEAVES = ("tensor_spec_value", "bounded_tensor_spec_value")


def composite_arguments(meta: MetaGraphDef) -> dict[str, frozenset[int]]:
    """The places of the arguments that are parts of sparse or ragged values, by the names of the
    functions that have some.
    """
    library = {function.signature.name: function for function in meta.graph_def.library.function}
    own: dict[tuple[str, ...], frozenset[int]] = {}
    for name, concrete in meta.object_graph_def.concrete_functions.items():
        parts = list(_parts(concrete.canonicalized_input_signature))
        if name in library and any(parts) and None not in parts:
            own[_likeness(library[name])] = frozenset(k for k, part in enumerate(parts) if part)

    # A signature calls a trace of its own, of which only the likeness is in the object graph.
    places = {name: own.get(_likeness(function), frozenset()) for name, function in library.items()}
    is_changed = bool(own)
    while is_changed:
        passed_on = {name: places[name] | _passed_on(library[name], places) for name in places}
        places, is_changed = passed_on, passed_on != places
    return {name: parts for name, parts in places.items() if parts}


def _passed_on(function: FunctionDef, places: dict[str, frozenset[int]]) -> set[int]:
    """The arguments that a function passes on to one that takes them for parts."""
    numbers = {argument.name: k for k, argument in enumerate(function.signature.input_arg)}
    return {
        numbers[text]
        for node in function.node_def
        if node.op in FUNCTION_CALLS and "f" in node.attr
        for k, text in enumerate(node.input)
        if text in numbers and k in places.get(node.attr["f"].func.name, ())
    }


def _likeness(function: FunctionDef) -> tuple[str, ...]:
    """What the traces of one Python function have in common: its name and those of arguments."""
    stem = _NUMBER.sub("", function.signature.name)
    return (stem, *(argument.name for argument in function.signature.input_arg))


def _parts(value: Any) -> Iterator[bool | None]:
    """For each tensor of a StructuredValue whether it is a part; None for an unknown kind."""
    kind = value.WhichOneof("kind")
    if kind in _LEAVES:
        yield False
    elif kind == "type_spec_value":
        count = _count_of_parts(value.type_spec_value)
        yield from [True] * count if count else [None]
    elif kind in ("list_value", "tuple_value"):
        for each in getattr(value, kind).values:
            yield from _parts(each)
    elif kind == "dict_value":
        for _, each in sorted(value.dict_value.fields.items()):
            yield from _parts(each)
    elif kind == "named_tuple_value":
        for pair in value.named_tuple_value.values:
            yield from _parts(pair.value)


def _count_of_parts(spec: Any) -> int:
    """Of how many tensors a value of a TypeSpecProto consists; 0 where that is unknown."""
    state = spec.type_state.tuple_value.values
    if spec.type_spec_class == _SPARSE:
        return 3
    if spec.type_spec_class == _INDEXED_SLICES and len(state) > 3:
        return 3 - int(state[3].WhichOneof("kind") == "none_value")
    if spec.type_spec_class == _RAGGED and len(state) > 2:
        return 1 + min(int(state[2].int64_value), _MOST_SPLITS)
    return 0
