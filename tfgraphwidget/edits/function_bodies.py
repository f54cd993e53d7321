"""An edit of a graph and of the functions that it calls.

A function never changes: where an edit changes a body, the calls call a new function. Calls for
which the same function results share it, and a function that is called twice with the same
constants is planned once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from tfgraphwidget.edits.context import FunctionContext, PlanContext
from tfgraphwidget.edits.function_calls import redirect_call
from tfgraphwidget.edits.patch import NodeChange, Patch
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import Mask, called_functions
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import split_tensor, take_free_name
from tfgraphwidget.tf_types import FunctionDef, NodeDef

Rewrite = Callable[[PlanContext], "Patch | None"]
"""Plans an edit of one graph or body; None for nothing to do."""


def plan_everywhere(
    context: PlanContext,
    rewrite: Rewrite,
    suffix: str,
    *,
    within: Mask | None = None,
    enters: Callable[[PlanContext, int], bool] = lambda *_: True,
    keeps_gradients: bool = True,
    without_attribute: str = "",
) -> Patch | None:
    """Plan an edit of a graph and of the functions that it calls.

    Args:
        rewrite: Plans it for one graph or body. A GraphEditError of a body is a note, and the
            function stays; an InvalidArgument is raised.
        suffix: The names of the new functions end with it.
        within: The ops of the graph whose functions are entered; None for all.
        enters: Whether the functions that an op of the graph or of a body calls are entered.
        keeps_gradients: Whether the new functions have the gradient functions of the old ones,
            which compute the same.
        without_attribute: An attribute that the functions lose; there is something to do where one
            has it.
    """
    names = {name.lower() for name in context.index.functions} | set(context.index.reserved)
    bodies = _Bodies(
        rewrite,
        suffix,
        names,
        enters,
        keeps_gradients=keeps_gradients,
        without_attribute=without_attribute,
    )
    return bodies.plan(context, frozenset(), within)


class _Bodies:
    """Plans an edit of graphs and bodies; remembers the new functions by what they do."""

    def __init__(
        self,
        rewrite: Rewrite,
        suffix: str,
        names: set[str],
        enters: Callable[[PlanContext, int], bool],
        *,
        keeps_gradients: bool,
        without_attribute: str,
    ) -> None:
        self._rewrite, self._suffix, self._names, self._enters = rewrite, suffix, names, enters
        self._keeps_gradients, self._without_attribute = keeps_gradients, without_attribute
        self._new: dict[tuple[str, bytes], FunctionDef] = {}
        self._planned: dict[
            Hashable, tuple[Patch, FunctionDef, tuple[int, ...]] | GraphEditError | None
        ] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def plan(
        self, context: PlanContext, ancestors: frozenset[str], within: Mask | None = None
    ) -> Patch | None:
        """The patch of a graph or body inside the functions `ancestors`; None for nothing."""
        patch, index = self._rewrite(context), context.index
        if not index.functions:
            return patch
        base = patch or Patch()
        removed = {node.name for node in base.remove.nodes}
        after = {change.name: change.after for change in base.changed}
        calls: dict[str, NodeDef] = {}
        functions: dict[str, FunctionDef] = {}
        gradients: dict[tuple[str, str], None] = {}
        notes: dict[str, None] = {}
        for op, before in enumerate(index.nodes):
            if before.name in removed or (within is not None and not within[op]):
                continue
            references = called_functions(after.get(before.name, before), index.functions)
            # A conditional may have become a call of one of its branches.
            labels = {
                each.function: each.label for each in called_functions(before, index.functions)
            }
            for reference in references if references and self._enters(context, op) else ():
                if reference.function in ancestors or reference.label == "_gradient_op_type":
                    continue
                label = (
                    reference.label if before.name not in after else labels.get(reference.function)
                )
                if label is None:
                    continue
                result = self._body(context, before.name, label, ancestors | {reference.function})
                if isinstance(result, GraphEditError):
                    notes[(f"Function {reference.function!r} stays what it is: " + result.why)] = (
                        None
                    )
                elif result is not None:
                    inner, definition, unread = result
                    call = calls.setdefault(before.name, copy_of(after.get(before.name, before)))
                    redirect_call(call, reference.label, definition, unread)
                    functions |= {
                        new.signature.name: new for new in (*inner.add.functions, definition)
                    }
                    gradients |= dict.fromkeys(inner.add.gradients)
                    gradient = (
                        index.extras.gradient(reference.function) if self._keeps_gradients else None
                    )
                    gradients |= {(definition.signature.name, gradient): None} if gradient else {}
                    notes |= dict.fromkeys(inner.report.notes)
        if not calls:
            return None if patch is None else patch.with_notes(*notes)
        changed = {change.name: change for change in base.changed}
        changed |= {
            name: NodeChange(index.nodes[index.ids[name]], node) for name, node in calls.items()
        }
        return replace(
            base,
            add=replace(
                base.add,
                functions=(*base.add.functions, *functions.values()),
                gradients=tuple(dict.fromkeys((*base.add.gradients, *gradients))),
            ),
            changed=tuple(sorted(changed.values(), key=lambda change: index.ids[change.name])),
            report=replace(base.report, notes=(*base.report.notes, *notes)),
        )

    def _body(
        self, context: PlanContext, op: str, label: str, ancestors: frozenset[str]
    ) -> tuple[Patch, FunctionDef, tuple[int, ...]] | GraphEditError | None:
        """What becomes of a function that an op calls: the patch, the function, and the arguments
        it does not read.

        None for nothing to do; or why it cannot be.
        """
        try:
            inner = context.enter(op, label)
        except GraphEditError as error:
            return error
        key = self._key(inner, ancestors)
        if key not in self._planned:
            try:
                self._planned[key] = self._plan_body(inner, ancestors)
            except InvalidArgument:
                raise
            except GraphEditError as error:
                self._planned[key] = error
        return self._planned[key]

    def _key(self, inner: FunctionContext, ancestors: frozenset[str]) -> Hashable:
        """What the plan of a body depends on: its arguments, constants among them, recursions."""
        index, name = inner.index, inner.function
        if name not in self._reached:
            self._reached[name] = frozenset(index.reachable_functions())
        ops = [index.ids[split_tensor(argument)[0]] for argument in inner.arguments]
        arguments = tuple(
            (index.nodes[op].SerializeToString(deterministic=True), index.shape(op, 0))
            for op in ops
        )
        return name, arguments, ancestors & self._reached[name]

    def _plan_body(
        self, inner: FunctionContext, ancestors: frozenset[str]
    ) -> tuple[Patch, FunctionDef, tuple[int, ...]] | None:
        patch, old = self.plan(inner, ancestors), inner.function
        has_attribute = self._without_attribute in inner.index.extras.function(old).attr
        if patch is None and not has_attribute:
            return None
        patch = patch or Patch()
        definition, unread = inner.rewrite(patch, "_")
        if has_attribute:
            definition.attr.pop(self._without_attribute, None)
        key = old, definition.SerializeToString(deterministic=True)
        if key not in self._new:
            definition.signature.name = take_free_name(f"{old}_{self._suffix}", self._names)
            self._new[key] = definition
        return patch, self._new[key], unread
