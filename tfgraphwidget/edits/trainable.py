"""Trainable: which variables an optimiser takes when nobody names any."""

from __future__ import annotations

from dataclasses import dataclass, field

from tfgraphwidget.edits.patch import Change, Patch
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.index import GraphIndex, Member

_KEY = "trainable_variables"


@dataclass(frozen=True)
class Trainable:
    """Make the collection of trainable variables hold just these, by the names of their handles."""

    variables: tuple[str, ...] = field(metadata={"positional": True})

    def plan(self, index: GraphIndex, target: GraphIndex | None = None) -> Patch:  # noqa: ARG002
        """The patch of the collection; GraphEditError for what no collection holds as a variable."""
        known = index.defined_variables
        unknown = [name for name in self.variables if name not in known]
        if unknown:
            raise GraphEditError(
                f"{unknown[0]!r} is no tf.Variable of this graph's collections, so no optimiser can take it; clone it, "
                "or add it to tf.compat.v1.GraphKeys.GLOBAL_VARIABLES.",
                unknown,
            )
        # All go and all come, so that taking it back gives the old order too.
        now = tuple((_KEY, member) for member in index.collections.get(_KEY, ()))
        wanted = tuple((_KEY, Member("variable", f"{name}:0")) for name in self.variables)
        return Patch(add=Change(members=wanted), remove=Change(members=now))
