"""ObfuscateNames: a graph that can be shown to others without the names of its ops."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from itertools import count
from typing import ClassVar

import numpy as np

from tfgraphwidget.edits.command import Command
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.patch import Patch, Report, nothing_to_do
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.rename import lost_state_notes, rename_patch
from tfgraphwidget.graph import (
    CONSTANTS,
    GraphIndex,
    all_variables,
    has_state,
    persistent_state,
    tensor_values,
)
from tfgraphwidget.naming import (
    count_text,
    free_name,
    scope_around,
    shared_name,
    split_tensor,
)
from tfgraphwidget.tf_types import NodeDef

# Attributes that hold names: under which state is found or that errors print, and of the user.
_KEYS = ("shared_name", "container", "debug_name", "tensor_array_name", "stack_name")
_USER = ("_user_specified_name", "_output_shapes_name")
_SCOPE = re.compile(r"[A-Za-z]\w*_\d+")
_SMALL = 16  # elements of a constant that may be a shape, an axis or a size


@register
@dataclass(frozen=True)
class ObfuscateNames(Command):
    """Give all ops and name scopes names that say nothing but the op type, for bug reports.

    Args:
        contents: Whether large constants become zeros, and texts "text", as well.

    Returns:
        What was renamed; its notes list what stays, such as op types, the names of functions, and
        the keys of variables that have values.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.edit(tgw.example().graph.as_graph_def())
        >>> report = editor.passes.obfuscate_names()
        >>> editor.ops(type="Relu").ops
        ('scope_1/scope_1/Relu_1',)
    """

    method: ClassVar[str] = "passes.obfuscate_names"

    keeps_values: ClassVar[bool] = True

    _: KW_ONLY
    contents: bool = False
    asks_for_session: ClassVar[bool] = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Obfuscated all names"

    def plan(self, context: PlanContext) -> Patch:
        """The patch of the graph of `context`.

        One that does nothing for a graph without ops, or one whose names say nothing already.
        """
        index = context.index
        fixed = {split_tensor(name)[0] for name in context.arguments}
        if context.function or context.boundary is not None:
            # Callers find the state by the names of its ops.
            fixed |= {index.names[op] for op in np.flatnonzero(persistent_state(index)).tolist()}
            for variable in all_variables(index):
                fixed |= variable.ops
        pairs = zip(index.names, index.types, strict=True)
        if all(name in fixed or _says_nothing(name, kind) for name, kind in pairs):
            return nothing_to_do("The graph has no names to hide.")
        names = {old: new for old, new in obfuscated_names(index).items() if old not in fixed}
        outermost = (name.partition("/")[0] for name in names.values() if "/" in name)
        patch = rename_patch(index, names, tuple(dict.fromkeys(outermost)))
        keys = _Keys(index, has_values=context.has_values)
        nodes = tuple(keys.without_names(node) for node in patch.add.nodes)
        notes = [f"{count_text(len(names), 'op')} renamed."]
        if self.contents:
            zeroed = sum(_without_content(node, index) for node in nodes)
            notes.append(f"{count_text(zeroed, 'constant')} became zeros or texts of no meaning.")
        remaining = self._remaining(index, keys, has_arguments=bool(fixed))
        notes.append(f"These stay: {', '.join(remaining)}.")
        patch = replace(patch, add=replace(patch.add, nodes=nodes))
        return replace(patch, report=Report((*lost_state_notes(patch, context), *notes)))

    def _remaining(self, index: GraphIndex, keys: _Keys, *, has_arguments: bool) -> list[str]:
        """What of the graph still says something, in words."""
        remaining = ["op types, attributes and shapes", "the keys of signatures and collections"]
        if not self.contents:
            remaining.append("the contents of constants")
        if index.functions:
            remaining.append(f"{count_text(len(index.functions), 'function')} with their names")
        if keys.state_keys:
            remaining.append(f"the keys of {count_text(keys.state_keys, 'variable or table')}")
        if has_arguments:
            remaining.append("the names of arguments and captured variables")
        if keys.frames_stay:
            remaining.append("the frames of loops")
        return remaining


def obfuscated_names(index: GraphIndex) -> dict[str, str]:
    """The new name of each op by its old one: type and number, in numbered scopes as before."""
    paths: dict[str, str] = {"": ""}
    numbers: Counter[tuple[str, str]] = Counter()
    used = index.used_names()

    def new_path(path: str) -> str:
        if path not in paths:
            around = new_path(scope_around(path))
            base = index.types[index.ids[path]] if path in index.ids else "scope"
            base = base if base.isidentifier() and not base.startswith("_") else "op"
            numbers[around, base] += 1
            name = f"{around}/{base}_{numbers[around, base]}".lstrip("/")
            paths[path] = free_name(name, used) if name.lower() in used else name
            used.add(paths[path].lower())
        return paths[path]

    return {name: new_path(name) for name in index.names}


def _says_nothing(name: str, kind: str) -> bool:
    """Whether a name is one that this edit gives."""
    *scopes, last = name.split("/")
    is_numbered_type = re.fullmatch(rf"({re.escape(kind)}|op)(_\d+)+", last) is not None
    return is_numbered_type and all(map(_SCOPE.fullmatch, scopes))


class _Keys:
    """Gives attributes that hold names others, the same for the same."""

    def __init__(self, index: GraphIndex, *, has_values: bool) -> None:
        self._has_values = has_values
        # Functions stay as they are, and find what they share with the graph by its key.
        bodies = (index.extras.function(name) for name in index.functions)
        inner = [node for body in bodies for node in body.node_def if has_state(node)]
        self._in_functions = {
            (shared_name(node) or node.name).encode(errors="surrogateescape") for node in inner
        }
        self._in_functions |= {
            node.attr["container"].s for node in inner if "container" in node.attr
        }
        self.frames_stay = bool(index.extras.contexts())
        self._new: dict[bytes, bytes] = {}
        self._numbers = count(1)  # of keys, none of which is given to two states
        self.state_keys = 0

    def without_names(self, node: NodeDef) -> NodeDef:
        """The NodeDef with other keys; with those that it has where values are found by them."""
        for key in _USER:
            node.attr.pop(key, None)
        for key in _KEYS:
            if key in node.attr and node.attr[key].s:
                is_needed = self._has_values or node.attr[key].s in self._in_functions
                if is_needed and key in ("shared_name", "container"):
                    self.state_keys += key == "shared_name"
                else:
                    text = node.attr[key].s
                    if text not in self._new:
                        self._new[text] = self._free_key()
                    node.attr[key].s = self._new[text]
        if "frame_name" in node.attr and not self.frames_stay:
            text = node.attr["frame_name"].s
            node.attr["frame_name"].s = self._new.setdefault(
                text, f"frame_{len(self._new) + 1}".encode()
            )
        return node

    def _free_key(self) -> bytes:
        keys = (f"key_{number}".encode() for number in self._numbers)
        return next(key for key in keys if key not in self._in_functions)


def _without_content(node: NodeDef, index: GraphIndex) -> bool:
    """Replace the content of a large constant, or of one of texts; whether that is done."""
    if node.op not in CONSTANTS:
        return False
    proto = node.attr["value"].tensor
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    dtype = index.typing.dtypes(node)[0]
    is_text = dtype == "string"
    if not is_text and int(np.prod(shape, dtype=np.int64)) <= _SMALL:
        return False
    try:
        kind = tensor_values.numpy_dtype(dtype)
    except TypeError:
        return False
    if kind.fields:
        return False
    array = np.full(shape, b"text", object) if is_text else np.zeros(shape, kind)
    tensor_values.set_tensor(proto, array, proto.dtype)
    return True
