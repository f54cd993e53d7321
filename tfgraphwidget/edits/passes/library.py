"""What goes with ops, or without: functions that no op calls, collections, attributes that mark ops
and functions.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.command import Command, subject_text
from tfgraphwidget.edits.context import PlanContext
from tfgraphwidget.edits.function_bodies import plan_everywhere
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite
from tfgraphwidget.edits.patch import (
    Change,
    Patch,
    Report,
    nothing_to_do,
    without_uncalled_functions,
)
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewire.operands import part_text
from tfgraphwidget.edits.rewrite.attributes import check_new_node
from tfgraphwidget.edits.rewrite.consumers import is_left_out, resolve_ops
from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.graph import mask_of
from tfgraphwidget.naming import known_instead, names_text
from tfgraphwidget.sentences import editor_call, in_cell


@register
@dataclass(frozen=True)
class RemoveFunctions(Command):
    """Remove the functions of the graph's library that no op calls, itself or by other functions.

    Returns:
        What was changed.

    Raises:
        GraphEditError: The body of a function is open.

    Example:
        >>> import tensorflow as tf, tfgraphwidget as tgw
        >>> graph = tf.compat.v1.GraphDef()
        >>> graph.node.add(name="x", op="NoOp")
        name: "x"
        op: "NoOp"
        <BLANKLINE>
        >>> graph.library.function.add().signature.name = "unused"
        >>> tgw.edit(graph).passes.remove_functions().notes
        ("Removed 'unused'.",)
    """

    method: ClassVar[str] = "passes.remove_functions"

    keeps_values: ClassVar[bool] = True

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return "Removed the functions that no op calls"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError when ops call all functions."""
        index = context.index
        if context.function:
            raise GraphEditError(
                "The library of functions is that of the whole graph; leave the function first: "
                + editor_call("view.leave", "")
                + "."
            )
        called = index.reachable_functions()
        names = sorted(name for name in index.functions if name not in called)
        if not names:
            return nothing_to_do("Ops call every function of the graph.")
        functions = tuple(index.extras.function(name) for name in names)
        return Patch(
            remove=Change(functions=functions), report=Report((f"Removed {names_text(names)}.",))
        )


@register
@dataclass(frozen=True)
class RemoveCollection(Command):
    """Remove collections of the graph; the ops and variables in them stay.

    Args:
        keys: The keys of the collections: "losses".

    Returns:
        What was changed.

    Raises:
        GraphEditError: The graph has no such collection.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.passes.remove_collection("train_op")
        >>> editor.graph.get_collection("train_op")
        []
    """

    method: ClassVar[str] = "passes.remove_collection"

    keys: Annotated[tuple[str, ...], kinds.Operand(is_positional=True)]
    keeps_values: ClassVar[bool] = True

    @classmethod
    def from_call(cls, resolver: kinds.Resolver, /, *keys: str) -> Command:  # noqa: ARG003
        """The command of a call with any number of keys."""
        return cls(keys)

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Removed collection {subject_text(self.keys)}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError for a collection that the graph does not have."""
        if not self.keys:
            return nothing_to_do("No collection is named.")
        collections = context.index.collections
        for key in self.keys:
            if not collections.get(key):
                present = sorted(name for name, members in collections.items() if members)
                raise UnknownName(
                    f"The graph has no collection {key!r}{known_instead(key, present)}"
                )
        members = tuple(
            (key, member) for key in dict.fromkeys(self.keys) for member in collections[key]
        )
        return Patch(remove=Change(members=members))


@register
@dataclass(frozen=True)
class RemoveAttr(Command):
    """Remove an attribute of ops, as of what was placed on a TPU:
    `editor.passes.remove_attr("_tpu_replicate")`.

    Args:
        name: The attribute, one that the op type does not need.
        what: Ops, a name scope or a selection; None for all.
        functions: Whether the functions that these ops call, and the ops in these, lose it too
            ("_XlaMustCompile").

    Returns:
        What was changed.

    Raises:
        GraphEditError: No op has the attribute, or one cannot be without.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> editor.passes.remove_attr("_class").changed[0]
        'net/hidden/w/Initializer/Const'
    """

    method: ClassVar[str] = "passes.remove_attr"

    name: str
    what: kinds.PartOrAll = ()
    _: KW_ONLY
    functions: bool = True

    def sentence(self) -> str:
        """The sentence that describes the edit."""
        return f"Removed {self.name} of {subject_text(self.what) if self.what else 'all ops'}"

    def plan(self, context: PlanContext) -> Patch:
        """The patch; GraphEditError if no op has the attribute, or one needs it."""
        if any(0xD800 <= ord(letter) < 0xE000 for letter in self.name):
            raise GraphEditError(
                f"{self.name!r} is not text that an attribute can be named by; give another name."
            )
        outermost = context.index
        ops = range(len(outermost)) if is_left_out(self.what) else resolve_ops(outermost, self.what)
        if not ops and len(outermost):
            return nothing_to_do(
                part_text(self.what) + f" holds no ops, so there is no {self.name!r} to remove."
            )
        chosen = frozenset(ops)

        def rewrite(inner: PlanContext) -> Patch | None:
            return self._rewrite(
                inner, chosen if inner.index is outermost else range(len(inner.index))
            )

        if self.functions:
            within = mask_of(outermost, chosen)
            patch = plan_everywhere(
                context,
                rewrite,
                "without",
                within=within,
                keeps_gradients=False,
                without_attribute=self.name,
            )
        else:
            patch = rewrite(context)
        if patch is None:
            present = sorted({name for op in chosen for name in outermost.nodes[op].attr})
            raise UnknownName(
                f"No op here has attribute {self.name!r}{known_instead(self.name, present)}"
            )
        # The functions as they were would keep it. Those of a SavedModel have names in its objects,
        # too.
        is_alone = not context.function and not context.signatures
        return without_uncalled_functions(outermost, patch) if is_alone else patch

    def _rewrite(self, context: PlanContext, ops: range | frozenset[int]) -> Patch | None:
        index, rewrite = context.index, GraphRewrite(context)
        for op in sorted(ops):
            if self.name not in index.nodes[op].attr:
                continue
            definition = index.typing.definition(index.types[op])
            described = (
                {attr.name: attr for attr in definition.attr} if definition is not None else {}
            )
            node = rewrite.node(op)
            del node.attr[self.name]
            if self.name in described and not described[self.name].HasField("default_value"):
                raise GraphEditError(
                    f"Op {node.name!r} cannot be without {self.name!r}, which every {node.op} has; "
                    + in_cell(
                        f"set another value: editor.set_attr({node.name!r}, {self.name!r}, …)."
                    ),
                    [node.name],
                )
            if self.name in described:
                node.attr[self.name].CopyFrom(described[self.name].default_value)
                check_new_node(context, op, node)
                del node.attr[self.name]
        return rewrite.patch(prune=False)
