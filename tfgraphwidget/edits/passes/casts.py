"""Cast: a graph computes with half precision, and its constants take half the bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.edits import operand_kinds as kinds
from tfgraphwidget.edits.context import Array, PlanContext
from tfgraphwidget.edits.passes.whole_graph import GraphRewrite, Pass, without_consumers
from tfgraphwidget.edits.patch import Patch
from tfgraphwidget.edits.registry import register
from tfgraphwidget.edits.rewrite.consumers import attribute, resolve_ops
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    CONSTANTS,
    ELEMENT_CARRIERS,
    FLOAT32_OPS,
    HANDLES,
    NO_HALF_KERNELS,
    PRECISION_SENSITIVE,
    REQUIRED_PLACEHOLDERS,
    SUMS,
    V1_FORWARDING,
    GraphIndex,
    cached_per_index,
    called_functions,
    collection_ops,
    tensor_values,
    walk_from,
)
from tfgraphwidget.naming import as_input, count_text, names_text, split_tensor
from tfgraphwidget.sentences import editor_call, either
from tfgraphwidget.tf_types import FunctionDef, NodeDef, OpDef

Tensor = tuple[int, int]
_FLOAT = 1  # DT_FLOAT
_SMALL = 16  # elements: an epsilon, a scale, a mask's value
_FEW_BYTES = (
    4096  # of a constant; a larger one is stored in the new dtype for float32 consumers, too
)
# The dtype of the statistics of a fused batch normalization.
_STATISTICS = "U"
_DTYPES = ("float16", "bfloat16")


def _dtype_name(_: kinds.Resolver, dtype: object) -> object:
    """The name of a dtype of TensorFlow or NumPy."""
    return getattr(dtype, "name", dtype)


@register
@dataclass(frozen=True)
class Cast(Pass):
    """Let the graph compute with 16-bit floats, with weights of half the size.

    Softmax, losses, exponentials, sums, batch normalization statistics and ops without a kernel
    stay float32; the report lists them. Variables stay float32 and are read through a Cast:
    `freeze()` first makes constants of them.

    Args:
        dtype: "float16" or "bfloat16".
        keep: Ops, scopes or op types that stay float32.
        boundary: "keep": the inputs and outputs of the graph stay float32; "cast": they change
            their dtype.
        functions: Whether the functions that the graph calls are changed too.

    Returns:
        What was changed and what stays float32.

    Raises:
        GraphEditError: The dtype or the boundary is another one.

    Example:
        >>> import tfgraphwidget as tgw
        >>> editor = tgw.example()
        >>> report = editor.freeze("net/logits:0", "x:0")
        >>> report = editor.passes.cast("float16", feeds={"x:0": [[1, 2, 3, 4]]})
        >>> report.notes[1]
        '3 constants: 256 → 128 bytes.'
    """

    method: ClassVar[str] = "passes.cast"

    dtype: Annotated[
        Literal["float16", "bfloat16"],
        kinds.Operand('Literal["float16", "bfloat16"] | DTypeLike', _dtype_name),
    ]
    _: KW_ONLY
    keep: kinds.Names = ()
    boundary: Literal["keep", "cast"] = "keep"
    functions: bool = True

    def sentence(self) -> str:
        """What the edit has done, in words."""
        return f"Cast the graph to {self.dtype}"

    def nothing(self, context: PlanContext) -> str:  # noqa: ARG002
        """Why there is nothing to do in the graph of `context`."""
        return f"The graph has no float32 op that can compute in {self.dtype}."

    def enters(self, context: PlanContext, op: int) -> bool:
        """Whether functions that op `op` of `context` calls are changed: not for large numbers."""
        index = context.index
        return self.dtype != "float16" or _extremes(index).isdisjoint(index.input_lists[op])

    def rewrite(self, context: PlanContext) -> Patch | None:
        """The patch of `context`, one graph or body. Raises GraphEditError for another dtype."""
        dtype: object = self.dtype  # replay and people give what they like
        if not isinstance(dtype, str) or dtype not in _DTYPES:
            raise GraphEditError(
                f"cast({value_text(self.dtype)}): the dtype must be 'float16' or 'bfloat16'."
            )
        if self.boundary not in ("keep", "cast"):
            raise GraphEditError(
                either(f"cast(boundary={value_text(self.boundary)}): give", "Give")
                + " 'keep' or 'cast'."
            )
        index = context.index
        types = {name for name in self.keep if name in index.kinds[0]}
        names = tuple(name for name in self.keep if name not in types or name in index.ids)
        keep = {op for op, kind in enumerate(index.types) if kind in types}
        keep |= set(resolve_ops(index, names)) if names and not context.function else set()
        casting = _Casting(
            context,
            self.dtype,
            keep,
            casts_boundary=self.boundary == "cast" and not context.function,
        )
        return casting.patch()


@dataclass
class _Casting:
    """Decides on the dtype of each op and constant, then inserts a Cast wherever dtypes differ."""

    context: PlanContext
    dtype: str
    keep: set[int]
    casts_boundary: bool
    float32_types: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        index = self.index = self.context.index
        self.number = index.typing.number(self.dtype)
        self.boundary_ops = self._find_boundary()
        self.float_constants = _float_constants(index)
        self.extremes = _extremes(index) if self.dtype == "float16" else frozenset[int]()
        self.cast_ops = self._find_ops()
        self.cast_constants = {op for op in self.float_constants if self._is_cast(op)}

    # Which ops

    def _find_boundary(self) -> set[int]:
        """The ops that something outside of the graph names, or nothing reads."""
        index = self.index
        names = {split_tensor(name)[0] for name in self.context.external_tensors}
        names |= collection_ops(index)
        ops = {index.ids[name] for name in names if name in index.ids}
        return ops | set(np.flatnonzero(without_consumers(index)).tolist())

    def _find_ops(self) -> set[int]:
        index = self.index
        fixed = FLOAT32_OPS | NO_HALF_KERNELS[self.dtype]
        ops: set[int] = set()
        for op, kind in enumerate(index.types):
            if op in self.float_constants or (
                kind in REQUIRED_PLACEHOLDERS and not self.casts_boundary
            ):
                continue
            if not self._attributes(op):
                continue
            if (
                kind in fixed
                or op in self.keep
                or self._reads_extreme(op)
                or self._is_for_sensitive(op)
            ):
                self.float32_types[kind] += 1
            elif self.casts_boundary or op not in self.boundary_ops:
                ops.add(op)
        ops -= self._flows()
        wanted = {source for op in ops for source in index.input_lists[op]}
        return {op for op in ops if index.types[op] != "Cast" or op in wanted}

    def _attributes(self, op: int) -> frozenset[str]:
        """The float32 attributes of an op that may be the new dtype; none if it must stay."""
        index, node = self.index, self.index.nodes[op]
        definition = index.typing.definition(node.op)
        if definition is None or definition.is_stateful or node.op.startswith("TensorList"):
            return frozenset()
        if node.op in index.functions:
            return frozenset()
        if any(
            arg.is_ref for arg in (*definition.input_arg, *definition.output_arg)
        ) or self._reads_handle(op):
            return frozenset()
        used = {
            arg.type_attr
            for arg in (*definition.input_arg, *definition.output_arg)
            if arg.type_attr
        }
        if node.op == "Cast":
            # From a half, as a cast before left it.
            used = set() if node.attr["SrcT"].type in (14, 19) else {"DstT"}
        if node.op in REQUIRED_PLACEHOLDERS:
            used = {"dtype"}
        names = (
            a.name
            for a in definition.attr
            if a.type == "type" and a.name in used and a.name != _STATISTICS
        )
        return frozenset(name for name in names if self._may_be_half(node, definition, name))

    def _may_be_half(self, node: NodeDef, definition: OpDef, name: str) -> bool:
        value = attribute(node, definition, name)
        allowed = next(a for a in definition.attr if a.name == name).allowed_values.list.type
        return (
            value is not None and value.type == _FLOAT and (not allowed or self.number in allowed)
        )

    def _reads_handle(self, op: int) -> bool:
        return any(
            dtype.endswith("_ref") or dtype in ("", "resource", "variant")
            for dtype in self._input_dtypes(op)
        )

    def _input_dtypes(self, op: int) -> Iterator[str]:
        for source, port in self.index.input_tensors(op):
            dtypes = self.index.dtypes(source)
            yield dtypes[port] if port < len(dtypes) else ""

    def _reads_extreme(self, op: int) -> bool:
        """Whether an op reads a value that the dtype cannot hold: a mask of -1e9, 1e-12."""
        return any(source in self.extremes for source in self.index.input_lists[op])

    def _is_for_sensitive(self, op: int) -> bool:
        index = self.index
        consumers = index.consumer_lists[op]
        return (
            index.types[op] in SUMS
            and bool(consumers)
            and all(index.types[r] in PRECISION_SENSITIVE for r in consumers)
        )

    def _flows(self) -> set[int]:
        """The ops that hand on a TensorArray's flow, a float32 whose value has no meaning."""
        index = self.index
        arrays = {op for op, kind in enumerate(index.types) if kind.startswith("TensorArray")}
        return _carriers(index, arrays, V1_FORWARDING)

    # Which constants

    def _is_cast(self, op: int) -> bool:
        """Whether a constant is stored with the new dtype."""
        index = self.index
        if (
            (op in self.boundary_ops and not self.casts_boundary)
            or op in self.keep
            or op in self.extremes
        ):
            return False
        needs = [self._needs(consumer, slot) for consumer, slot in self._consumers(op)]
        fixed = FLOAT32_OPS | NO_HALF_KERNELS[self.dtype]
        others = [
            consumer
            for consumer, slot in self._consumers(op)
            if self._needs(consumer, slot) == "float32"
        ]
        if any(index.types[consumer] in fixed or consumer in self.keep for consumer in others):
            return False
        if self.dtype in needs:
            return not any(self._is_for_sensitive(consumer) for consumer in others)
        is_large = self.float_constants[op].nbytes > _FEW_BYTES
        return (
            is_large and bool(others) and all(consumer in self.boundary_ops for consumer in others)
        )

    def _consumers(self, op: int) -> Iterator[tuple[int, int]]:
        for consumer in dict.fromkeys(self.index.consumer_lists[op]):
            for slot, (source, _) in enumerate(self.index.input_tensors(consumer)):
                if source == op:
                    yield consumer, slot

    # Dtypes after

    def _needs(self, op: int, slot: int) -> str:
        """The dtype that an input has to have then; "" if any."""
        if self.index.types[op] == "Cast":
            return ""
        dtype = self._arguments(op, outputs=False)
        return dtype[slot] if slot < len(dtype) else "float32"

    def _arguments(self, op: int, *, outputs: bool) -> list[str]:
        """For each input or output of an op the new dtype if that changes, else "float32"."""
        index, node = self.index, self.index.nodes[op]
        changed = self._attributes(op) if op in self.cast_ops else frozenset()
        definition = index.typing.definition(node.op)
        before = list(index.dtypes(op)) if outputs else list(self._input_dtypes(op))
        if definition is None or not changed:
            return before
        after: list[str] = []
        for arg in definition.output_arg if outputs else definition.input_arg:
            number = attribute(node, definition, arg.number_attr) if arg.number_attr else None
            types = attribute(node, definition, arg.type_list_attr) if arg.type_list_attr else None
            if types is not None:
                count = len(types.list.type)
            else:
                count = 1 if number is None else int(number.i)
            if arg.type_attr in changed:
                after += [self.dtype] * count
            else:
                after += before[len(after) : len(after) + count]
        return after

    def _gives(self, tensor: Tensor) -> str:
        """The dtype of a tensor then."""
        if tensor[0] in self.cast_constants:
            return self.dtype
        dtypes = self._arguments(tensor[0], outputs=True)
        return dtypes[tensor[1]] if tensor[1] < len(dtypes) else ""

    # The patch

    def patch(self) -> Patch | None:
        """All of it; None if nothing changes its dtype."""
        index, rewrite = self.index, GraphRewrite(self.context)
        if not self.cast_ops and not self.cast_constants:
            return None
        before = after = 0
        for op in sorted(self.cast_constants):
            node = rewrite.node(op)
            node.attr["dtype"].type = self.number
            with np.errstate(over="ignore"):
                half = self.float_constants[op].astype(tensor_values.numpy_dtype(self.dtype))
            tensor_values.set_tensor(node.attr["value"].tensor, half, self.number)
            before, after = before + self.float_constants[op].nbytes, after + half.nbytes
        for op in sorted(self.cast_ops):
            for name in self._attributes(op):
                rewrite.node(op).attr[name].type = self.number
        casts: dict[tuple[Tensor, str], str] = {}
        for op in range(len(index)):
            self._connect(rewrite, op, casts)
        counts = Counter(index.types[op] for op in self.cast_ops)
        rewrite.notes += self._notes(counts, len(casts), before, after)
        return rewrite.patch(prune=False)

    def _connect(
        self, rewrite: GraphRewrite, op: int, casts: dict[tuple[Tensor, str], str]
    ) -> None:
        """Let an op read each input with the dtype that it needs."""
        index = self.index
        for slot, tensor in enumerate(self.index.input_tensors(op)):
            gives, needs = self._gives(tensor), self._needs(op, slot)
            if index.types[op] == "Cast":
                if gives and index.typing.number(gives) != rewrite.current(op).attr["SrcT"].type:
                    rewrite.node(op).attr["SrcT"].type = index.typing.number(gives)
            elif {gives, needs} == {"float32", self.dtype}:
                rewrite.node(op).input[slot] = self._cast(rewrite, tensor, gives, needs, casts)

    def _cast(
        self,
        rewrite: GraphRewrite,
        tensor: Tensor,
        before: str,
        after: str,
        casts: dict[tuple[Tensor, str], str],
    ) -> str:
        """The name of the op that casts a tensor; there is one for all that read it."""
        index, source = self.index, self.index.names[tensor[0]]
        if (tensor, after) not in casts:
            device = index.nodes[tensor[0]].device
            node = rewrite.add(f"{source}/{after}", "Cast", [as_input(source, tensor[1])], device)
            node.attr["SrcT"].type, node.attr["DstT"].type = map(
                index.typing.number, (before, after)
            )
            node.attr["Truncate"].b = False
            casts[tensor, after] = node.name
        return casts[tensor, after]

    def _notes(self, counts: Counter[str], casts: int, before: int, after: int) -> Iterable[str]:
        total = sum(counts.values())
        yield (
            f"{count_text(total, 'op')} compute in {self.dtype}, with "
            f"{count_text(casts, 'Cast')} between."
        )
        if self.cast_constants:
            yield (
                f"{count_text(len(self.cast_constants), 'constant')}: {before:,} → {after:,} bytes."
            )
        if self.float32_types:
            most = ", ".join(
                f"{kind} ({count:,})" for kind, count in self.float32_types.most_common(8)
            )
            if len(self.float32_types) > 8:
                more = f" and {len(self.float32_types) - 8} more types"
            else:
                more = ""
            yield f"Kept in float32: {most}{more}."
        index = self.index
        calls = [index.names[op] for op in sorted(_calls(index)) if self._reads_extreme(op)]
        if calls:
            yield (
                f"The functions of {names_text(calls)} stay float32: they read numbers outside "
                f"of {self.dtype}."
            )
        variables = sum(kind in HANDLES for kind in self.index.types)
        if variables:
            yield (
                f"{count_text(variables, 'variable')} stay{'s' * (variables == 1)} float32; "
                + editor_call("freeze", "")
                + " first makes constants of them."
            )


