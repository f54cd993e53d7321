"""FoldConstants: what depends on constants alone is computed once.

Common ops are computed by numpy (`kernels`), the others by TensorFlow in a scratch graph, in a
session of its own.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.passes import kernels
from tfgraphwidget.edits.passes.constant_conditionals import choose_branches
from tfgraphwidget.edits.passes.execution_order import execution_order
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass, control_inputs
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.errors import GraphEditError, TensorFlowMissing
from tfgraphwidget.graph import (
    ARGUMENTS,
    CONSTANTS,
    EXPANDING,
    HANDS_ON,
    PLACEHOLDERS,
    SHAPE_QUERIES,
    V1_CONTROL_FLOW,
    Effect,
    GraphIndex,
    Mask,
    all_variables,
    control_flow,
    effect_of,
    side_effects,
    tensor_values,
    traversal,
)
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, count_text, names_text
from tfgraphwidget.sentences import either
from tfgraphwidget.tf_types import NodeDef

# Their results depend on the device, or hold for a session only.
_NEVER = re.compile(r"Stateless\w+|\w*Random\w*|GuaranteeConst|FakeParam|_\w+")
_LIMIT = 102_400  # bytes
# Bytes of values that are held at once, 512 MB: others read them, however small they are stored.
MAX_HELD = 1 << 29
MAX_SECONDS = 30.0  # that computing may take; what is left stays as it is
_FEW = 3  # ops that a note names


@register
@dataclass(frozen=True)
class FoldConstants(Pass):
    """Compute once what depends on constants alone, and store it as constants.

    Ops with state, random numbers, queues, Python functions, and placeholders with a default are
    not computed. Ops that fail when they are computed stay, with a note. Of a conditional with a
    constant predicate the branch that is taken stays: a call of its function, or with Switch and
    Merge its ops, whose Merge becomes an Identity.

    Args:
        limit: The largest constant to store, in bytes; a larger one is stored if it is smaller than
            what it is computed from.
        shapes: Whether known static shapes count as constants.
        keep: Ops that stay; None for those of the marked boundary.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed, and how many ops of each type became constants.

    Raises:
        GraphEditError: The limit is not a number of bytes.

    Example:
        >>> import tfgraphwidget as tgw
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.add(x, tf.constant(1.0) + tf.constant(2.0), name="y")
        >>> editor = tgw.edit(graph.as_graph_def())
        >>> report = editor.passes.fold_constants()
        >>> report.notes
        ('1 op became a constant: 1 AddV2.',)
    """

    method: ClassVar[str] = "passes.fold_constants"

    keeps_values: ClassVar[bool] = True

    limit: int = _LIMIT
    _: KW_ONLY
    shapes: bool = True
    keep: kinds.Kept = ()
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return "Folded constants"

    def nothing(self, context: PlanContext) -> str:  # noqa: ARG002
        """Why there is nothing to do in the graph of `context`."""
        return f"No op of the graph computes up to {self.limit:,} bytes from constants."

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, one graph or body."""
        if type(self.limit) is not int or self.limit < 0:
            raise GraphEditError(
                either(f"fold_constants(limit={self.limit!r}): give", "Give")
                + " a number of bytes from 0 on."
            )
        index = context.index
        keep = [index.op(name) for name in self.keep] if not context.function else []
        folding = _ConstantFolding(context, self.limit, shapes=self.shapes, keep=frozenset(keep))
        folding.find()
        return folding.patch()


