"""Inspection: what is known of an op or a scope, as the inspector shows it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tfgraphwidget import runtime
from tfgraphwidget.editor.evaluation import original_name
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    Conditional,
    FunctionRef,
    Loop,
    count_trainable,
    count_variables,
    enclosing_blocks,
    frame,
)
from tfgraphwidget.naming import count_text, escape, split_tensor
from tfgraphwidget.runtime import session as sessions
from tfgraphwidget.sentences import editor_call
from tfgraphwidget.sources import (
    AttributeDescription,
    Documentation,
    OpDescription,
    TensorDescription,
    body_signature,
    definition_signature,
    describe_op,
    documentation,
    live_origin,
)

if TYPE_CHECKING:
    from pandas import DataFrame

    from tfgraphwidget.editor.state import EditorCore

COLUMNS = ("section", "name", "text")
_NONE = OpDescription("", (), (), (), (), "")


class Inspection:
    """The facts about an op or a scope, from `editor.inspect`; a notebook shows a table.

    Values are read when they are asked for, and the graph, the session and the variables stay as
    they are.

    Attributes:
        name: The name of the op or scope.
        op_type: The type of the op; "" for a scope.
        ops: How many ops it has: 1 for an op.
        variables: How many variables it holds.
        trainable: How many of them an optimizer can be given: those that the graph's collections
            list.
        device: The device that the op is placed on; "" if TensorFlow chooses.
        inputs: The tensors that it reads, with dtype, static shape and the ops that compute them.
        outputs: The tensors that it computes, with the ops that read them.
        control_inputs: The ops that run before it.
        attributes: Its attributes, as text.
        functions: The functions that it calls.
        frames: The loops and conditionals around it, innermost first.
    """

    def __init__(self, core: EditorCore, name: str) -> None:
        index = core.view.index
        self._core = core
        facts = _NONE
        if split_tensor(name)[0] in index.ids:
            op = index.op(name)
            facts = describe_op(index, op)
            self.name, self.op_type, self.ops = index.names[op], index.types[op], 1
            self.variables = count_variables(index, [op])
            self.trainable = count_trainable(index, [op])
            self.functions: tuple[FunctionRef, ...] = core.navigator.called_functions(self.name)
            self.frames: tuple[Loop | Conditional, ...] = tuple(enclosing_blocks(index, op))
            self.inputs, self.outputs = facts.inputs, facts.outputs
        else:
            part = core.view.holding(name)
            self.name, self.op_type, self.ops = name, "", len(part)
            self.variables = count_variables(index, part.ids)
            self.trainable = count_trainable(index, part.ids)
            self.functions, self.frames = (), ()
            self.inputs, self.outputs = (
                tuple(map(_boundary, tensors)) for tensors in (part.inputs, part.outputs)
            )
        self.device, self.control_inputs = facts.device, facts.control_inputs
        self.attributes: tuple[AttributeDescription, ...] = facts.attributes
        self.constant: str = facts.value

    def _original_name(self, name: str) -> str:
        """The name of an op before edits."""
        return original_name(name, (patch.renamed for patch in self._core.executor.patches()))

    @property
    def value(self) -> runtime.measure.Stats | None:
        """The value of its variable or constant, with shape and statistics; None for other ops.

        `why_no_value` says why a variable has none.
        """
        return self._value[0]

    @property
    def why_no_value(self) -> str:
        """Why the value of the variable or constant is unknown; "" if known, or no such op."""
        return self._value[1]

    def array(self) -> np.ndarray:
        """The whole value of its variable or constant as a numpy array, whatever its size.

        Raises:
            GraphEditError: It is not a variable or constant, or its value is unknown here.
            SessionRefused: The variable has no value.
        """
        typed_value = self._read(None)
        if typed_value is None:
            raise GraphEditError(
                f"{self.name!r} is not a variable or constant; run the graph: "
                + editor_call("probe", f"{self.name!r}")
                + "."
            )
        return typed_value[1]

    @cached_property
    def _value(self) -> tuple[runtime.measure.Stats | None, str]:
        try:
            typed_value = self._read(sessions.current_values.LARGEST)
        except GraphEditError as error:
            return None, error.why
        if typed_value is None:
            return (None, "")
        return (runtime.measure.Stats(self.name, *typed_value), "")

    def _read(self, largest: int | None) -> tuple[str, np.ndarray] | None:
        """The dtype and value of its variable or constant, up to some bytes; None for other ops."""
        core, index = self._core, self._core.view.index
        body = core.view.body
        fixed = body.constants.get(self._original_name(self.name))
        op = sessions.current_values.find_state_op(index, self.name)
        place = sessions.current_values.ValueContext(
            core.source, core.target.index, body, core.executor.value_readers
        )
        constant = fixed if op is None else None
        if op is not None and index.types[op] in CONSTANTS:
            constant = index.nodes[op]
        if constant is not None:
            return sessions.current_values.constant_value(
                constant, largest or sessions.current_values.LARGEST_WHOLE
            )
        if op is not None:
            return sessions.current_values.variable_value(
                place, index, op, self._original_name(index.names[op]), largest
            )
        return None

    @cached_property
    def documentation(self) -> Documentation:
        """TensorFlow's documentation of the op type: a summary, and a text for each argument."""
        if not self.op_type:
            return Documentation()
        return documentation(self.op_type, self._core.view.index.typing.definition(self.op_type))

    @cached_property
    def origin(self) -> tuple[str, ...]:
        """The lines of Python that made the op, innermost last, as its graph or file has them."""
        if not self.op_type:
            return ()
        core = self._core
        function, old = core.navigator.function, self._original_name(self.name)
        if core.source.stored is not None and (
            lines := core.source.stored.creation_lines(old, function)
        ):
            return lines
        return live_origin(core.source.body, core.view.body, (old, self.op_type), function)

    @cached_property
    def signature(self) -> tuple[tuple[str, str, str], ...]:
        """Arguments and results, as (sort, name, dtype and shape), of the functions that it calls.

        For an argument or a result of the current function, and for "/", they are those of the
        current function.
        """
        return tuple(self._signature())

    def _signature(self) -> Iterator[tuple[str, str, str]]:
        core, index = self._core, self._core.view.index
        for reference in self.functions:
            op = index.ids[self.name]
            if reference.label == "cond":
                shapes = []
            else:
                shapes = [index.shape(op, k) for k in range(len(index.dtypes(op)))]
            for sort, name, text in definition_signature(
                index.extras.function(reference.function), shapes
            ):
                yield f"{reference.label} {sort}" if len(self.functions) > 1 else sort, name, text
        arguments, returns = core.executor.inputs_and_outputs
        boundary_ops = {split_tensor(tensor)[0] for tensor in (*arguments, *returns.values())}
        if self.name in boundary_ops or (self.name.strip("/") == "" and boundary_ops):
            yield from body_signature(index, arguments, returns)

    def rows(self) -> list[dict[str, str]]:
        """All of it as dicts with the keys "section", "name" and "text"."""
        return [dict(zip(COLUMNS, row, strict=True)) for row in self._rows()]

    def table(self) -> DataFrame:
        """The rows as a pandas DataFrame."""
        return frame(self.rows(), COLUMNS)

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        head = {
            "type": self.op_type,
            "device": self.device,
            "ops": "" if self.op_type else f"{self.ops:,}",
            "variables": f"{self.variables:,}" if self.variables else "",
        }
        yield from (("", name, text) for name, text in head.items() if text)
        for section, tensors in (("input", self.inputs), ("output", self.outputs)):
            for tensor in tensors:
                yield section, tensor.name, f"{tensor.dtype} {tensor.shape}".strip()
        yield from (("control input", name, "") for name in self.control_inputs)
        yield from (("attribute", each.name, each.text) for each in self.attributes)
        yield from (
            ("function", reference.function, reference.label) for reference in self.functions
        )
        yield from (
            (type(each).__name__.lower(), each.name, count_text(len(each.ops), "op"))
            for each in self.frames
        )
        if self.value is not None:
            names = ("dtype", "shape", "minimum", "mean", "maximum", "", "histogram")
            yield from (
                ("value", name, text)
                for name, text in zip(names, self.value.row(), strict=True)
                if text
            )
        elif self.why_no_value:
            yield "value", "", str(self.why_no_value)
        yield from (
            ("signature", f"{sort} {name}".strip(), text) for sort, name, text in self.signature
        )
        yield from (("made at", "", line) for line in self.origin)
        if self.documentation.summary:
            yield "documentation", "", self.documentation.summary
        yield from (
            ("documentation", f"{sort} {name}", text)
            for sort, name, text in self.documentation.arguments
            if text
        )

    def __repr__(self) -> str:
        rows = list(self._rows())
        widths = [max((len(row[k]) for row in rows), default=0) for k in (0, 1)]
        lines = (
            f"    {row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}".rstrip() for row in rows
        )
        # A terminal obeys the control characters that a file's names and texts may have.
        text = "\n".join((self.name, *lines))
        return "\n".join(map(escape, text.split("\n")))

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:left'>{}</td>"
        lines = ("".join(cell.format(html.escape(text)) for text in row) for row in self._rows())
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table><caption>{html.escape(self.name)}</caption><tbody>{body}</tbody></table>"


def _boundary(tensor: str) -> TensorDescription:
    """A tensor at the boundary of a scope: its op's inspection says the rest."""
    return TensorDescription(tensor, "", "", (split_tensor(tensor)[0],))
