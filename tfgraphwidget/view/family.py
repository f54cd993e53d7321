"""Families of op types: what decides a box's colour."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FAMILIES = (
    "other",
    "input",
    "constant",
    "variable",
    "linear",
    "activation",
    "normalisation",
    "arithmetic",
    "shape",
    "control",
    "state",
)
# Ops that write or read checkpoints: a scope with one of them, and without computation, is bookkeeping.
CHECKPOINT = frozenset({"SaveV2", "RestoreV2", "Save", "SaveSlices", "Restore", "RestoreSlice", "MergeV2Checkpoints"})
# The op that makes a layer of a network.
KERNELS = frozenset(
    {"Conv2D", "Conv3D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "MatMul", "BatchMatMulV2", "Einsum", "Conv"}
)

# The first family whose pattern matches a whole op type wins, so the narrow ones come first.
_PATTERNS = (
    ("input", r"Placeholder(V2|WithDefault)?|_?Arg|.*Iterator(V2|GetNext.*)?|.*Dataset.*|Queue(Dequeue|.*)V2"),
    ("constant", r"Const|HostConst|GuaranteeConst|ImmutableConst"),
    ("variable", r"Variable(V2)?|VarHandleOp|ReadVariableOp|AutoReloadVariable|ResourceGather(Nd)?|_VarHandlesOp"),
    ("state", r"(Resource)?.*Assign.*|(Resource)?(Sparse)?Apply.*|ResourceApply.*|Scatter(Add|Sub|Update|NdUpdate).*"),
    ("state", r"VarIsInitializedOp|IsVariableInitialized|.*Save.*|.*Restore.*|.*Checkpoint.*|.*HashTable.*|Stack.*V2"),
    ("state", r"TensorArray.*|.*Queue.*|TensorList.*|.*Summary.*|Assert|Print(V2)?"),
    ("linear", r".*(Conv[23]D|MatMul|Einsum|BiasAdd|Depthwise).*|Conv"),
    ("activation", r".*(Relu|Elu|Selu|Softmax|Sigmoid|Tanh|Softplus|Softsign|Gelu|Swish).*"),
    ("normalisation", r".*(BatchNorm|LRN|LayerNorm|Dropout).*|(Avg|Max).*Pool.*|L2Loss|Moments"),
    ("control", r"(Ref)?(Switch|Merge|Enter|Exit|NextIteration)|LoopCond|(Stateless)?(While|If|Case)|NoOp"),
    ("control", r"ControlTrigger|(Stateful)?PartitionedCall|SymbolicGradient|_Retval|(Ref)?Identity(N)?|StopGradient"),
    ("shape", r"Reshape|Transpose|Shape(N)?|Size|Rank|ExpandDims|Squeeze|(Strided)?Slice(Grad)?|Pad(V2)?|Mirror.*"),
    (
        "shape",
        r"Unique.*|Concat(V2)?|ConcatOffset|Split(V)?|Pack|Unpack|Stack|Tile|Gather(V2|Nd)?|Fill|Range|Reverse.*|Cast",
    ),
    (
        "shape",
        r"(Zeros|Ones)Like|OneHot|Broadcast.*|InvertPermutation|Dynamic(Partition|Stitch)|Scatter.*|Where|Unique.*",
    ),
    ("arithmetic", r"Add(V2|N)?|Sub|Mul|.*Div.*|Pow|Sqrt|Rsqrt|Square(dDifference)?|Neg|Abs|Sign|Exp|Log(1p)?|Maximum"),
    ("arithmetic", r"Minimum|Mean|Sum|Prod|Max|Min|Any|All|Arg(Max|Min)|Less.*|Greater.*|(Not)?Equal|Logical.*"),
    (
        "arithmetic",
        r"Select.*|FloorMod|Floor|Ceil|Round|Rint|Sin|Cos|Tan|Reciprocal.*|.*Random.*|TruncatedNormal|Cum(sum|prod)",
    ),
)
_COMPILED = tuple((FAMILIES.index(name), re.compile(pattern)) for name, pattern in _PATTERNS)


def family(op_type: str) -> int:
    """The number in FAMILIES of an op type; 0 ("other") when no pattern knows it."""
    return next((number for number, pattern in _COMPILED if pattern.fullmatch(op_type)), 0)


def families(op_types: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The family of each op, uint8 (n,)."""
    known = {op_type: family(op_type) for op_type in set(op_types)}
    return np.array([known[op_type] for op_type in op_types], dtype=np.uint8)