@dataclass
class _ConstantFolding:
    """Finds the ops with known outputs, in order, and makes constants of those that are read."""

    context: PlanContext
    limit: int
    shapes: bool
    keep: frozenset[int]
    values: dict[int, list[Array]] = field(default_factory=dict)
    # Bytes of the constants that a value is computed from.
    sizes: dict[int, int] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    large: list[int] = field(default_factory=list)
    memory: int = 0  # bytes of the values
    late: list[int] = field(default_factory=list)  # ops that there was no more time for
    end: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    # Ops that only TensorFlow, which is missing, could compute.
    away: list[int] = field(default_factory=list)

    @property
    def index(self) -> GraphIndex:
        return self.context.index

    def find(self) -> None:
        """Compute all that can be."""
        index = self.index
        candidates = {kind for kind in index.kinds[0] if self._may_fold(kind)}
        has_blocks = not V1_CONTROL_FLOW.isdisjoint(index.kinds[0])
        self._blocks = (
            frozenset(control_flow.control_flow_ops(index)) if has_blocks else frozenset[int]()
        )
        pending: list[int] = []
        later: set[int] = set()
        for op in execution_order(index):
            kind = index.types[op]
            if time.monotonic() > self.end:
                self.late += [op] if kind in candidates else []
                continue
            if kind in CONSTANTS:
                self._read(op)
            elif self.shapes and kind in SHAPE_QUERIES and self._from_static_shape(op):
                pass
            elif kind in candidates and op not in self.keep and self._is_for_tensorflow(op, later):
                later.add(op)
                pending.append(op)
        self._by_tensorflow(pending)

    def _is_for_tensorflow(self, op: int, later: set[int]) -> bool:
        """Whether TensorFlow is to compute an op, and not numpy; `later` are those before it."""
        sources = self.index.input_lists[op]
        if not sources or not all(source in self.values or source in later for source in sources):
            return False
        if all(source in self.values for source in sources) and self._by_numpy(op):
            return False
        return self._may_be_computed(op)

    def _may_fold(self, kind: str) -> bool:
        """Whether ops of a type may be computed once."""
        definition = self.index.typing.definition(kind)
        if definition is None or definition.is_stateful or kind in self.index.functions:
            return False
        if kind in PLACEHOLDERS | ARGUMENTS | V1_CONTROL_FLOW | CONSTANTS or _NEVER.fullmatch(kind):
            return False
        if effect_of(kind) is not Effect.PURE:
            return False
        if any(attr.type in ("func", "list(func)") for attr in definition.attr):
            return False
        return not any(arg.is_ref for arg in (*definition.input_arg, *definition.output_arg))

    def _read(self, op: int) -> None:
        index, proto = self.index, self.index.nodes[op].attr["value"].tensor
        try:
            self.values[op] = [tensor_values.tensor_array(proto, index.dtypes(op)[0])]
        except (
            TypeError,
            ValueError,
            KeyError,
            IndexError,
        ):  # of a dtype without values, or damaged
            return
        array = self.values[op][0]
        if array.dtype.hasobject:
            texts = [
                text.encode() if isinstance(text, str) else text
                for text in array.reshape(-1).tolist()
            ]
            self.values[op] = [np.array(texts, object).reshape(array.shape)]
        self.sizes[op] = proto.ByteSize()

    def _from_static_shape(self, op: int) -> bool:
        """Whether the value of a Shape, Size or Rank follows from static shapes, and is stored."""
        index = self.index
        if (
            op in self._blocks
            or op in self.keep
            or any(source in self.values for source in index.input_lists[op])
        ):
            return False
        shapes = [index.shape(*tensor) for tensor in index.input_tensors(op)]
        node = index.nodes[op]
        is_long = "out_type" in node.attr and node.attr["out_type"].type == 9  # DT_INT64
        dtype = np.int64 if is_long else np.int32
        values: list[Array] = []
        for shape in shapes:
            if shape is None or (None in shape and node.op != "Rank"):
                return False
            sizes = [size or 0 for size in shape]
            if node.op == "Rank":
                values.append(np.array(len(sizes), np.int32))
            elif node.op == "Size":
                values.append(np.array(int(np.prod(sizes)), dtype))
            else:
                values.append(np.array(sizes, dtype))
        if self._depends_on_effects[op]:
            return False
        self.values[op], self.sizes[op] = values, 0
        return True

    @cached_property
    def _depends_on_effects(self) -> Mask:
        """The ops that need one with side effects, which runs on only if they do."""
        return traversal.forward(self.index, side_effects(self.index, range(len(self.index))))

    def _inputs(self, op: int) -> list[Array]:
        return [self.values[source][port] for source, port in self.index.input_tensors(op)]

    def _dtypes(self, op: int) -> list[np.dtype] | None:
        try:
            return [tensor_values.numpy_dtype(name) for name in self.index.dtypes(op)]
        except TypeError:
            return None

    def _by_numpy(self, op: int) -> bool:
        """Whether numpy computes an op, or it fails; else TensorFlow is to."""
        dtypes, node = self._dtypes(op), self.index.nodes[op]
        if dtypes is None:
            return True
        try:
            values = kernels.compute(node.op, node.attr, self._inputs(op), dtypes)
        except NotImplementedError:
            return False
        except kernels.TooLarge:
            self.large.append(op)
        except (ArithmeticError, ValueError, IndexError, TypeError) as error:
            self.failed[op] = str(error).partition("\n")[0]
        else:
            self._store(op, values)
        return True

    def _store(self, op: int, values: Sequence[Array]) -> None:
        """Store what an op gives, unless that is too large."""
        sources = sum(self.sizes[source] for source in set(self.index.input_lists[op]))
        size = sum(_stored_size(value) for value in values)
        in_memory = sum(size if value.dtype.hasobject else value.nbytes for value in values)
        if size > max(self.limit, sources) or self.memory + in_memory > MAX_HELD:
            self.large.append(op)
        else:
            self.memory += in_memory
            self.values[op], self.sizes[op] = (
                list(values),
                max(size, sources if size > self.limit else 0),
            )

    def _may_be_computed(self, op: int) -> bool:
        """Whether an op's outputs, as far as shapes are known, are not too large to compute."""
        index, dtypes = self.index, self._dtypes(op)
        if dtypes is None:
            return False
        for port, dtype in enumerate(dtypes):
            shape = index.shape(op, port)
            if shape is None or None in shape:
                if index.types[op] in EXPANDING:
                    return False
            elif np.prod(np.array(shape, np.float64)) * dtype.itemsize > kernels.LARGE:
                self.large.append(op)
                return False
        return bool(dtypes)

    def _by_tensorflow(self, ops: list[int]) -> None:
        """Compute ops together; if that fails, one by one, so that the others are computed."""
        if not ops:
            return
        try:
            self._run(ops)
        except TensorFlowMissing:
            self.away = ops
        except GraphEditError:
            for op in ops:
                if time.monotonic() > self.end:
                    self.late.append(op)
                elif all(source in self.values for source in self.index.input_lists[op]):
                    try:
                        self._run([op])
                    except GraphEditError as error:
                        self.failed[op] = error.why.rpartition("TensorFlow: ")[2].partition("\n")[0]

    def _run(self, ops: list[int]) -> None:
        index, inside = self.index, set(ops)
        outside = dict.fromkeys(
            source for op in ops for source in index.input_lists[op] if source not in inside
        )
        nodes: list[NodeDef] = []
        names: dict[tuple[int, int], str] = {}
        for op in outside:
            for port, value in enumerate(self.values[op]):
                names[op, port] = f"constant_{len(nodes)}"
                nodes.append(
                    self._constant(
                        type(index.nodes[op])(name=names[op, port]), value, index.dtypes(op)[port]
                    )
                )
        tensors: list[str] = []
        for op in ops:
            node = copy_of(index.nodes[op])
            node.device = ""
            node.attr.pop("_class", None)
            read = index.input_tensors(op)
            node.name = f"op_{op}"
            node.input[:] = [names.get(end) or as_input(f"op_{end[0]}", end[1]) for end in read]
            nodes.append(node)
            tensors += [f"{node.name}:{port}" for port in range(len(index.dtypes(op)))]
        results = iter(self.context.compute(nodes, tensors, max(1.0, self.end - time.monotonic())))
        for op in ops:
            values = [
                np.asarray(next(results), object if name == "string" else None)
                for name in index.dtypes(op)
            ]
            if all(source in self.values for source in index.input_lists[op]):
                self._store(op, values)

    def _constant(self, node: NodeDef, value: Array, dtype: str) -> NodeDef:
        node.op = "Const"
        number = self.index.typing.number(dtype)
        node.attr["dtype"].type = number
        tensor_values.set_tensor(node.attr["value"].tensor, value, number)
        return node

    # The patch

    def patch(self) -> Patch | None:
        """The ops that others read become constants; what only they needed goes."""
        index, rewrite = self.index, GraphRewrite(self.context, self.keep)
        folded = {op for op in self.values if index.types[op] not in CONSTANTS}
        fixed = _named_by_variables(index)
        counts = Counter[str]()
        idle = self._idle_waits(folded, rewrite.named)
        for op in sorted(folded):
            consumers = set(index.consumer_lists[op]) | (
                set() if op in idle else set(index.control_consumer_lists[op])
            )
            is_end = not consumers or rewrite.named[op]
            if not is_end and consumers <= folded:
                continue
            if index.types[op] in HANDS_ON and index.input_lists[op][0] not in folded:
                continue
            if op in fixed or index.types[op] == "IdentityN":
                continue
            if self._make_constant(rewrite, op, folded):
                counts[index.types[op]] += 1
        chosen = choose_branches(rewrite, self.values, self.keep)
        if not (counts or chosen):
            return None
        for op in sorted(idle):
            rewrite.wait_instead(op, ())
        if chosen:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in chosen.items())
            total = count_text(chosen.total(), "conditional")
            rewrite.notes.append(f"Of {total} the branch that is taken stayed: {kinds}.")
        if counts:
            rewrite.notes.append(self._folded_note(counts))
        rewrite.notes += self._notes()
        return rewrite.patch()

    def _folded_note(self, counts: Counter[str]) -> str:
        """The sentence about the ops that became constants, by type."""
        most = ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common(5))
        total = sum(counts.values())
        return (
            f"{count_text(total, 'op')} became {'a constant' if total == 1 else 'constants'}: "
            f"{most}."
        )

    def _idle_waits(self, folded: set[int], named: Mask) -> set[int]:
        """The ops that only folded ones read and that wait for nothing, so need no waiting."""
        index = self.index
        late = traversal.forward(index, np.flatnonzero(np.diff(index.controls.start)).tolist())
        unread = (
            op
            for op in self.values
            if folded.issuperset(index.consumer_lists[op]) and index.control_consumer_lists[op]
        )
        return {op for op in unread if not (late[op] or named[op])}

    def _make_constant(self, rewrite: GraphRewrite, op: int, folded: set[int]) -> bool:
        """Let an op be a constant, or consumers read one per output; whether that can be."""
        index, before, waits = self.index, self.index.nodes[op], self._waits(op, folded)
        values, dtypes = self.values[op], index.dtypes(op)
        if len(values) == 1:
            node = rewrite.node(op)
            node.ClearField("attr")
            if "_class" in before.attr:
                node.attr["_class"].CopyFrom(before.attr["_class"])
            self._constant(node, values[0], dtypes[0])
            node.input[:] = [f"^{name}" for name in waits]
            return True
        if rewrite.named[op]:
            return False
        names: list[str] = []
        for port, value in enumerate(values):
            node = rewrite.add(
                f"{before.name}/folded_{port}",
                "Const",
                [f"^{name}" for name in waits],
                before.device,
            )
            self._constant(node, value, dtypes[port])
            names.append(node.name)
            rewrite.redirect(op, node.name, port)
        rewrite.wait_instead(op, names[:1])
        rewrite.removed.add(op)
        return True

    def _waits(self, op: int, folded: set[int]) -> list[str]:
        """What an op waits for, directly or because it reads what waits: constants are inside of
        loops by that.
        """
        index = self.index
        names: dict[str, None] = {}
        visited, stack = {op}, [op]
        while stack:
            at = stack.pop()
            names |= dict.fromkeys(control_inputs(index.nodes[at]))
            if (
                at in folded
                and index.types[at] in SHAPE_QUERIES
                and index.input_lists[at][0] not in self.values
            ):
                continue
            for source in index.input_lists[at]:
                if source not in visited:
                    visited.add(source)
                    stack.append(source)
        ops = (index.ids[name] for name in names)
        stay = (before for before in ops if len(self.values.get(before, ())) < 2)
        return sorted(
            index.names[at] for at in stay if index.types[at] not in CONSTANTS or op in self._blocks
        )

    def _notes(self) -> list[str]:
        index, notes = self.index, []
        failed = [
            f"{index.names[op]!r} ({index.types[op]}): {why}"
            for op, why in list(self.failed.items())[:_FEW]
        ]
        if failed:
            notes.append(
                f"{count_text(len(self.failed), 'op')} failed and stayed: {'; '.join(failed)}."
            )
        if self.large:
            names = names_text([index.names[op] for op in self.large])
            notes.append(f"{names} stayed, for the result is larger than {self.limit:,} bytes.")
        if self.late:
            notes.append(
                f"{count_text(len(self.late), 'op')} stayed, since the others took {MAX_SECONDS:g} "
                "seconds; fold again."
            )
        if self.away:
            notes.append(
                f"{count_text(len(self.away), 'op')} stayed, since TensorFlow, which computes "
                "them, is missing."
            )
        return notes


def _stored_size(value: Array) -> int:
    """The size of a constant in a file, in bytes: one number that is everywhere is stored once."""
    if value.dtype.hasobject:
        return sum(len(text) for text in value.reshape(-1).tolist())
    flat = value.reshape(-1)
    return value.itemsize if flat.size and bool((flat == flat[0]).all()) else value.nbytes


def _named_by_variables(index: GraphIndex) -> frozenset[int]:
    """The ops that variables name: a live graph cannot make an op another one, and its variables
    name the old one.
    """
    variables = all_variables(index)
    names = (name for variable in variables for name in variable.ops)
    return frozenset(index.ids[name] for name in names if name in index.ids)
