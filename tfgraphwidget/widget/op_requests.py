"""Op types and functions that an op can be replaced by, or that can be inserted, and what their
forms ask for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfgraphwidget.edits import Replace
from tfgraphwidget.graph import INTERCHANGEABLE
from tfgraphwidget.sources import (
    argument_names,
    definition_of,
    documentation,
    fits,
    function_parameters,
    functions_of_tensors,
    op_types,
    parameters,
)
from tfgraphwidget.tf_types import AttrValue, NodeDef, OpsLike
from tfgraphwidget.widget import protocol as p
from tfgraphwidget.widget.edit_buttons import BUTTONS
from tfgraphwidget.widget.edit_requests import selection_of
from tfgraphwidget.widget.kernel_namespace import KernelNamespace, first_line

if TYPE_CHECKING:
    from tfgraphwidget.editor import GraphEditor

_LONGEST = 160  # characters of a summary
_MOST = 200
_MOST_LIKELY = 6
_LEAST_OF_SUMMARY = 3  # characters of a text that is looked for in summaries, too


class OpRequests:
    """Answers to Palette and Describe."""

    def __init__(self, editor: GraphEditor, namespace: KernelNamespace) -> None:
        self._editor, self._namespace = editor, namespace

    def palette(self, request: p.Palette) -> p.OpTypeList:
        """The op types and functions with a text in their names or summaries.

        Functions of the notebook and types that take the tensors come first, then names that begin
        with the text. TensorFlow's functions that make several ops, such as tf.nn.gelu, come last.
        """
        text = request.text.strip().lower()
        common = _common(request.command) if text == "" else ()
        dtypes, own = self._dtypes(request.command, request.what), self._own_type(request)
        ranked: list[tuple[tuple[bool | int | str, ...], p.OpType]] = []
        for name, function in self._functions(text):
            place = len(common) + 1 if "." in name else -1
            op_type = p.OpType(name, "function", _short(first_line(function)), fits=True)
            ranked.append(((place, *_rank(name, text, is_fit=True)), op_type))
        for name in op_types():
            summary = ""
            if name == own and text != own.lower():  # typed in full, it may get other attributes
                continue
            if text not in name.lower():
                if len(text) < _LEAST_OF_SUMMARY:
                    continue
                summary = _summary(name)
                if text not in summary.lower():
                    continue
            is_fit = not dtypes or fits(name, dtypes)
            place = common.index(name) if name in common else len(common)
            op_type = p.OpType(name, "op type", summary, fits=is_fit)
            ranked.append(((place, *_rank(name, text, is_fit=is_fit)), op_type))
        ranked.sort(key=lambda pair: pair[0])
        first = [each for _, each in ranked[: min(request.limit, _MOST)]]
        likely: tuple[p.LikelyType, ...] = ()
        if request.command == "replace" and text == "":
            likely = self._likely(request.what, dtypes)
        return p.OpTypeList(tuple(map(_with_summary, first)), len(ranked), likely)

    def _functions(self, text: str) -> Iterator[tuple[str, object]]:
        """The functions with a text in their names: of the notebook, and of TensorFlow if there is
        a text.
        """
        for name in self._namespace.functions():
            if text in name.lower():
                yield name, self._namespace.value(name)
        for name, function in functions_of_tensors().items() if text else ():
            if text in name:
                yield name, function

    def _own_type(self, request: p.Palette) -> str:
        """The type that all ops to be replaced have; "" if they differ."""
        if request.command != "replace":
            return ""
        index = self._editor._core.index
        types = {index.types[index.op(op)] for op in self._beside("replace", request.what)}
        return types.pop() if len(types) == 1 else ""

    def _likely(self, what: tuple[str, ...], dtypes: tuple[str, ...]) -> tuple[p.LikelyType, ...]:
        """The types that are like that of the only op, and take its inputs and attributes."""
        index, ops = self._editor._core.index, self._beside("replace", what)
        if len(ops) != 1:
            return ()
        node = index.nodes[index.op(ops[0])]
        group = next((group for group in INTERCHANGEABLE if node.op in group), ())
        likely = []
        for name in group:
            if name == node.op or not fits(name, dtypes):
                continue
            attributes = _taken_over(name, node, len(dtypes))
            if attributes is not None:
                likely.append(p.LikelyType(name, _short(_summary(name)), attributes))
        return tuple(likely[:_MOST_LIKELY])

    def describe(self, request: p.Describe) -> p.FormReply:
        """The fields of the form of an op type or function. Raises GraphEditError for others."""
        dtypes = self._dtypes(request.command, request.what)
        function: object = request.name
        if request.function:
            function = self._namespace.value(request.name)
            summary = first_line(function)
            options = function_parameters(function, max(len(dtypes), 1))
        else:
            docs = documentation(request.name, definition_of(request.name))
            summary, options = docs.summary, parameters(request.name, max(len(dtypes), 1))
        beside, instead = self._beside(request.command, request.what), request.command == "replace"
        scope = self._editor._core.arguments.free_name_for(function, beside, instead=instead)
        return p.FormReply(request.name, summary, tuple(options), scope)

    def _beside(self, command: str, what: tuple[str, ...]) -> tuple[str, ...]:
        """The ops, or the tensor, that new ops follow or replace."""
        arguments = self._editor._core.arguments
        if command == "insert":
            return tuple(map(arguments.output, what))
        return arguments.ops_of(arguments.part(self._part(what), ops=True))

    def _part(self, what: tuple[str, ...]) -> OpsLike:
        if what:
            return what[0] if len(what) == 1 else what
        return selection_of(self._editor)

    def _dtypes(self, command: str, what: tuple[str, ...]) -> tuple[str, ...]:
        """The dtypes of the tensors that it is called on; () where there are none yet."""
        arguments, index = self._editor._core.arguments, self._editor._core.index
        if command == "insert":
            tensors = tuple(map(arguments.output, what))
        elif command == "replace":
            tensors = Replace(arguments.part(self._part(what), ops=True), "").tensors(index)
        else:
            tensors = ()
        return tuple(index.tensor_dtype(name).removesuffix("_ref") for name in tensors)


def _common(command: str) -> tuple[str, ...]:
    """The op types that a form proposes before anything is typed."""
    button = BUTTONS.get(command)
    if button:
        return next((field.words for field in button.fields if field.key in ("function", "by")), ())
    return ()


def _rank(name: str, text: str, *, is_fit: bool) -> tuple[bool | int | str, ...]:
    lower = name.lower()
    return (
        lower != text,
        text not in lower,
        not is_fit,
        not lower.startswith(text),
        len(name) if text else 0,
        lower,
    )


def _with_summary(op_type: p.OpType) -> p.OpType:
    if op_type.kind == "function":
        return op_type
    return dataclasses.replace(op_type, summary=_short(op_type.summary or _summary(op_type.name)))


def _summary(op_type: str) -> str:
    return documentation(op_type, definition_of(op_type)).summary


def _taken_over(op_type: str, node: NodeDef, count: int) -> str | None:
    """The attributes that an op of another type takes over, as Python; None if it needs others."""
    arguments = {argument: attribute for attribute, argument in argument_names(op_type).items()}
    attributes = {}
    for parameter in parameters(op_type, count):
        attribute = arguments.get(parameter.name, "")
        value = _plain_value(node.attr[attribute]) if attribute in node.attr else None
        if value is not None and repr(value) != parameter.default:
            attributes[parameter.name] = value
        elif parameter.required:
            return None
    return repr(attributes) if attributes else ""


def _plain_value(value: AttrValue) -> object:
    """A number, switch or text, or a list of whole numbers; None for another value."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return value.s.decode(errors="replace")
    if kind == "list":
        return list(value.list.i) or None
    return getattr(value, kind) if kind in {"i", "f", "b"} else None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
