"""The last round of v1 while loops: what tensors inside were then, kept by loop variables that a
copy of the graph has.

A tensor of a loop's body has a value in each round, and none outside. A loop variable that is set
to it in each round leaves the loop with what it was last. A second one holds whether it was set: at
first it is -1, then 0 in a round that computes the tensor, and more in a round that does not, since
of a conditional another branch was taken. What the condition computes is not kept: its last value
is that of the time when the loop ended. Of loops in loops each level does the same with what comes
out of the one inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    ENTER,
    HANDLE_DTYPES,
    NEXT,
    Conditional,
    GraphIndex,
    Loop,
    enclosing_blocks,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, split_input, take_free_name
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import NodeDef

_NEVER_SET = -1
_BODY, _END, _CONDITION = range(3)
"""When an op of a loop runs: in each round, as the loop ends, or both, as what the condition needs
does.
"""


@dataclass(frozen=True)
class KeptTensor:
    """Where the last value of a tensor is found.

    Attributes:
        tensor: The tensor that has it.
        flags: For each loop around it, the outermost first: the tensor that holds whether it was
            set, and the loop.
    """

    tensor: str
    flags: tuple[tuple[str, str], ...] = ()

    def note(self, flags: Mapping[str, int]) -> str:
        """Why there is no last value; "" if there is one."""
        for tensor, loop in self.flags:
            if flags[tensor] == _NEVER_SET:
                return f"not run: while loop {loop!r} had no round"
            if flags[tensor]:
                return (
                    f"not run in the last round of {loop!r}: of its conditional the other branch "
                    "was taken"
                )
        return ""


@dataclass(frozen=True)
class LastRounds:
    """A graph that keeps the last values of tensors.

    Attributes:
        index: The graph.
        tensors: Where they are found, by the names of the tensors.
    """

    index: GraphIndex
    tensors: Mapping[str, KeptTensor]

    @property
    def fetches(self) -> tuple[str, ...]:
        """All tensors to compute: values and flags."""
        flags = (flag for each in self.tensors.values() for flag, _ in each.flags)
        return tuple(dict.fromkeys([*(each.tensor for each in self.tensors.values()), *flags]))


def keep_last_rounds(index: GraphIndex, tensors: Iterable[str]) -> LastRounds | None:
    """The graph with ops that keep the last values of what loops compute, where tensors outside of
    loops represent themselves; None if no tensor is inside of a loop. Raises GraphEditError for a
    loop that has no condition.
    """
    keeper = _Keeper(index)
    places = {tensor: keeper.keep(tensor) for tensor in tensors}
    if all(place.tensor == tensor for tensor, place in places.items()):
        return None
    return LastRounds(
        index.with_new_nodes(keeper.nodes, index.collections, index.variable_defs), places
    )


@dataclass(frozen=True)
class LimitedLoop:
    """A graph with a while loop that ends after so many rounds, if it has not ended before.

    Attributes:
        index: The graph.
        loop: The loop, as it was.
        rounds: How many rounds it has at most.
        count: The tensor outside of the loop that is the number of its rounds.
        number: The tensor in its rounds that is the number of those before.
    """

    index: GraphIndex
    loop: Loop
    rounds: int
    count: str
    number: str


def limit_rounds(
    index: GraphIndex, loop: Loop, rounds: int, outer: LimitedLoop | None = None
) -> LimitedLoop:
    """End a while loop after so many rounds: only in the last round of the loop `outer` around it,
    or, if that is None, in all rounds. Raises GraphEditError for a loop that has no condition.
    """
    keeper = _Keeper(index)
    count, number, condition = keeper.limit(loop, rounds, outer)
    grown = index.with_new_nodes(keeper.nodes, index.collections, index.variable_defs)
    grown = grown.with_changed_nodes({loop.condition or 0: condition})
    return LimitedLoop(grown, loop, rounds, count, number)


def is_in_condition(index: GraphIndex, loop: Loop, tensor: str) -> bool:
    """Whether a tensor of a loop is computed once more than there are rounds, as the condition is.
    Raises GraphEditError for a loop that has none.
    """
    op, port = index.tensor(tensor)
    return _Keeper(index).when(loop, [op], port) != _BODY


@dataclass
class _Keeper:
    """Makes the ops that keep last values, or end loops."""

    index: GraphIndex
    nodes: list[NodeDef] = field(default_factory=list)

    @cached_property
    def _used_names(self) -> set[str]:
        return {name.lower() for name in self.index.names}

    def keep(self, tensor: str) -> KeptTensor:
        """Where the last value of a tensor is found."""
        op, port = self.index.tensor(tensor)
        dtype = self.index.dtypes(op)[port].removesuffix("_ref")
        blocks = list(enclosing_blocks(self.index, op))
        if dtype in HANDLE_DTYPES or not any(isinstance(block, Loop) for block in blocks):
            return KeptTensor(tensor)
        if self.index.types[op] in ENTER | NEXT:
            # What enters, or goes on to the next round, is what it was before.
            source, source_port = split_input(self.index.nodes[op].input[0])
            return self.keep(f"{source}:{source_port}")
        if isinstance(blocks[0], Loop) and op in blocks[0].exits:
            del blocks[0]
        if not any(isinstance(block, Loop) for block in blocks):
            return KeptTensor(tensor)
        values, flags = [(as_input(self.index.names[op], port), dtype)], list[tuple[str, str]]()
        gates: list[tuple[Conditional, int]] = []
        members: list[int] = [op]
        read_port: int | None = port
        for block in blocks:
            if isinstance(block, Conditional):
                branch = branch_of(block, members[0], read_port)
                gates += [] if branch is None else [(block, branch)]
                continue
            when = self.when(block, members, read_port)
            values, has_flag = self._leave(block, values, gates[::-1], when)
            if has_flag:
                flags.append(("", block.name))
            gates, members, read_port = [], sorted(block.ops), None
        texts = [_tensor_name(text) for text, _ in values]
        named_flags = zip(texts[1:], (loop for _, loop in flags), strict=True)
        return KeptTensor(texts[0], tuple(named_flags)[::-1])

    def limit(self, loop: Loop, rounds: int, outer: LimitedLoop | None) -> tuple[str, str, NodeDef]:
        """End a loop after so many rounds: the tensors that count them, and its new LoopCond."""
        if loop.condition is None:
            raise _without_condition(self.index, loop)
        switch, merge = self._variable(loop, "int32", 0)
        one = self._constant(f"^{self._add('Identity', [f'{switch}:1'], T='int32')}", "int32", 1)
        self._set(merge, self._add("AddV2", [f"{switch}:1", one], T="int32"), "int32")
        goes_on = self._is_less(merge, rounds, merge)
        if outer is not None:
            number = self._enter(loop, outer.number, "int32", is_constant=True)
            is_earlier = self._is_less(number, outer.rounds - 1, merge)
            goes_on = self._add("LogicalOr", [goes_on, is_earlier])
        condition = copy_of(self.index.nodes[loop.condition])
        condition.input[0] = self._add("LogicalAnd", [condition.input[0], goes_on])
        return _tensor_name(self._exit(switch, "int32")), f"{switch}:1", condition

    def _is_less(self, number: str, limit: int, merge: str) -> str:
        """Whether a number is below a limit, in the frame that an op is in."""
        return self._add("Less", [number, self._constant(f"^{merge}", "int32", limit)], T="int32")

    def when(self, loop: Loop, members: Sequence[int], read_port: int | None) -> int:
        """When ops of a loop run; `read_port` is the port of the one op that is read."""
        index = self.index
        if loop.condition is None:
            raise _without_condition(index, loop)
        switches, stops = set(loop.switches), {*loop.merges, *loop.enters}
        if len(members) == 1 and members[0] in switches:
            return _BODY if read_port else _END
        ports, visited, stack = set[int](), set(members), list(members)
        while stack:
            op = stack.pop()
            if op in stops:
                continue
            for text in index.nodes[op].input:
                name, port = split_input(text)
                source = index.ids[name]
                if source in switches and port >= 0:
                    ports.add(port)
                elif source in loop.ops and source not in visited:
                    visited.add(source)
                    stack.append(source)
        if 1 in ports:
            return _BODY
        return _END if 0 in ports else _CONDITION

    def _leave(
        self,
        loop: Loop,
        values: Sequence[tuple[str, str]],
        gates: Sequence[tuple[Conditional, int]],
        when: int,
    ) -> tuple[list[tuple[str, str]], bool]:
        """What tensors are outside of a loop, as (input, dtype), and whether the last of them is a
        new flag.
        """
        condition = self.index.names[loop.condition or 0]
        if when != _BODY:
            return [
                (self._exit(self._at_end(text, dtype, condition, when), dtype), dtype)
                for text, dtype in values
            ], False
        left, number = list[tuple[str, str]](), ""
        for text, dtype in values:
            switch, merge = self._variable(loop, dtype, 0)
            value, number = self._where_computed(text, dtype, f"{switch}:1", gates)
            self._set(merge, value, dtype)
            left.append((self._exit(switch, dtype), dtype))
        switch, merge = self._variable(loop, "int32", _NEVER_SET)
        zero = self._add("ZerosLike", [f"{switch}:1"], T="int32")
        self._set(merge, number or zero, "int32")
        return [*left, (self._exit(switch, "int32"), "int32")], True

    def _at_end(self, text: str, dtype: str, condition: str, when: int) -> str:
        return text if when == _END else self._add("Switch", [text, condition], T=dtype)

    def _where_computed(
        self, text: str, dtype: str, before: str, gates: Sequence[tuple[Conditional, int]]
    ) -> tuple[str, str]:
        """A tensor of a branch where that is taken, else what it was before; and which of them, as
        a number.
        """
        if not gates:
            return text, ""
        others = list[str]()
        for conditional, branch in gates:
            old = self.index.nodes[conditional.switches[0]]
            switch = self._add(old.op.removeprefix("Ref"), [before, old.input[1]], T=dtype)
            ports = 2
            if "num_outs" in old.attr:
                self.nodes[-1].attr["num_outs"].i = ports = old.attr["num_outs"].i
            others += [as_input(switch, port) for port in range(ports) if port != branch]
            before = as_input(switch, branch)
        merge = self._add("Merge", [text, *others], T=dtype)
        self.nodes[-1].attr["N"].i = 1 + len(others)
        return merge, f"{merge}:1"

    def _variable(self, loop: Loop, dtype: str, first: int) -> tuple[str, str]:
        """A new loop variable: its Switch's name, and that of its Merge, with an input missing."""
        enter = self.index.nodes[loop.enters[0]]
        # The constant is in the frame around the loop, and in the branch around it, as what it
        # waits for is.
        around = self._add("Identity", [enter.input[0]], T=self._dtype_of(loop.enters[0]))
        start = self._constant(f"^{around}", dtype, first)
        entered = self._enter(loop, start, dtype, is_constant=False)
        merge = self._add("Merge", [entered], T=dtype)
        self.nodes[-1].attr["N"].i = 2
        condition = self.index.names[loop.condition or 0]
        return self._add("Switch", [merge, condition], T=dtype), merge

    def _enter(self, loop: Loop, text: str, dtype: str, *, is_constant: bool) -> str:
        """What brings a tensor into the frame of a loop."""
        entered = self._add("Enter", [text], T=dtype)
        for name in ("frame_name", "parallel_iterations"):
            self.nodes[-1].attr[name].CopyFrom(self.index.nodes[loop.enters[0]].attr[name])
        self.nodes[-1].attr["is_constant"].b = is_constant
        return entered

    def _constant(self, waits: str, dtype: str, number: int) -> str:
        """A constant that waits for an op, so that it is in the frame of that."""
        name = self._add("Const", [waits], dtype=dtype)
        numpy_type = tf.as_dtype(dtype).as_numpy_dtype
        value = np.asarray(b"", object) if dtype == "string" else np.asarray(number, numpy_type)
        self.nodes[-1].attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
        return name

    def _set(self, merge: str, text: str, dtype: str) -> None:
        """Give a loop variable its value for the next round."""
        following = self._add("NextIteration", [text], T=dtype)
        next(node for node in self.nodes if node.name == merge).input.append(following)

    def _exit(self, text: str, dtype: str) -> str:
        return self._add("Exit", [text], T=dtype)

    def _dtype_of(self, op: int) -> str:
        return self.index.dtypes(op)[0].removesuffix("_ref")

    def _add(self, kind: str, inputs: Sequence[str], **dtypes: str) -> str:
        """Add an op, and return its name."""
        name = take_free_name(f"last_round/{kind}", self._used_names)
        node = tf_protos.NodeDef(name=name, op=kind, input=inputs)
        for attribute, dtype in dtypes.items():
            node.attr[attribute].type = tf.as_dtype(dtype).as_datatype_enum
        self.nodes.append(node)
        return name


def _without_condition(index: GraphIndex, loop: Loop) -> GraphEditError:
    return GraphEditError(
        f"While loop {loop.name!r} has no condition (LoopCond), so no round is its last; "
        "give it one, or name a tensor outside of it.",
        [index.names[op] for op in sorted(loop.ops)[:1]],
    )


def branch_of(conditional: Conditional, op: int, port: int | None) -> int | None:
    """The branch of a conditional that an op is in; None for one that runs whichever is taken."""
    if op in conditional.switches and port is not None:
        return port
    return next((number for number, ops in enumerate(conditional.branches) if op in ops), None)


def _tensor_name(text: str) -> str:
    name, port = split_input(text)
    return f"{name}:{port}"
