"""Control flow contexts of copies: WhileContextDefs and CondContextDefs with new names.

A context is copied when the tensor that it hangs on is, its pivot. One that is not copied, but
holds copies in its body, gives a proto that names only these: `runtime.live.control_flow_contexts`
lets them join it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy

from tfgraphwidget.naming import by_new_name, split_tensor
from tfgraphwidget.tf_types import ContextDef, ControlFlowContextDef, Message

# What a context is called, and the tensors outside that it hangs on.
_NOT_INSIDE = frozenset({"context_name", "pred_name", "maximum_iterations_name"})
_LOOP_ENDS = ("loop_enter_names", "loop_exit_names")
_REQUIRED = ("pivot_name", "pred_name", "pivot_for_pred_name", "pivot_for_body_name")


def rename_contexts(
    contexts: Iterable[ContextDef],
    names: Mapping[str, str],
    frames: Mapping[str, str],
    *,
    stays: bool = True,
) -> tuple[ContextDef, ...]:
    """The control flow contexts of the copies; `contexts` are the outermost ones, with all that is
    nested.

    `names` maps each copied op to its copy, and may map tensors ("op:0"), which goes before the
    op's. `frames` maps the frame names of copied loops. `stays` says that the copies stand in the
    originals' graph: a name of what is not copied then stays as it is, and a copy may join the
    context that it was made in. Under their own names ops give the contexts that they are in.
    """
    renaming = _Renaming(names, frames, stays)
    return tuple(new for context in contexts for new in renaming.copies(context))


def contexts_with_new_ops(
    contexts: Iterable[ContextDef], names: Mapping[str, str]
) -> tuple[ContextDef, ...]:
    """The contexts that hold ops in whose places others stand, as far as they hold these.

    Their pivots stay, so that these contexts are joined. `names` has the ops that stand in them by
    those in `contexts`, and the same ones for the ops that go.
    """
    return tuple(new for context in contexts if (new := _with_new_ops(context, names)) is not None)


def map_names(context: ContextDef, new_name: Callable[[str], str]) -> ContextDef:
    """A context, with all that is nested, of which `new_name` gives all tensors other names."""
    copy = _empty_copy(context)
    copy.values_def.values.extend(map(new_name, context.values_def.values))
    external = context.values_def.external_values.items()
    copy.values_def.external_values.update(
        {new_name(outer): new_name(inner) for outer, inner in external}
    )
    for inner in nested_contexts(context):
        _set_content(copy.nested_contexts.add(), map_names(inner, new_name))
    for field, value in context.ListFields():
        if field.name.endswith("_names"):
            getattr(copy, field.name)[:] = map(new_name, value)
        elif field.name.endswith("_name") and field.name != "context_name":
            setattr(copy, field.name, new_name(value))
    return copy


def contexts_after(
    contexts: Iterable[ContextDef],
    add: Iterable[ContextDef],
    remove: Iterable[ContextDef],
    removed_ops: Collection[str],
) -> tuple[ContextDef, ...]:
    """The contexts of a graph of NodeDefs after an edit, as `runtime.live.control_flow_contexts`
    changes live ones: `add` has new contexts and those that are joined.
    """
    removals = {context.pivot_name: context for context in _with_nested(remove)}
    result = [
        rest
        for context in contexts
        if (rest := _without(context, removals, removed_ops)) is not None
    ]
    there = {context.pivot_name: context for context in _with_nested(result)}
    for context in add:
        _join(result, None, context, there)
    return tuple(result)


def _with_nested(contexts: Iterable[ContextDef]) -> Iterator[ContextDef]:
    for context in contexts:
        yield context
        yield from _with_nested(nested_contexts(context))


def _without(
    context: ContextDef, removals: Mapping[str, ContextDef], removed_ops: Collection[str]
) -> ContextDef | None:
    if split_tensor(context.pivot_name)[0] in removed_ops:
        return None
    removal, copy = removals.get(context.pivot_name), _empty_copy(context)
    values = frozenset(() if removal is None else removal.values_def.values)
    external = frozenset(() if removal is None else removal.values_def.external_values)
    copy.values_def.values.extend(
        value
        for value in context.values_def.values
        if value not in values and split_tensor(value)[0] not in removed_ops
    )
    copy.values_def.external_values.update(
        {
            outer: inner
            for outer, inner in context.values_def.external_values.items()
            if outer not in external
        }
    )
    for inner in nested_contexts(context):
        rest = _without(inner, removals, removed_ops)
        if rest is not None:
            _set_content(copy.nested_contexts.add(), rest)
    return copy


def _join(
    outermost: list[ContextDef],
    outer: ContextDef | None,
    context: ContextDef,
    there: dict[str, ContextDef],
) -> None:
    """Add a context, or what it holds to the one that is there."""
    present = there.get(context.pivot_name)
    if present is None:
        present = _empty_copy(context)
        if outer is None:
            outermost.append(present)
        else:
            holder = outer.nested_contexts.add()
            _set_content(holder, present)
            present = _content(holder)
        there[context.pivot_name] = present
    values = dict.fromkeys((*present.values_def.values, *context.values_def.values))
    present.values_def.values[:] = list(values)
    present.values_def.external_values.update(context.values_def.external_values)
    for name in _LOOP_ENDS:
        if hasattr(context, name):
            getattr(present, name)[:] = getattr(context, name)
    for inner in nested_contexts(context):
        _join(outermost, present, inner, there)


def _with_new_ops(context: ContextDef, names: Mapping[str, str]) -> ContextDef | None:
    """What of a context names old ops, with their new names; None where none of it does, or where
    its pivot is one of them.
    """
    if split_tensor(context.pivot_name)[0] in names:
        return None

    def is_new(name: str) -> bool:
        return split_tensor(name)[0] in names

    copy = _empty_copy(context)
    external = context.values_def.external_values.items()
    copy.values_def.values.extend(
        by_new_name(value, names) for value in context.values_def.values if is_new(value)
    )
    for outside, inside in external:
        if is_new(outside) or is_new(inside):
            new_outside, new_inside = (by_new_name(name, names) for name in (outside, inside))
            copy.values_def.external_values[new_outside] = new_inside
    for inner in nested_contexts(context):
        nested = _with_new_ops(inner, names)
        if nested is not None:
            _set_content(copy.nested_contexts.add(), nested)
    for field, value in context.ListFields():
        if field.name in _LOOP_ENDS:
            getattr(copy, field.name)[:] = [by_new_name(name, names) for name in value]
    is_touched = copy.values_def.values or copy.values_def.external_values or copy.nested_contexts
    return copy if is_touched else None


def contexts_in(contexts: Iterable[ContextDef], ops: Iterable[str]) -> tuple[ContextDef, ...]:
    """The contexts of a graph that has only the `ops` of the original, as TensorFlow reads them.

    They name no op that is not there, and one whose pivot or predicate is gone is none.
    """
    remaining = rename_contexts(contexts, {name: name for name in ops}, {}, stays=False)
    return tuple(complete for context in remaining for complete in _complete(context))


def _complete(context: ContextDef) -> Iterator[ContextDef]:
    """A context with those nested in it, without those that have no pivot or predicate."""
    nested = [complete for inner in nested_contexts(context) for complete in _complete(inner)]
    if not all(getattr(context, name, "any") for name in _REQUIRED):
        yield from nested
        return
    context.ClearField("nested_contexts")
    for inner in nested:
        _set_content(context.nested_contexts.add(), inner)
    yield context


class _Renaming:
    def __init__(self, names: Mapping[str, str], frames: Mapping[str, str], stays: bool) -> None:
        self.names, self.frames, self.stays = names, frames, stays

    def copies(self, context: ContextDef) -> Iterator[ContextDef]:
        """The copy of a context; else the context with copies in its body, or of nested ones."""
        is_copied = self._is_copied(context.pivot_name)
        nested = [new for inner in context.nested_contexts for new in self.copies(_content(inner))]
        external = dict(self._external(context.values_def.external_values, is_copied))
        values = [
            new
            for old in context.values_def.values
            if (new := self._value(old, context, is_copied, external))
        ]
        if not is_copied and not (self.stays and (values or nested)):
            yield from nested
            return
        copy = _empty_copy(context)
        copy.values_def.values.extend(values)
        copy.values_def.external_values.update(external)
        for inner in nested:
            _set_content(copy.nested_contexts.add(), inner)
        if is_copied:
            self._rename(copy)
        yield copy

    def _rename(self, context: ContextDef) -> None:
        scope = self._new(context.pivot_name).rpartition("/")[0]
        beside = f"{scope}/{context.context_name.rpartition('/')[2]}".lstrip("/")
        if self._new(context.pivot_name) != context.pivot_name:
            context.context_name = self.frames.get(context.context_name, beside)
        for field, value in context.ListFields():
            if field.name.endswith("_names"):
                value[:] = filter(None, map(self._new, value))
            elif field.name.endswith("_name") and field.name != "context_name":
                setattr(context, field.name, self._new(value))

    def _external(self, values: Mapping[str, str], is_copied: bool) -> Iterator[tuple[str, str]]:
        """The tensors outside, each with the one that represents it inside, if it is a copy's."""
        for outer, inner in values.items():
            name, stands = self._new(outer), self._new(inner)
            # A copy of an invariant beside the original's does not represent the tensor that both
            # enter.
            if name and stands and (is_copied or (self._is_copied(inner) and name != outer)):
                yield name, stands

    def _value(
        self, old: str, context: ContextDef, is_copied: bool, external: Mapping[str, str]
    ) -> str:
        """The new name of a value; "" where a context that is not copied learns nothing new."""
        new = self._new(old) if is_copied or self._is_copied(old) else ""
        return new if old not in context.values_def.external_values or new in external else ""

    def _is_copied(self, name: str) -> bool:
        return split_tensor(name)[0] in self.names

    def _new(self, name: str) -> str:
        """The new name of an op or tensor; "" of what does not exist where the copies stand."""
        if name in self.names:
            return self.names[name]
        op, port = split_tensor(name)
        if op not in self.names:
            return name if self.stays else ""
        return self.names[op] + ("" if port is None else f":{port}")


