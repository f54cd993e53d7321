"""Ops of old graphs in the ops of today.

TensorFlow reads a graph by the version of its producer. An op type may have ended at a version
(`OpDef.deprecation`), and a few op types changed their meaning: then other ops take the place of
one that comes into a newer graph, or into a function, which always is of the present version
(test_tensorflow_facts.py::test_an_ended_op_does_not_run_in_a_function). The op that gives the
results keeps the name of the original, so that its consumers stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from tfgraphwidget.errors import NotClonable
from tfgraphwidget.graph import AXES_IN_A_VECTOR, SCALAR_PLACEHOLDERS, Typing, tensor_values
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, free_name, split_input, words
from tfgraphwidget.tf_types import AttrValue, DataType, NodeDef, VersionDef

_PLACEHOLDERS_ALIKE = 23  # version of graphs: since, PlaceholderV2 is Placeholder
_REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})
_FLOAT32, _INT32, _COMPLEX64, _INT64 = 1, 3, 8, 9  # DataTypes

# Of constants.
_DTYPES = {1: "float32", 2: "float64", 3: "int32", 9: "int64", 14: "bfloat16", 19: "float16"}
# In place of the version of the installed release, which is newer than those of all that ended.
_PRESENT = 1 << 31


class Integer(int):
    """The value of an attribute that is a number; any other int is a DataType."""


Attribute = bool | Integer | int | float | bytes | tuple[int, ...] | list[int] | AttrValue
"""The value of an attribute; a tuple lists DataTypes, and a list numbers."""


def translate_old_ops(
    nodes: Sequence[NodeDef],
    typing: Typing,
    source: VersionDef | None,
    target: VersionDef | None,
    used: Iterable[str] = (),
    originals: Mapping[str, str] = MappingProxyType({}),
) -> tuple[NodeDef, ...]:
    """Write ops of a graph as a graph of another version takes them.

    Args:
        source: The versions of the graph that they are of; None for those of the present release.
        target: The versions of the graph that they are for.
        used: The names of other ops that are taken there.
        originals: The names that the ops have in their graph, where these are others.

    Returns:
        The NodeDefs in their order, each after the new ones that it needs.

    Raises:
        NotClonable: An op type has ended, and there is no other for it.
    """
    before, after = _producer(source), _producer(target)
    if before >= after:
        return tuple(nodes)
    names = {name.lower() for name in used} | {node.name.lower() for node in nodes}
    constants = {node.name: node for node in nodes if node.op == "Const"}
    translated: list[NodeDef] = []
    for node in nodes:
        ended = _last_version(node.op, typing)
        if before < ended <= after:
            translated += _ops_of_today(
                node, ended, after, names, originals.get(node.name, node.name)
            )
        elif (
            node.op == "Placeholder" and before < SCALAR_PLACEHOLDERS <= after and _is_scalar(node)
        ):
            translated.append(_with_unknown_shape(node))
        elif (
            node.op in _REDUCTIONS
            and before < AXES_IN_A_VECTOR <= after
            and _may_be_a_matrix(node, constants)
        ):
            translated += _flattened_axes(node, names)
        else:
            translated.append(node)
    return tuple(translated)


def _producer(versions: VersionDef | None) -> int:
    return _PRESENT if versions is None else int(versions.producer)


def _last_version(op_type: str, typing: Typing) -> int:
    """The version of graphs since which there is no such op type; 0 for one that there is."""
    definition = typing.definition(op_type)
    return 0 if definition is None else int(definition.deprecation.version)


def _is_scalar(node: NodeDef) -> bool:
    shape = node.attr["shape"].shape
    return "shape" in node.attr and not shape.dim and not shape.unknown_rank


def _with_unknown_shape(node: NodeDef) -> NodeDef:
    """A copy of a Placeholder whose rank is not known."""
    copy = copy_of(node)
    copy.attr["shape"].shape.unknown_rank = True
    return copy


def _may_be_a_matrix(node: NodeDef, constants: dict[str, NodeDef]) -> bool:
    """Whether the axes of a reduction may be in a tensor of a higher rank than 1."""
    name, port = split_input(node.input[1])
    constant = constants.get(name)
    return constant is None or port != 0 or len(constant.attr["value"].tensor.tensor_shape.dim) > 1


def _flattened_axes(node: NodeDef, names: set[str]) -> list[NodeDef]:
    """A reduction whose axes are a vector."""
    ops = _NewOps(node, names)
    number = node.attr["Tidx"].type or _INT32
    axes = ops.add(
        "axes", "Reshape", node.input[1], ops.constant("all", [-1], _INT32), T=number, Tshape=_INT32
    )
    return [*ops.nodes, ops.last(node.op, node.input[0], axes, **dict(node.attr))]


def _ops_of_today(
    node: NodeDef, ended: int, after: int, names: set[str], original: str
) -> list[NodeDef]:
    """The ops that compute what an op of an ended type computes. Raises NotClonable."""
    op_type = node.op
    if op_type == "PlaceholderV2" and after < _PLACEHOLDERS_ALIKE:
        return [node]
    if op_type in _RENAMED:
        new = _RENAMED[op_type]
        ops = _NewOps(node, names)
        return [ops.last(new.op_type, *ops.inputs, **{**dict(node.attr), **dict(new.attributes)})]
    if op_type in _WRITTEN:
        ops = _NewOps(node, names)
        last = _WRITTEN[op_type](ops)
        return [*ops.nodes, last]
    raise NotClonable(
        f"Op {original!r} is of type {op_type!r}, which TensorFlow ended at graph version {ended}, "
        "and no op gives its results in a newer graph; choose a part without it, or edit the old "
        "graph by itself, which keeps its version.",
        [original],
    )


class _NewOps:
    """The ops that take the place of one op, `node`."""

    def __init__(self, node: NodeDef, names: set[str]) -> None:
        self.node, self.nodes, self._names = node, list[NodeDef](), names
        self.inputs = [text for text in node.input if text[:1] != "^"]

    def number(self, name: str) -> int:
        """The DataType in an attribute of the original."""
        return int(self.node.attr[name].type)

    def add(self, name: str, op_type: str, *inputs: str, **attributes: Attribute) -> str:
        """Add an op, in a scope of the original's name; return its first output as an input."""
        base = f"{self.node.name}/{name}"
        free = free_name(base, self._names) if base.lower() in self._names else base
        self._names.add(free.lower())
        self.nodes.append(_node(self.node, free, op_type, inputs, attributes))
        return free

    def constant(self, name: str, value: object, number: int) -> str:
        """Add a Const, named as by `add`. It waits for what the original reads, so that it is in
        the loop that the original is in.
        """
        array = tensor_values.to_array(value, _DTYPES[number])
        assert array is not None  # numbers that fit the dtype
        tensor = _attribute(self.node)
        tensor_values.set_all(tensor.tensor, array, number)
        inside = [op for op, _ in map(split_input, self.inputs) if op.lower() in self._names]
        waits = [f"^{op}" for op in inside[:1]]
        return self.add(name, "Const", *waits, dtype=number, value=tensor)

    def last(self, op_type: str, *inputs: str, **attributes: Attribute) -> NodeDef:
        """The op that gives the results, under the name of the original, with its place and what it
        waits for.
        """
        waits = [text for text in self.node.input if text[:1] == "^"]
        node = _node(self.node, self.node.name, op_type, (*inputs, *waits), attributes)
        if "_class" in self.node.attr:
            node.attr["_class"].CopyFrom(self.node.attr["_class"])
        return node