def _float_constants(index: GraphIndex) -> dict[int, Array]:
    """The values of the float32 constants, by op."""
    values: dict[int, Array] = {}
    for op, node in enumerate(index.nodes):
        value = _float_constant(node)
        if value is not None:
            values[op] = value
    return values


def _float_constant(node: NodeDef) -> Array | None:
    if node.op not in CONSTANTS or node.attr["dtype"].type != _FLOAT:
        return None
    try:
        return tensor_values.tensor_array(node.attr["value"].tensor, "float32")
    except ValueError:  # damaged
        return None


@cached_per_index
def _extremes(index: GraphIndex) -> frozenset[int]:
    """The constants that float16 cannot replace, and the ops that hand on such a value, also into
    and out of loops.

    A function may hand on any number that it reads, or that one of its constants has.
    """
    large: set[int] = set()
    small: set[int] = set()
    for op, value in _float_constants(index).items():
        finite = np.abs(value[np.isfinite(value)])
        if _is_large(value):
            large.add(op)
        elif finite.size <= _SMALL and bool(
            ((finite > 0) & (finite < np.finfo(np.float16).tiny)).any()
        ):
            small.add(op)
    calls = _calls(index)
    large |= {op for op, has_large in calls.items() if has_large}
    call_types = {index.types[op] for op in calls}
    # A product with a large number may be as large.
    carriers = _carriers(index, large, ELEMENT_CARRIERS | {"Mul"} | call_types)
    return frozenset(carriers | _carriers(index, small, ELEMENT_CARRIERS))


def _is_large(value: Array) -> bool:
    finite = np.abs(value[np.isfinite(value)])
    return bool(finite.size and finite.max() > np.finfo(np.float16).max)


@cached_per_index
def _calls(index: GraphIndex) -> dict[int, bool]:
    """The ops that call functions; whether a constant in these exceeds float16."""
    calls: dict[int, bool] = {}
    results: dict[tuple[str, ...], bool] = {}
    has_large: dict[str, bool] = {}

    def is_large(name: str) -> bool:
        if name not in has_large:
            definition: FunctionDef = index.extras.function(name)
            values = map(_float_constant, definition.node_def)
            has_large[name] = any(value is not None and _is_large(value) for value in values)
        return has_large[name]

    for op, node in enumerate(index.nodes):
        names = tuple(each.function for each in called_functions(node, index.functions))
        if names:
            if names not in results:
                results[names] = any(map(is_large, index.reachable_functions([node])))
            calls[op] = results[names]
    return calls


def _carriers(index: GraphIndex, ops: set[int], types: frozenset[str]) -> set[int]:
    """Some ops, and the ops of some types that hand on what they give."""
    consumers = index.consumer_lists
    return set(walk_from(ops, lambda op: (c for c in consumers[op] if index.types[c] in types)))
