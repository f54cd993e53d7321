"""What the operators of converted models compute, in the words of TensorFlow's op types."""

from __future__ import annotations

import re

from tfgraphwidget.graph.op_types import (
    BATCH_MATMULS,
    CHANNEL_SHIFTS,
    FUSED_BATCH_NORMS,
    LAYER_KERNELS,
)
from tfgraphwidget.tf_types import NodeDef

ONNX_PREFIX = "onnx."
"""How the types of ONNX's own operators begin in a graph: TensorFlow has a Concat of its own."""
CONVERTED_LOOPS = frozenset({"WHILE", "onnx.Loop", "onnx.Scan"})
CONVERTED_BRANCHES = frozenset({"IF", "onnx.If"})
BIASED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "CONV_3D"})
"""The operators of TensorFlow Lite whose third input, which may be left out, is a bias."""
_BIASED = BIASED | {"onnx.Conv", "onnx.ConvTranspose", "onnx.Gemm"}
_BIASED_INPUTS = 3
# Operators that do the work of a layer, and what they may have joined to it.
_LAYERS = _BIASED | {"TRANSPOSE_CONV", "BATCH_MATMUL"}
_OF_IMAGES = frozenset({"onnx.Conv", "onnx.ConvTranspose", "onnx.MaxPool", "onnx.AveragePool"})
_ACTIVATION = "fused_activation_function"  # the attribute of operators of TensorFlow Lite
# What TensorFlow calls the activations that they apply.
_ACTIVATIONS = {"RELU": "Relu", "RELU6": "Relu6", "TANH": "Tanh", "SIGN_BIT": "Sign"}
# They hand a value on, whatever it is of; integers with a scale count as what they represent.
_HANDING_ON = frozenset(
    {"QUANTIZE", "DEQUANTIZE", "onnx.QuantizeLinear", "onnx.DequantizeLinear", "onnx.Identity"}
)
KEEP_AXES = frozenset(
    {
        *("Abs", "Add", "And", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Clip"),
        *("Concat", "Conv", "ConvTranspose", "Cos", "CumSum", "DepthToSpace"),
        *("DequantizeLinear", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Floor"),
        *("GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual", "HardSigmoid"),
        *("Identity", "InstanceNormalization", "IsInf", "IsNaN", "LRN", "LeakyRelu", "Less"),
        *("LessOrEqual", "Log", "LogSoftmax", "Max", "MaxPool", "Min", "Mod", "Mul", "Neg"),
        *("Not", "Or", "PRelu", "Pad", "Pow", "QuantizeLinear", "Reciprocal", "Relu", "Resize"),
        *("Round", "Selu", "Sigmoid", "Sign", "Sin", "Slice", "Softmax", "Softplus", "Softsign"),
        *("SpaceToDepth", "Split", "Sqrt", "Sub", "Sum", "Tanh", "ThresholdedRelu", "Tile"),
        *("Upsample", "Where", "Xor"),
    }
)
"""Operators of ONNX that give a tensor whose axes are those of what they read."""
TRANSPOSING = frozenset({"Transpose", "Reshape"})
"""Operators of ONNX that a transposition is written as."""
# Operators that TensorFlow calls by another name, and not only in letters or by a version.
_OTHER_NAMES = {
    "ADD": ("BiasAdd",),
    "AVERAGE_POOL_2D": ("AvgPool",),
    "CONCATENATION": ("Concat",),
    "DEPTHWISE_CONV_2D": ("DepthwiseConv2dNative",),
    "FULLY_CONNECTED": ("MatMul",),
    "LOGISTIC": ("Sigmoid",),
    "MAX_POOL_2D": ("MaxPool",),
    "onnx.Add": ("BiasAdd", "BiasAddV1", "AddN"),
    "onnx.And": ("LogicalAnd",),
    "onnx.AveragePool": ("AvgPool", "AvgPool3D"),
    "onnx.BatchNormalization": tuple(FUSED_BATCH_NORMS),
    "onnx.Clip": ("Relu6", "ClipByValue"),
    "onnx.Conv": ("Conv2D", "Conv3D", "DepthwiseConv2dNative"),
    "onnx.ConvTranspose": ("Conv2DBackpropInput", "Conv3DBackpropInput"),
    "onnx.Div": ("RealDiv",),
    "onnx.Expand": ("BroadcastTo",),
    "onnx.Flatten": ("Reshape",),
    "onnx.Gemm": ("MatMul",),
    "onnx.GlobalAveragePool": ("Mean",),
    "onnx.GlobalMaxPool": ("Max",),
    "onnx.GreaterOrEqual": ("GreaterEqual",),
    "onnx.LessOrEqual": ("LessEqual",),
    "onnx.MatMul": ("BatchMatMul", "Einsum"),
    "onnx.Max": ("Maximum",),
    "onnx.MaxPool": ("MaxPool3D",),
    "onnx.Min": ("Minimum",),
    "onnx.Not": ("LogicalNot",),
    "onnx.Or": ("LogicalOr",),
    "onnx.Reciprocal": ("Inv",),
    "onnx.ReduceMax": ("Max",),
    "onnx.ReduceMean": ("Mean",),
    "onnx.ReduceMin": ("Min",),
    "onnx.ReduceProd": ("Prod",),
    "onnx.ReduceSum": ("Sum",),
    "onnx.Slice": ("StridedSlice",),
    "onnx.Sum": ("AddN",),
    "onnx.Unsqueeze": ("ExpandDims",),
    "onnx.Where": ("Select",),
}
# Operators whose name in ONNX is that of another op in TensorFlow.
_OTHER_MEANINGS = frozenset({"onnx.Max", "onnx.Min", "onnx.Sum", "onnx.Mean"})
_REDUCING = "REDUCE_"  # how TensorFlow Lite calls reductions: REDUCE_MAX
# Ops that may take axes away, as either names them; by default TensorFlow's do, and ONNX's do not.
_REDUCTIONS = re.compile(
    r"(Mean|Sum|Max|Min|Prod|All|Any|EuclideanNorm|ArgMax|ArgMin)\Z"
    r"|(MEAN|SUM|REDUCE_\w+|ARG_MAX|ARG_MIN)\Z|onnx\.(Reduce\w+|ArgMax|ArgMin)\Z"
)
_RESHAPES = frozenset({"SQUEEZE", "RESHAPE", "onnx.Squeeze", "onnx.Reshape"})
_SHRINKS = "shrink_axis_mask"  # the attribute of slices that take one of an axis
# How both formats write the types of operators: onnx.Conv, CONV_2D.
_OPERATOR = re.compile(r"onnx\.|[A-Z][A-Z0-9_]*\Z")
_RANDOM = re.compile("random|multinomial|bernoulli|dropout", re.IGNORECASE)
_VERSION = re.compile(r"v\d+\Z")


def is_layer(operator: NodeDef) -> bool:
    """Whether an operator does the work of a layer's kernel."""
    return operator.op in _LAYERS


def may_be_found_by_its_input(operator: NodeDef) -> bool:
    """Whether an operator without a name that is known is that of its type which reads what it
    reads: an op of TensorFlow becomes several operators of ONNX, whose types say little.
    """
    return is_layer(operator) or not is_of_onnx(operator)


def is_of_onnx(operator: NodeDef) -> bool:
    """Whether an operator is one of ONNX, in whose images the channels come first."""
    return operator.op.startswith(ONNX_PREFIX)


def is_of_images(operator: NodeDef) -> bool:
    """Whether an operator of ONNX takes images, with the channels first, and nothing else."""
    return operator.op in _OF_IMAGES


def has_bias(operator: NodeDef) -> bool:
    """Whether an operator adds a bias."""
    return operator.op in _BIASED and len(operator.input) >= _BIASED_INPUTS


def activation_of(operator: NodeDef) -> str:
    """The op type of the activation that an operator applies; "" for none, "?" if unknown."""
    if _ACTIVATION not in operator.attr:
        return ""
    name = operator.attr[_ACTIVATION].s.decode("ascii", "replace")
    return "" if name in ("", "NONE") else _ACTIVATIONS.get(name, "?")


def computes(operator: NodeDef, op_type: str) -> bool:
    """Whether an operator computes what an op of a type does, and ops that are joined to it."""
    if operator.op in _HANDING_ON or op_type == activation_of(operator):
        return True
    if is_layer(operator) and op_type in LAYER_KERNELS | BATCH_MATMULS:
        return True
    may_shift = has_bias(operator) or (is_layer(operator) and not is_of_onnx(operator))
    if may_shift and op_type in CHANNEL_SHIFTS | FUSED_BATCH_NORMS:
        return True
    return is_named(operator.op, op_type)


def is_named(kind: str, op_type: str) -> bool:
    """Whether an operator's type is TensorFlow's op type by name."""
    names = set(_OTHER_NAMES.get(kind, ()))
    if kind not in _OTHER_MEANINGS:
        names |= {kind.removeprefix(ONNX_PREFIX), kind.removeprefix(_REDUCING)}
    return _plain(op_type) in map(_plain, names)


def op_types_of(kind: str) -> tuple[str, ...]:
    """What TensorFlow may call an operator of a type, without regard to capitals: first by the
    operator's own name, and () for what is no operator of a converted model.
    """
    if not _OPERATOR.match(kind):
        return ()
    own_name = kind.removeprefix(ONNX_PREFIX).removeprefix(_REDUCING).replace("_", "")
    return (own_name, *_OTHER_NAMES.get(kind, ()))


def may_have_as_many_axes(operator: NodeDef, op: NodeDef) -> bool:
    """Whether an operator may give as many axes as an op of the model that reads the same."""
    return operator.op in _RESHAPES or _takes_axes_away(operator) == _takes_axes_away(op)


def _takes_axes_away(node: NodeDef) -> bool:
    if _SHRINKS in node.attr and node.attr[_SHRINKS].i:
        return True
    if not _REDUCTIONS.match(node.op):
        return False
    for key in ("keep_dims", "keepdims"):
        if key in node.attr:
            return not (node.attr[key].b or node.attr[key].i)
    return not is_of_onnx(node)


def are_of_one_kind(dtype: str, operator_dtype: str) -> bool:
    """Whether values of an op's dtype may be those of an operator's, of fewer bits or more."""
    return _kind(dtype) == _kind(operator_dtype)


def _kind(dtype: str) -> str:
    """What the values of a dtype are; quantized integers are numbers."""
    name = dtype.removesuffix("_ref").rstrip("0123456789")
    return {"uint": "int", "bfloat": "float", "qint": "float", "quint": "float"}.get(name, name)


def may_be_random(kind: str) -> bool:
    """Whether operators of a type may give other values in another run."""
    return _RANDOM.search(kind) is not None


def _plain(op_type: str) -> str:
    """An op type as either runtime writes it: SOFTMAX and Softmax are one."""
    return _VERSION.sub("", op_type.replace("_", "").lower())