def _attribute(node: NodeDef) -> AttrValue:
    """A new AttrValue, of the same messages as a NodeDef."""
    return type(node)().attr[""]


def _node(
    original: NodeDef,
    name: str,
    op_type: str,
    inputs: Iterable[str],
    attributes: dict[str, Attribute],
) -> NodeDef:
    """A NodeDef on the device of another one."""
    node = type(original)(name=name, op=op_type, input=inputs, device=original.device)
    for key, value in attributes.items():
        attribute = node.attr[key]
        if isinstance(value, bool):
            attribute.b = value
        elif isinstance(value, Integer):
            attribute.i = value
        elif isinstance(value, int):
            attribute.type = cast("DataType.ValueType", value)
        elif isinstance(value, float):
            attribute.f = value
        elif isinstance(value, bytes):
            attribute.s = value
        elif isinstance(value, tuple):
            attribute.list.type.extend(cast("tuple[DataType.ValueType, ...]", value))
        elif isinstance(value, list):
            attribute.list.i.extend(value)
        else:
            attribute.CopyFrom(value)
    return node


# Op types that have another name


@dataclass(frozen=True)
class _Renamed:
    """The op type that computes the same, with attributes beside those of the old one."""

    op_type: str
    attributes: tuple[tuple[str, Attribute], ...] = ()


