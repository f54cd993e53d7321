"""All ops of the loops and conditionals that a copy takes part of, so that none is cut in half.

Half a loop cannot run: its Merges wait for NextIterations that were not copied, its Exits for a
LoopCond. So a part that takes some of what makes up a loop or a conditional takes all of it. What
is in one body only, with what invariants enter there, may stay inside: TensorFlow itself adds ops
to a body like that.

Loops pass values on by stacks and TensorArrays, which live for one step: a gradient loop pops what
its forward loop pushed. An edge shows their handle only. Original and copy must not share one, and
the consumers of one need all that fill it: with a gradient loop, its forward loop is copied too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import traversal
from tfgraphwidget.graph.control_flow import Conditional, Loop, control_flow
from tfgraphwidget.graph.index import GraphIndex
from tfgraphwidget.graph.op_types import (
    CONSTANTS,
    ENTER,
    IDENTITY,
    MERGE,
    STACKS,
    STEP_STATE,
    STEP_STATE_WRITES,
    TENSOR_ARRAY_GRADIENTS,
    TENSOR_ARRAYS,
    V1_FORWARDING,
)
from tfgraphwidget.graph.state_initializers import computed_from_outside
from tfgraphwidget.naming import text_attribute
from tfgraphwidget.tf_types import AttrValue

Tensor = tuple[int, int]


def complete_blocks(
    index: GraphIndex, ops: Collection[int], cut: Collection[Tensor] = (), *, grow: bool = True
) -> frozenset[int]:
    """`ops` with all of each v1 loop and conditional that they take a part of, and what these keep
    for one step.

    What `grow` adds brings the variables and constants along that it reads. Without `grow` only the
    handles of stacks and TensorArrays are added. Ops that lie in one body only stay there. `cut`
    are the tensors (op, port) that come in from outside. Raises NotClonable, which names the loop
    or conditional, when one of them lies inside what must be taken whole, and without `grow` when
    `ops` hold only a part of it.
    """
    flow = _Flow(index)
    if not flow.blocks and not flow.state:
        return frozenset(ops)
    closed = frozenset(ops)
    while True:
        grown = flow.grow(closed)
        if not grow:
            flow.check_held(closed, grown)
            break
        more = grown | flow.parameters(grown - closed, grown, cut) | flow.deciding(grown)
        if more == closed:
            break
        closed = more
    flow.check_cut(grown, cut)
    return grown


def enclosing_ops(index: GraphIndex, ops: Collection[int]) -> frozenset[int]:
    """`ops` with all of each loop and conditional that holds one of them, outermost too."""
    flow = _Flow(index)
    grown = flow.grow(frozenset(ops), stay=False)
    return grown | flow.deciding(grown)


def copied_frames(index: GraphIndex, ops: Iterable[int]) -> tuple[str, ...]:
    """The frame names of the while loops whose own variables enter among `ops`, in graph order;
    each once.

    An invariant that enters a loop which is not copied is not one: its copy enters the original's
    frame.
    """
    names: dict[str, None] = {}
    for op in sorted(ops):
        if index.types[op] in ENTER:
            attributes = index.nodes[op].attr
            if _varies(attributes):
                names[attributes["frame_name"].s.decode(errors="surrogateescape")] = None
    return tuple(names)


def _varies(attributes: Mapping[str, AttrValue]) -> bool:
    """Whether an Enter is of a variable of its loop, by its attributes, and not of an invariant."""
    return "is_constant" not in attributes or not attributes["is_constant"].b


class _Flow:
    """The loops and conditionals of a graph, and the stacks and TensorArrays.

    Attributes:
        index: the graph.
        blocks: the loops and conditionals, outermost first.
        outer: per block, the number of the one around it; -1 for none.
        owner: the number of the innermost block around each op that is in one.
        invariants: the Enters of what does not vary.
        handle: the stack or TensorArray whose handle an op consumes.
        state: for each handle the first that represents the same: gradients of one TensorArray
            under one name are one.
        filling: per state, the ops that write into it.
        other: per state, the other ops that consume its handle.
    """

    def __init__(self, index: GraphIndex) -> None:
        self.index = index
        self.blocks = control_flow(index)
        number = {id(block): k for k, block in enumerate(self.blocks)}
        self.outer: list[int] = []
        self.owner: dict[int, int] = {}
        enters: list[int] = []
        for k, block in enumerate(self.blocks):
            self.outer.append(-1 if block.outer is None else number[id(block.outer)])
            self.owner.update(dict.fromkeys(block.ops, k))  # inner blocks come later, and overwrite
            if isinstance(block, Loop):
                enters += block.enters
        self.invariants = frozenset(op for op in enters if not _varies(index.nodes[op].attr))
        self.handle: dict[int, int] = {}
        self.state: dict[int, int] = {}
        self.filling: defaultdict[int, list[int]] = defaultdict(list)
        self.other: defaultdict[int, list[int]] = defaultdict(list)
        if not STEP_STATE.isdisjoint(index.kinds[0]):
            self._read_states()

    def grow(self, ops: frozenset[int], *, stay: bool = True) -> frozenset[int]:
        """`ops`, grown until no block is cut and no stack or TensorArray is shared.

        With `stay`, ops that are in a body only do not make the block grow.
        """
        result = set(ops)
        size = -1
        while size != len(result):
            size = len(result)
            for k in self.blocks_of(result, stay=stay):
                result |= self.blocks[k].ops
            self._add_states(result)
        return frozenset(result)

    def blocks_of(self, ops: Collection[int], *, stay: bool = True) -> list[int]:
        """The blocks that `ops` take a part of, outermost first.

        With `stay`, those are left out in whose bodies the ops only are.
        """
        blocks = {k for k, block in enumerate(self.blocks) if not block.ops.isdisjoint(ops)}
        if stay and blocks:
            blocks.difference_update(self._path(self._home(ops)))
        return sorted(blocks)

    def check_held(self, ops: frozenset[int], grown: frozenset[int]) -> None:
        """Raise when more is needed than handles, and the numbers that these are made of."""
        types = self.index.types
        may_be_added = STEP_STATE | CONSTANTS
        missing = {op for op in grown - ops if op in self.owner or types[op] not in may_be_added}
        for k in self.blocks_of(grown):
            lacking = sorted(missing & self.blocks[k].ops)
            if lacking:
                names = self.index.names
                raise NotClonable(
                    f"The selection holds only a part of {_block_text(self.blocks[k])}: "
                    f"{names[lacking[0]]!r} is missing, for one; {self._way_out(k)}.",
                    [names[op] for op in lacking],
                )
        if missing:
            self._refuse_unfilled(min(missing))

    def _refuse_unfilled(self, op: int) -> None:
        """Raise for a TensorArray without an op that fills it."""
        name = self.index.names[op]
        raise NotClonable(
            f"The selection reads a TensorArray that {name!r} fills, which it does not hold; add "
            ".whole() to it.",
            [name],
        )

    def check_cut(self, ops: frozenset[int], cut: Collection[Tensor]) -> None:
        """Raise for an input inside a taken block, or in place of what fills a TensorArray."""
        names = self.index.names
        copied_blocks = set(self.blocks_of(ops)) if cut else set()
        for op, port in cut:
            around = self._path(self.owner.get(op, -1))
            for k in reversed(around):  # outermost first
                if k in copied_blocks and op not in _leaving(self.blocks[k]):
                    raise NotClonable(
                        f"Input {self._tensor(op, port)!r} lies inside "
                        f"{_block_text(self.blocks[k])}, which can only be copied whole; "
                        f"{self._way_out(k)}.",
                        [names[op]],
                    )
            if not self.state:
                continue
            for consumer, slot in self._consumers(op, port):
                # The flow of a TensorArray is the last input, and says no more than that it is
                # full.
                is_flow = slot > 0 and slot == len(self.index.input_lists[consumer]) - 1
                is_of_array = self.index.types[consumer].startswith("TensorArray")
                if is_flow and is_of_array and consumer in ops:
                    raise NotClonable(
                        f"Input {self._tensor(op, port)!r} only shows {names[consumer]!r} that its "
                        "TensorArray is full, and the copy has one of its own; choose an input "
                        "before the TensorArray is filled.",
                        [names[op], names[consumer]],
                    )

    def parameters(
        self, added: frozenset[int], grown: frozenset[int], cut: Collection[Tensor]
    ) -> frozenset[int]:
        """The inputs of the added ops: from `cut` on, or from ops without a value from outside."""
        if not added:
            return frozenset()
        is_free = ~computed_from_outside(self.index)
        # What a loop passes on and the outputs do not need, too, must come from the copy's inputs.
        is_between = traversal.forward(self.index, traversal.consumers_of(self.index, cut))
        is_between &= traversal.backward(self.index, added, stop=cut)
        within = is_free | is_between
        home = self._home(grown)
        if home >= 0:
            within[list(self.blocks[home].ops)] = False
        inputs = traversal.backward(self.index, added, stop=cut, within=within)
        return frozenset(inputs.nonzero()[0].tolist())

    def deciding(self, grown: frozenset[int]) -> set[int]:
        """The "pred_id" of each conditional that is taken: its own name for the predicate."""
        identities: set[int] = set()
        for k in self.blocks_of(grown):
            block = self.blocks[k]
            if not isinstance(block, Conditional) or not block.switches:
                continue  # an edit may have left a conditional no Switch
            for op in self.index.input_lists[block.switches[-1]][1:]:
                is_identity = self.index.types[op] in IDENTITY
                if is_identity and self.index.names[op].startswith(f"{block.name}/"):
                    identities.add(op)
        return identities

    def _path(self, k: int) -> list[int]:
        """A block and those around it, innermost first."""
        path = []
        while k >= 0:
            path.append(k)
            k = self.outer[k]
        return path

    def _home(self, ops: Collection[int]) -> int:
        """The innermost block in whose body all of the ops are; -1 for none.

        Invariants that enter it, and what feeds these, do not count. With a variable that enters,
        what initializes it is copied too: so what is in no block at all does not count then.
        """
        entering = self.invariants.intersection(ops)
        feeding: set[int] = set()
        if entering:
            within = traversal.mask_of(self.index, ops)
            before = traversal.backward(self.index, entering, within=within)
            feeding = set(before.nonzero()[0].tolist())
        rest = frozenset(op for op in ops if op in self.owner or not entering) - feeding
        if not rest.issubset(self.owner.keys()):
            return -1
        owners = {self.owner[op] for op in rest}
        if not owners:
            return -1
        paths = [self._path(k) for k in owners]
        shared = set(paths[0]).intersection(*paths)
        around = [k for k in paths[0] if k in shared]  # innermost first
        for k in reversed(around):
            block = self.blocks[k]
            is_in_several_branches = False
            if isinstance(block, Conditional):
                is_in_several_branches = not any(rest <= branch for branch in block.branches)
            if is_in_several_branches or not self._own_ops(k).intersection(ops) <= entering:
                return self.outer[k]
        return around[0] if around else -1

    def _own_ops(self, k: int) -> set[int]:
        """The ops that make up a block itself, in no body."""
        block = self.blocks[k]
        own = {*block.switches, *block.merges}
        if isinstance(block, Loop):
            own.update(block.enters, block.next_iterations, block.exits)
            if block.condition is not None:
                own.add(block.condition)
        return own

    def _read_states(self) -> None:
        """Group handles into states, and list the consumers of each."""
        types = self.index.types
        gradients: dict[tuple[int, bytes], int] = {}
        handles = [i for i, kind in enumerate(types) if kind in STACKS | TENSOR_ARRAYS]
        self.state.update(zip(handles, handles, strict=True))
        for handle in handles:
            state = self.state[handle]
            consumers = [consumer for consumer, slot in self._consumers(handle, 0) if slot == 0]
            for consumer in consumers:
                self.handle[consumer] = handle
                uses = self.filling if types[consumer] in STEP_STATE_WRITES else self.other
                uses[state].append(consumer)
                if types[consumer] in TENSOR_ARRAY_GRADIENTS:
                    source = text_attribute(self.index.nodes[consumer], "source")
                    self.state[consumer] = gradients.setdefault((state, source), consumer)
                    handles.append(consumer)  # the loop comes to it later

    def _add_states(self, ops: set[int]) -> None:
        """Add the handles that the ops consume, what fills them, and the constants of these."""
        if not self.state:
            return
        handles = dict.fromkeys(self.handle[op] for op in ops if op in self.handle)
        for handle in handles:
            state = self.state[handle]
            if not ops.isdisjoint(self.other[state]):
                ops.update(self.filling[state])
            for op in self.index.input_lists[handle]:
                if self.index.types[op] in CONSTANTS and op not in self.owner:
                    ops.add(op)
            ops.add(handle)

    def _consumers(self, op: int, port: int) -> Iterator[Tensor]:
        """(consumer, slot) of a tensor, seen through what hands it on."""
        visited = {op}
        stack = [(op, port)]
        while stack:
            at, wanted_slot = stack.pop()
            for consumer in dict.fromkeys(self.index.consumer_lists[at]):
                start = self.index.inputs.start[consumer]
                for slot, source in enumerate(self.index.input_lists[consumer]):
                    if source != at or (
                        wanted_slot >= 0 and self.index.ports[start + slot] != wanted_slot
                    ):
                        continue
                    if self.index.types[consumer] not in V1_FORWARDING:
                        yield consumer, slot
                    elif (
                        slot == 0 or self.index.types[consumer] in MERGE
                    ) and consumer not in visited:
                        visited.add(consumer)
                        stack.append((consumer, traversal.ANY_PORT))

    def _way_out(self, k: int) -> str:
        """How to go on: the boundaries that do not cut a block."""
        block = self.blocks[k]
        kind = "loop" if isinstance(block, Loop) else "conditional"
        way_out = f"take the whole {kind}: add .whole() to the selection"
        inputs = self._inputs_of(block)
        leaving = _leaving(block)
        with_consumers = [op for op in leaving if self.index.consumer_lists[op]]
        outputs = [self._tensor(op, 0) for op in with_consumers or leaving]
        if inputs and outputs:
            way_out += f", or choose boundaries at {_some(inputs)} and {_some(outputs)}"
        return way_out

    def _inputs_of(self, block: Loop | Conditional) -> list[str]:
        """The tensors that enter a block from outside, without constants."""
        index = self.index
        tensors: dict[str, None] = {}
        for op in block.enters if isinstance(block, Loop) else block.switches:
            if index.input_lists[op]:
                edge = index.inputs.start[op]
                source = int(index.inputs.values[edge])
                if source not in block.ops and index.types[source] not in CONSTANTS:
                    tensors[self._tensor(source, int(index.ports[edge]))] = None
        return list(tensors)

    def _tensor(self, op: int, port: int) -> str:
        """The name of a tensor; that of an op for no port."""
        name = self.index.names[op]
        return name if port < 0 else f"{name}:{port}"


def _block_text(block: Loop | Conditional) -> str:
    """A block in a message."""
    return f"{'while loop' if isinstance(block, Loop) else 'conditional'} {block.name!r}"


def _leaving(block: Loop | Conditional) -> tuple[int, ...]:
    """The ops by which values leave a block."""
    return block.exits if isinstance(block, Loop) else block.merges


def _some(names: list[str]) -> str:
    """The first three of some names."""
    text = ", ".join(map(repr, names[:3]))
    return text if len(names) <= 3 else f"{text} and {len(names) - 3} more"
