"""Ops with side effects: assign, enqueue, print, write a file, draw random numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from tfgraphwidget.graph.edges import Mask
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.index_cache import cached_per_index
from tfgraphwidget.graph.op_types import DT_RESOURCE
from tfgraphwidget.graph.stateful_resources import of_type
from tfgraphwidget.graph.traversal import mask_of
from tfgraphwidget.tf_types import NodeDef, OpDef

# TensorFlow marks as stateful, or gives a reference to, many an op that only looks at a state, is
# about what lives for one step (stacks, TensorArrays), or describes a dataset.
_LOOKS = re.compile(
    r"ReadVariable\w*|ResourceGather(Nd)?|VariableShape|VarIsInitializedOp|Is\w+Initialized"
    r"|LookupTable(Find|Size|Export)(V2)?|Queue(Size|IsClosed)(V2)?|Barrier(Ready|Incomplete)Size"
    r"|\w*AccumulatorNumAccumulated|(Experimental)?(MultiDevice)?Iterator(To|From|GetDevice|GetModelProto)\w*"
    r"|SerializeIterator|Reader(NumRecordsProduced|NumWorkUnitsCompleted|SerializeState)(V2)?"
    r"|Stage(Peek|Size)|(Ordered)?Map(Peek|Size|IncompleteSize)"
    r"|Ref(Identity|Enter|Exit|Merge|NextIteration|Select|Switch)|DebugGradientRefIdentity"
    r"|Stack\w*|TensorArray\w*|(?!Save)\w*Dataset(V\d)?|Restore(V2|Slice)?|LoadAndRemapMatrix"
    r"|GuaranteeConst|DeviceIndex|StatelessRandomGetAlg|DestroyTemporaryVariable"
)


def side_effects(index: GraphIndex, ops: Iterable[int]) -> tuple[int, ...]:
    """The ops among `ops` that do something beside computing tensors, in graph order.

    Drawing random numbers counts: it moves a generator on. What holds a state, or looks at one,
    does not. A call is judged by the functions that it calls, as far as they are known.
    """
    effects = _Effects(index)
    may = mask_of(index, ops) & of_type(index, effects.may_have)
    differ = of_type(index, effects.may_differ)
    for i in np.flatnonzero(may & differ).tolist():
        may[i] = effects.has(index.nodes[i])
    return tuple(np.flatnonzero(may).tolist())


def writes(index: GraphIndex, ops: Iterable[int]) -> Mask:
    """Which of `ops` do something to a state whose handle they read: an assign, an enqueue."""
    return mask_of(index, (i for i in side_effects(index, ops) if _reads_handle(index, i)))


def _reads_handle(index: GraphIndex, op: int) -> bool:
    for source, port in index.input_tensors(op):
        dtypes = index.dtypes(source)
        dtype = dtypes[port] if port < len(dtypes) else ""  # of a custom op
        if dtype == "resource" or dtype.endswith("_ref"):
            return True
    return False


@cached_per_index
def _judgements(
    index: GraphIndex,  # noqa: ARG001
) -> tuple[dict[str, tuple[bool, tuple[str, ...]]], dict[str, bool | None]]:
    """The effects of op types and functions of an index known so far, for several questions."""
    return {}, {}


class _Effects:
    """Judges op types and functions of an index. What is unknown is computed wholly, then kept."""

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self._by_type, self._by_function = _judgements(index)

    def may_have(self, op_type: str) -> bool:
        """Whether some op of a type may have effects."""
        own, calls = self._type_effects(op_type)
        if op_type in self.index.functions:
            effects = self._function(op_type)
            return own if effects is None else effects
        return own or bool(calls)

    def may_differ(self, op_type: str) -> bool:
        """Whether ops of a type that may have effects may also have none, by what they call."""
        return bool(self._type_effects(op_type)[1])

    def has(self, node: NodeDef) -> bool:
        """Whether running a NodeDef does something beside computing tensors."""
        own, _ = self._type_effects(node.op)
        called = self._callees(node)
        if called is None:
            return own
        effects = [self._function(name) for name in called]
        return any(effects) or (own and None in effects)

    def _callees(self, node: NodeDef) -> list[str] | None:
        """The functions that a NodeDef calls; None if its type calls none."""
        if node.op in self.index.functions:
            return [node.op]
        _, calls = self._type_effects(node.op)
        if not calls:
            return None
        return list(chain.from_iterable(_functions(node, key) for key in calls))

    def _type_effects(self, op_type: str) -> tuple[bool, tuple[str, ...]]:
        """(whether ops of a type have effects, or may by what they call; function attributes)"""
        if op_type not in self._by_type:
            self._by_type[op_type] = self._read_definition(op_type)
        return self._by_type[op_type]

    def _read_definition(self, op_type: str) -> tuple[bool, tuple[str, ...]]:
        definition = self.index.typing.definition(op_type)
        if op_type in self.index.functions:
            return bool(definition is None or definition.is_stateful), ()
        if definition is None or _LOOKS.fullmatch(op_type):
            return False, ()
        takes_handle = any(map(_is_handle, definition.input_arg))
        gives_handle = any(map(_is_handle, definition.output_arg[:1]))
        if gives_handle and not takes_handle:  # it holds a state
            return False, ()
        writes = any(arg.is_ref for arg in definition.input_arg)
        calls = tuple(attr.name for attr in definition.attr if attr.type in ("func", "list(func)"))
        return bool(definition.is_stateful or writes), calls

    def _function(self, name: str) -> bool | None:
        """Whether a function's body, or what it calls, has effects; None if it is unknown."""
        if name not in self._by_function:
            self._by_function |= self._judge(name)
        return self._by_function[name]

    def _judge(self, name: str) -> dict[str, bool | None]:
        """Judge a function and those that it calls, which may call each other."""
        judged: dict[str, bool | None] = {}
        # With whether the call counts if the function is not known.
        callers: dict[str, list[tuple[str, bool]]] = {}
        stack = [name]
        while stack:
            function = stack.pop()
            if function not in judged:
                judged[function], calls = self._body(function)
                for called, own in calls:
                    callers.setdefault(called, []).append((function, own))
                    stack.append(called)
        effective = [function for function, effects in judged.items() if effects is not False]
        while effective:
            function = effective.pop()
            for caller, own in callers.get(function, ()):
                if judged[caller] is False and (own or judged[function]):
                    judged[caller] = True
                    effective.append(caller)
        return judged

    def _body(self, name: str) -> tuple[bool | None, list[tuple[str, bool]]]:
        """Whether a function has effects without its calls, None if unknown; and its calls."""
        if name in self._by_function:
            return self._by_function[name], []
        try:
            body = self.index.extras.function(name).node_def
        except KeyError:
            return None, []
        effects, calls = False, list[tuple[str, bool]]()
        for node in body:
            own, _ = self._type_effects(node.op)
            called = self._callees(node)
            effects = effects or (own and called is None)
            calls += [(each, own) for each in called or ()]
        return effects, calls


def _is_handle(argument: OpDef.ArgDef) -> bool:
    """Whether an argument of an op type is the handle of a state, or a reference to a variable."""
    return bool(argument.is_ref or argument.type == DT_RESOURCE)


def _functions(node: NodeDef, key: str) -> Iterator[str]:
    if key in node.attr:
        value = node.attr[key]
        for function in [value.func] if value.WhichOneof("value") == "func" else value.list.func:
            yield function.name