_BATCHED = words(
    "Cholesky CholeskyGrad MatrixDeterminant MatrixInverse MatrixSolve MatrixSolveLs",
    "MatrixTriangularSolve SelfAdjointEigV2 Svd MatrixDiag MatrixDiagPart MatrixSetDiag",
)
_TRANSFORMS = ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")
_RENAMED = {
    **{f"Batch{name}": _Renamed(name) for name in _BATCHED},
    **{f"Batch{name}": _Renamed(name, (("Tcomplex", _COMPLEX64),)) for name in _TRANSFORMS},
    "BatchMatrixBandPart": _Renamed("MatrixBandPart", (("Tindex", _INT64),)),
    "PlaceholderV2": _Renamed("Placeholder"),
}


# Op types that several others compute


def _adjust_contrast(ops: _NewOps) -> NodeDef:
    images, factor, least, most = ops.inputs
    number = ops.number("T")
    if number != _FLOAT32:
        images = ops.add("images", "Cast", images, SrcT=number, DstT=_FLOAT32, Truncate=False)
    adjusted = ops.add("adjusted", "AdjustContrastv2", images, factor, T=_FLOAT32)
    return ops.last(
        "Minimum", ops.add("above", "Maximum", adjusted, least, T=_FLOAT32), most, T=_FLOAT32
    )


def _tile_grad(ops: _NewOps) -> NodeDef:
    """Sum over the copies: a tensor of shape [m0, n0, m1, n1, …] along the even axes."""
    gradient, multiples = ops.inputs
    number = ops.number("T")
    sizes = ops.add("sizes", "Shape", gradient, T=number, out_type=_INT32)
    tile = ops.add("tile", "FloorDiv", sizes, multiples, T=_INT32)
    pairs = ops.add("pairs", "Pack", multiples, tile, T=_INT32, N=Integer(2), axis=Integer(1))
    flat = ops.constant("flat", [-1], _INT32)
    shape = ops.add("shape", "Reshape", pairs, flat, T=_INT32, Tshape=_INT32)
    apart = ops.add("apart", "Reshape", gradient, shape, T=number, Tshape=_INT32)
    rank = ops.add("rank", "Size", shape, T=_INT32, out_type=_INT32)
    zero, two = ops.constant("zero", 0, _INT32), ops.constant("two", 2, _INT32)
    axes = ops.add("axes", "Range", zero, rank, two, Tidx=_INT32)
    return ops.last("Sum", apart, axes, T=number, Tidx=_INT32, keep_dims=False)


def _top_k(ops: _NewOps) -> NodeDef:
    k = ops.constant("k", int(ops.node.attr["k"].i), _INT32)
    is_sorted = ops.node.attr["sorted"].b if "sorted" in ops.node.attr else True
    attributes = {"T": ops.number("T"), "Tk": _INT32, "index_type": _INT32}
    return ops.last("TopKV2", ops.inputs[0], k, sorted=bool(is_sorted), **attributes)


def _batch_norm(ops: _NewOps) -> NodeDef:
    tensor, mean, _, beta, gamma = ops.inputs
    number = ops.number("T")
    factor = _inverse_deviation(ops, ops.inputs[2])
    if ops.node.attr["scale_after_normalization"].b:
        factor = ops.add("factor", "Mul", factor, gamma, T=number)
    centered = ops.add("centered", "Sub", tensor, mean, T=number)
    return ops.last("AddV2", ops.add("scaled", "Mul", centered, factor, T=number), beta, T=number)


def _inverse_deviation(ops: _NewOps, variance: str) -> str:
    number = ops.number("T")
    epsilon = ops.constant("epsilon", float(ops.node.attr["variance_epsilon"].f), number)
    return ops.add(
        "rsqrt", "Rsqrt", ops.add("variance", "AddV2", variance, epsilon, T=number), T=number
    )