def _content(proto: ControlFlowContextDef) -> ContextDef:
    """The CondContextDef or WhileContextDef in a ControlFlowContextDef."""
    return proto.cond_ctxt if proto.HasField("cond_ctxt") else proto.while_ctxt


def _set_content(proto: ControlFlowContextDef, context: ContextDef) -> None:
    definition: Message = (
        proto.while_ctxt if hasattr(context, "loop_enter_names") else proto.cond_ctxt
    )
    definition.CopyFrom(context)


def _empty_copy(context: ContextDef) -> ContextDef:
    """A copy of a context without values and nested contexts."""
    copy = deepcopy(context)
    copy.ClearField("nested_contexts")
    copy.ClearField("values_def")
    return copy


def nested_contexts(context: ContextDef) -> Iterator[ContextDef]:
    """The contexts directly inside a context."""
    return map(_content, context.nested_contexts)


def context_names(contexts: Iterable[ContextDef]) -> Iterator[str]:
    """The names of contexts, and of those nested in them; a loop's is the name of its frame."""
    for context in contexts:
        yield context.context_name
        yield from context_names(nested_contexts(context))


def structural_tensors(context: ContextDef) -> Iterator[str]:
    """The tensors that a context hangs on: its pivots, and the Enters and Exits of a loop."""
    for field, value in context.ListFields():
        if field.name.endswith("_names"):
            yield from value
        elif field.name.endswith("_name") and field.name not in _NOT_INSIDE:
            yield value


def contexts_around(
    contexts: Iterable[ContextDef], tensor: str, values: Collection[str], *, leaves: bool = False
) -> tuple[ContextDef, ...]:
    """The outermost context around a tensor with those nested in it, for ops that are added beside
    it; () if there is none. They hold `values` alone. The tensor `leaves` its loop as the output of
    an Exit.
    """
    for context in contexts:
        chain = _chain(context, tensor)
        if chain:
            return _nest(chain[:-1] if leaves else chain, values)
    return ()


def _chain(context: ContextDef, tensor: str) -> list[ContextDef]:
    """The contexts around a tensor, outermost first; [] when it does not lie in this one."""
    for inner in nested_contexts(context):
        inner_chain = _chain(inner, tensor)
        if inner_chain:
            return [context, *inner_chain]
    return [context] if tensor in context.values_def.values else []


def _nest(chain: list[ContextDef], values: Collection[str]) -> tuple[ContextDef, ...]:
    nested: ContextDef | None = None
    for context in reversed(chain):
        new = _empty_copy(context)
        new.values_def.values.extend(values)
        if nested is not None:
            _set_content(new.nested_contexts.add(), nested)
        nested = new
    return () if nested is None else (nested,)
