"""An edited body as the function that it is: a FunctionDef of the same arguments and results, under a name of its own.

The callers of the function still call the old one; `taken_along` lets a caller call the new one, and infers again the
static shapes that the caller gets from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tfgraphwidget.edits import Change, FunctionBoundary, NodeChange, Patch, apply_patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import CONSTANTS, REQUIRED_PLACEHOLDERS, GraphIndex, called_functions
from tfgraphwidget.naming import free_name, split_input, split_tensor
from tfgraphwidget.runtime.sandbox.shape_inference import infer_patch_shapes
from tfgraphwidget.sources import Body, OpTypes
from tfgraphwidget.tf_types import NodeDef

# What TensorFlow writes beside a function's attributes of other functions, made of it as it was.
_DERIVED = ("forward_function_name", "backward_function_name", "forward_backward_function_name")
_SHAPES = "_output_shapes"


@dataclass(frozen=True, eq=False)
class Edition:
    """An edited body: `body` as it was read, `index` and `ends` as edits have left it; `renamed` are its ops' names."""

    body: Body
    index: GraphIndex
    ends: FunctionBoundary
    renamed: Mapping[str, str]


def taken_along(index: GraphIndex, op: str, label: str, edition: Edition) -> GraphIndex:
    """The graph whose `op` calls the edited body where it called, as `label`, the one that the body was read from.

    `op` may be the function's own name: then all ops of `index` that call it do. The index as it is when no op does.
    Raises GraphEditError when the caller cannot take what the body gives now.
    """
    found = [(k, door) for k in _callers(index, op) for door in called_functions(index.nodes[k], index.functions)]
    calls = [(k, door) for k, door in found if door.function == op or label in ("", door.label)]
    if not calls:
        return index
    old = calls[0][1].function
    new = rewritten(
        index.extras.function(old), edition, free_name(f"{old}_edited", {n.lower() for n in index.functions})
    )
    changed = tuple(
        NodeChange(index.nodes[k], _calling(index.nodes[k], door.label, new.signature.name)) for k, door in calls
    )
    patch = Patch(add=Change(functions=(new, *_new_ones(new, index, edition.index))), changed=changed)
    return apply_patch(index, infer_patch_shapes(index, patch))


def _callers(index: GraphIndex, op: str) -> Sequence[int]:
    return [index.ids[op]] if op in index.ids else range(len(index)) if op in index.functions else []


def _new_ones(definition: Any, index: GraphIndex, inner: GraphIndex) -> Iterable[Any]:
    """The functions that edits brought into a body, or specialized there."""
    seen, stack = set(index.functions), list(definition.node_def)
    while stack:
        for door in called_functions(stack.pop(), inner.functions):
            if door.function not in seen:
                seen.add(door.function)
                function = inner.extras.function(door.function)
                stack += function.node_def
                yield function


def _calling(node: NodeDef, label: str, name: str) -> Any:
    """The op with another function as `label`: "f", "branches[1]", or "" for one that is of the function's type."""
    new = type(node)()
    new.CopyFrom(node)
    key, _, number = label.rstrip("]").partition("[")
    if not key:
        new.op = name
    elif number:
        new.attr[key].list.func[int(number)].name = name
    else:
        new.attr[key].func.name = name
    return new


def rewritten(definition: Any, edition: Edition, name: str) -> Any:
    """The FunctionDef of an edited body; `definition` is that of the body as it was.

    Raises GraphEditError when it does not take or give any more what its callers count on.
    """
    index, written = edition.index, _Written(definition, edition)
    new = type(definition)()
    new.CopyFrom(definition)
    new.signature.name = name
    for key in _DERIVED:
        new.attr.pop(key, None)
    del new.node_def[:]
    for k, node in enumerate(index.nodes):
        if node.name not in written.arguments:
            copy = new.node_def.add()
            copy.CopyFrom(node)
            copy.attr.pop(_SHAPES, None)
            copy.input[:] = written.inputs(k)
    for key, tensor in edition.ends[1].items():
        _check_dtype(index, definition, key, tensor)
        new.ret[key] = written.tensor(*split_tensor(tensor))
    for key, op in definition.control_ret.items():
        now = edition.renamed.get(op, op)
        if now in index.ids:
            new.control_ret[key] = now
        else:
            del new.control_ret[key]
    kept = [key for key in definition.signature.control_output if key in new.control_ret]
    new.signature.control_output[:] = kept
    return new


class _Written:
    """How a FunctionDef writes what its ops read; `arguments` maps ops of the body to the arguments they stand for."""

    def __init__(self, definition: Any, edition: Edition) -> None:
        body, self._index = edition.body, edition.index
        self._types = OpTypes(self._index.extras.function)
        ids, kinds = self._index.ids, self._index.types
        self.arguments = {
            shown: argument
            for argument, shown in reversed(list(body.alias.items()))
            if shown not in ids or kinds[ids[shown]] not in CONSTANTS  # a variable that an edit has frozen
        }
        for was, now in zip(body.arguments, edition.ends[0], strict=True):
            op, argument = split_tensor(now)[0], split_tensor(was)[0]
            if op in self._index.ids and self._index.types[self._index.ids[op]] not in REQUIRED_PLACEHOLDERS:
                raise GraphEditError(
                    f"{op!r} stands where {definition.signature.name!r} has its argument {argument!r}, and is none; "
                    "let it read a Placeholder.",
                    [op],
                )
            self.arguments[op] = argument

    def inputs(self, k: int) -> list[str]:
        """What op k reads and waits for; arguments are always there."""
        ends = map(split_input, self._index.nodes[k].input)
        kept = ((op, port) for op, port in ends if port >= 0 or op not in self.arguments)
        return [self.tensor(op, port) if port >= 0 else f"^{op}" for op, port in kept]

    def tensor(self, op: str, port: int | None) -> str:
        """A tensor as "argument", or as "op:output_argument:number"."""
        if op in self.arguments:
            return self.arguments[op]
        left = port or 0
        for output in self._types.outputs(self._index.nodes[self._index.ids[op]]) or ():
            if left < len(output.dtypes):
                return f"{op}:{output.name}:{left}"
            left -= len(output.dtypes)
        raise GraphEditError(
            f"TensorFlow does not know what {op!r} gives, so the function that it is in cannot be written again; load "
            "the library of its op type: tf.load_op_library(path).",
            [op],
        )


def _check_dtype(index: GraphIndex, definition: Any, key: str, tensor: str) -> None:
    op, port = split_tensor(tensor)
    wanted = next((arg.type for arg in definition.signature.output_arg if arg.name == key), 0)
    given = index.dtypes(index.op(op))[port or 0]
    if wanted and given and index.typing.number(given) != wanted:
        raise GraphEditError(
            f"{tensor!r} is {given}, and what calls {definition.signature.name!r} takes {key!r} as another dtype; put "
            "a Cast before it.",
            [op],
        )