def _batch_norm_gradient(ops: _NewOps) -> NodeDef:
    tensor, mean, variance, gamma, backprop = ops.inputs
    number, is_scaled = ops.number("T"), bool(ops.node.attr["scale_after_normalization"].b)
    axes = ops.constant("axes", [0, 1, 2], _INT32)

    def total(name: str, value: str) -> str:
        return ops.add(name, "Sum", value, axes, T=number, Tidx=_INT32, keep_dims=False)

    def product(name: str, one: str, other: str) -> str:
        return ops.add(name, "Mul", one, other, T=number)

    inverse = _inverse_deviation(ops, variance)
    scaled = product("factor", inverse, gamma) if is_scaled else inverse
    centered = ops.add("centered", "Sub", tensor, mean, T=number)
    sum_of_gradients = total("sum", backprop)
    moment = total("moment", product("products", backprop, centered))
    of_mean = ops.add("of_mean", "Neg", product("mean_sum", sum_of_gradients, scaled), T=number)
    half = ops.constant("half", -0.5, number)
    inverse_square = product("inverse_square", inverse, inverse)
    of_variance = product(
        "of_variance", product("half_moment", moment, half), product("cube", scaled, inverse_square)
    )
    of_gamma = product("of_gamma", moment, inverse)
    if not is_scaled:
        of_gamma = ops.add("no_gamma", "ZerosLike", gamma, T=number)
    gradients = (
        product("of_tensor", backprop, scaled),
        of_mean,
        of_variance,
        sum_of_gradients,
        of_gamma,
    )
    return ops.last("IdentityN", *gradients, T=(number,) * len(gradients))


def _convolution_gradient(op_type: str, sized: int) -> Callable[[_NewOps], NodeDef]:
    """What writes a convolution's gradient as today, which takes the shape of input `sized`."""

    def write(ops: _NewOps) -> NodeDef:
        number, inputs = ops.number("T"), list(ops.inputs)
        inputs[sized] = ops.add("sizes", "Shape", inputs[sized], T=number, out_type=_INT32)
        same: dict[str, Attribute] = {"data_format": b"NDHWC", "dilations": [1] * 5}
        same |= {
            key: value
            for key, value in ops.node.attr.items()
            if key in ("strides", "padding", "dilations")
        }
        more = {} if sized else {"Tshape": _INT32}
        return ops.last(op_type, *inputs, T=number, **more, **same)

    return write


def _self_adjoint_eigen(ops: _NewOps) -> NodeDef:
    """The eigenvalues in a row above the eigenvectors."""
    number = ops.number("T")
    pair = ops.add("eigen", "SelfAdjointEigV2", ops.inputs[0], T=number, compute_v=True)
    axis = ops.constant("axis", -2, _INT32)
    row = ops.add("row", "ExpandDims", pair, axis, T=number, Tdim=_INT32)
    return ops.last("ConcatV2", row, as_input(pair, 1), axis, T=number, Tidx=_INT32, N=Integer(2))


def _quantize(ops: _NewOps) -> NodeDef:
    number, attributes = ops.number("T"), ops.node.attr
    least = ops.constant("input_min", float(attributes["input_min"].f), number)
    most = ops.constant("input_max", float(attributes["input_max"].f), number)
    same: dict[str, Attribute] = {
        "round_mode": b"HALF_TO_EVEN",
        "axis": Integer(-1),
        "narrow_range": False,
    }
    same |= {
        key: value
        for key, value in attributes.items()
        if key in ("signed_input", "num_bits", "range_given")
    }
    return ops.last("QuantizeAndDequantizeV2", ops.inputs[0], least, most, T=number, **same)


def _random_poisson(ops: _NewOps) -> NodeDef:
    number = ops.number("dtype")
    same = {key: value for key, value in ops.node.attr.items() if key in ("S", "seed", "seed2")}
    return ops.last("RandomPoissonV2", *ops.inputs, R=number, dtype=number, **same)


def _audio_summary(ops: _NewOps) -> NodeDef:
    rate = ops.constant("sample_rate", float(ops.node.attr["sample_rate"].f), _FLOAT32)
    same = {key: value for key, value in ops.node.attr.items() if key == "max_outputs"}
    return ops.last("AudioSummaryV2", *ops.inputs, rate, **same)


_WRITTEN: dict[str, Callable[[_NewOps], NodeDef]] = {
    "AdjustContrast": _adjust_contrast,
    "AudioSummary": _audio_summary,
    "BatchNormWithGlobalNormalization": _batch_norm,
    "BatchNormWithGlobalNormalizationGrad": _batch_norm_gradient,
    "BatchSelfAdjointEig": _self_adjoint_eigen,
    "Conv3DBackpropFilter": _convolution_gradient("Conv3DBackpropFilterV2", 1),
    "Conv3DBackpropInput": _convolution_gradient("Conv3DBackpropInputV2", 0),
    "QuantizeAndDequantize": _quantize,
    "RandomPoisson": _random_poisson,
    "SelfAdjointEig": _self_adjoint_eigen,
    "TileGrad": _tile_grad,
    "TopK": _top_k,
}
