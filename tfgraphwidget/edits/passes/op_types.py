"""RenameType: the ops of one type become ops of another."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import input_specs
from tfgraphwidget.edits.rewrite.output_uses import OutputUses
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import GraphIndex
from tfgraphwidget.naming import count_text, did_you_mean, names_text
from tfgraphwidget.sentences import editor_call, in_cell
from tfgraphwidget.tf_types import NodeDef, OpDef

_OP_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_>.-]*")


@register
@dataclass(frozen=True)
class RenameType(Pass):
    """Make the ops of one type ops of another, which takes the same inputs.

    Args:
        old: The op type.
        new: The new op type; attributes that it does not have are removed.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed.

    Raises:
        UnknownName: Neither the graph nor TensorFlow has the old type.
        GraphEditError: An op cannot be of the new type.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.edit(tgw.example().graph.as_graph_def())
        >>> editor.passes.rename_type("Relu", "Relu6").changed[0]
        'net/hidden/Relu'
    """

    method: ClassVar[str] = "passes.rename_type"

    old: str
    new: str
    _: KW_ONLY
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Made the {self.old} ops {self.new} ops"

    def nothing(self, context: PlanContext) -> str:
        """Why there is nothing to do in the graph of `context`."""
        return (
            "The graph has no op of type "
            f"{self.old!r}{did_you_mean(self.old, context.index.kinds[0])}"
        )

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, a graph or body. Raises GraphEditError for a wrong type."""
        if self.old == self.new:
            raise GraphEditError(
                f"rename_type: {self.old!r} is the old and the new type; name another one."
            )
        if not _OP_TYPE.fullmatch(self.new):
            raise GraphEditError(
                f"rename_type: {value_text(self.new)} is not an op type; give one such as 'Relu'."
            )
        index = context.index
        ops = [op for op, kind in enumerate(index.types) if kind == self.old]
        if not ops and not context.function and index.typing.definition(self.old) is None:
            end = did_you_mean(self.old, index.kinds[0])
            raise UnknownName(
                f"rename_type: neither the graph nor TensorFlow has an op type {self.old!r}{end}"
            )
        if not ops:
            return None
        if self.new in index.functions:
            raise GraphEditError(
                f"rename_type: {self.new!r} is a function of the graph; name an op type."
            )
        definition, rewrite = index.typing.definition(self.new), GraphRewrite(context)
        removed: dict[str, None] = {}
        uses = OutputUses(context)
        for op in ops:
            node = rewrite.node(op)
            node.op = self.new
            if definition is not None:
                removed |= dict.fromkeys(_fit_attributes(node, definition))
                _check_inputs(index, op, node)
                uses.check(op, node)
        rewrite.notes.append(f"{count_text(len(ops), f'{self.old} op')} became {self.new}.")
        if definition is None:
            rewrite.notes.append(
                f"TensorFlow does not know {self.new!r} here; load its library to run the graph."
            )
        if removed:
            rewrite.notes.append(
                f"{self.new} has no attribute {names_text(list(removed))}, which was removed."
            )
        return rewrite.patch(prune=False)


def _fit_attributes(node: NodeDef, definition: OpDef) -> list[str]:
    """Remove the attributes that a type does not have; their names."""
    attributes = {a.name for a in definition.attr}
    extra = [key for key in node.attr if key[:1] != "_" and key not in attributes]
    for key in extra:
        del node.attr[key]
    missing = [
        a.name
        for a in definition.attr
        if a.name not in node.attr and not a.HasField("default_value")
    ]
    if missing:
        raise GraphEditError(
            f"rename_type: op {node.name!r} lacks attribute {missing[0]!r}, which "
            f"{definition.name} needs; "
            + in_cell(
                f'set it first, editor.set_attr("{node.name}", "{missing[0]}", …), or use '
                "editor.replace."
            ),
            [node.name],
        )
    return extra


def _check_inputs(index: GraphIndex, op: int, node: NodeDef) -> None:
    specs = input_specs(index, node)
    data = index.input_lists[op]
    if specs is not None and len(specs) != len(data):
        raise GraphEditError(
            f"rename_type: op {node.name!r} has {count_text(len(data), 'input')}, and {node.op} "
            f"takes {len(specs)}; use " + editor_call("replace") + ".",
            [node.name],
        )
    for k, (spec, (source, port)) in enumerate(
        zip(specs or (), index.input_tensors(op), strict=False)
    ):
        dtypes = index.dtypes(source)
        dtype = dtypes[port].removesuffix("_ref") if port < len(dtypes) else ""
        if dtype and spec.dtype and index.typing.number(dtype) != spec.dtype % 100:
            raise GraphEditError(
                f"rename_type: input {k} of {node.name!r} is {dtype}, which {node.op} does not "
                "take; use " + editor_call("replace") + ".",
                [node.name],
            )
