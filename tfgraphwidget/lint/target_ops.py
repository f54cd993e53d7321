"""Which op types other runtimes take: what the converters turn into ops of their own.

The converter of TFLite makes builtin ops of those in TFLITE; tests/lint/test_target_ops.py holds
that against the converter itself. ONNX has those that tf2onnx 1.17 has a handler for, and those for
which `onnx_model` gives it one; loops and conditionals of TensorFlow 1 it takes by rewriting them.
An op of such a type may still be refused for its attributes, dtypes or shapes, and one of another
type may be part of a pattern that a converter knows, as Erfc is of GELU, or be computed before: so
the tables alone decide only where an op of REFUSED_BY_* depends on an input.
"""

TFLITE = frozenset(
    {
        "Abs", "Add", "AddN", "AddV2", "All", "Any", "ArgMax", "ArgMin", "Assert",
        "AssignVariableOp", "Atan2", "AvgPool", "AvgPool3D", "BatchMatMul", "BatchMatMulV2",
        "BatchMatMulV3", "BatchToSpaceND", "BiasAdd", "Bitcast", "BitwiseXor", "BroadcastArgs",
        "BroadcastTo", "Bucketize", "Case", "Cast", "Ceil", "Complex", "ComplexAbs", "Concat",
        "ConcatV2", "Const", "Conv2D", "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropInputV2",
        "Cos", "Cumsum", "DepthToSpace", "DepthwiseConv2dNative", "Div", "DivNoNan", "Einsum",
        "Elu", "Empty", "EnsureShape", "Enter", "Equal", "Exit", "Exp", "ExpandDims", "Expm1",
        "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "Fill", "Floor", "FloorDiv",
        "FloorMod", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Gather", "GatherNd",
        "GatherV2", "Greater", "GreaterEqual", "HashTable", "HashTableV2", "Identity", "IdentityN",
        "If", "Imag", "Inv", "IsFinite", "IsInf", "IsNan", "L2Loss", "LRN", "LeakyRelu", "Less",
        "LessEqual", "Lgamma", "Log", "Log1p", "LogSoftmax", "LogicalAnd", "LogicalNot",
        "LogicalOr", "LookupTableFind", "LookupTableFindV2", "LookupTableImport",
        "LookupTableImportV2", "LookupTableSize", "LookupTableSizeV2", "LoopCond", "MatMul",
        "MatrixBandPart", "MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiag",
        "MatrixSetDiagV2", "MatrixSetDiagV3", "Max", "MaxPool", "Maximum", "Mean", "Merge", "Min",
        "Minimum", "MirrorPad", "Mul", "MulNoNan", "Multinomial", "Neg", "NextIteration", "NoOp",
        "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NotEqual", "OneHot", "OnesLike", "Pack",
        "Pad", "PadV2", "PartitionedCall", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault",
        "Pow", "PreventGradient", "Prod", "QuantizeAndDequantizeV4", "RFFT", "RFFT2D",
        "RandomStandardNormal", "RandomUniform", "Range", "Rank", "ReadVariableOp", "Real",
        "RealDiv", "Reciprocal", "Relu", "Relu6", "Reshape", "ResizeBilinear",
        "ResizeNearestNeighbor", "ReverseSequence", "ReverseV2", "RightShift", "Rint", "Round",
        "Rsqrt", "ScatterNd", "SegmentSum", "Select", "SelectV2", "Selu", "Shape", "Sigmoid",
        "Sign", "Sin", "Size", "Slice", "Snapshot", "Softmax", "Softplus", "Softsign",
        "SpaceToBatchND", "SpaceToDepth", "SparseToDense", "Split", "SplitV", "Sqrt", "Square",
        "SquaredDifference", "Squeeze", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile",
        "StopGradient", "StridedSlice", "Sub", "Sum", "Switch", "Tanh", "TensorArrayGatherV3",
        "TensorArrayReadV3", "TensorArrayScatterV3", "TensorArraySizeV3", "TensorArrayV3",
        "TensorArrayWriteV3", "TensorListElementShape", "TensorListFromTensor", "TensorListGetItem",
        "TensorListLength", "TensorListReserve", "TensorListResize", "TensorListSetItem",
        "TensorListStack", "TensorScatterUpdate", "Tile", "TopKV2", "Transpose", "TruncateDiv",
        "Unique", "Unpack", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd",
        "UnsortedSegmentSum", "VarHandleOp", "VariableV2", "Where", "While", "Xdivy", "Xlogy",
        "ZerosLike",
    }
)  # fmt: skip

ONNX = frozenset(
    {
        "Abs", "Acos", "Acosh", "Add", "AddN", "AddV2", "AdjustContrastv2", "AdjustHue",
        "AdjustSaturation", "All", "Any", "ArgMax", "ArgMin", "AsString", "Asin", "Asinh", "Assert",
        "Atan", "Atan2", "Atanh", "AvgPool", "AvgPool3D", "BatchMatMul", "BatchMatMulV2",
        "BatchMatMulV3", "BatchToSpaceND", "BiasAdd", "BiasAddV1", "Bincount", "Bitcast",
        "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BroadcastTo", "CTCGreedyDecoder", "Cast", "Ceil",
        "CheckNumerics", "ClipByValue", "CombinedNonMaxSuppression", "ComplexAbs", "Concat",
        "ConcatV2", "Const", "Conv2D", "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropInputV2",
        "Cos", "Cosh", "CropAndResize", "CudnnRNN", "Cumprod", "Cumsum", "DenseBincount",
        "DenseToDenseSetOperation", "DepthToSpace", "DepthwiseConv2dNative", "Div", "DivNoNan",
        "DynamicPartition", "DynamicStitch", "Einsum", "Elu", "EnsureShape", "Enter", "Equal",
        "Erf", "Erfc", "Exit", "Exp", "ExpandDims", "Expm1", "ExtractImagePatches", "FFT",
        "FIFOQueueV2", "FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "Fill", "Floor",
        "FloorDiv", "FloorMod", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "Gather",
        "GatherNd", "GatherV2", "Greater", "GreaterEqual", "Identity", "IdentityN", "If", "Invert",
        "InvertPermutation", "IsFinite", "IsInf", "IsNan", "IteratorGetNext", "IteratorV2", "LRN",
        "LSTMBlockCell", "LeakyRelu", "LeftShift", "Less", "LessEqual", "Log", "Log1p",
        "LogSoftmax", "LogicalAnd", "LogicalNot", "LogicalOr", "LoopCond", "MatMul",
        "MatrixBandPart", "MatrixDeterminant", "MatrixDiag", "MatrixDiagPart", "MatrixDiagPartV2",
        "MatrixDiagPartV3", "MatrixDiagV2", "MatrixDiagV3", "MatrixSetDiagV3", "Max", "MaxPool",
        "MaxPool3D", "MaxPoolV2", "MaxPoolWithArgmax", "Maximum", "Mean", "Merge", "Min", "Minimum",
        "MirrorPad", "Mul", "Multinomial", "Neg", "NextIteration", "NoOp", "NonMaxSuppressionV2",
        "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NotEqual", "OneHot",
        "OnesLike", "Pack", "Pad", "PadV2", "ParallelDynamicStitch", "PartitionedCall",
        "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Pow", "PreventGradient", "Prod",
        "QueueDequeueManyV2", "QueueDequeueUpToV2", "QueueDequeueV2", "RFFT", "RFFT2D",
        "RaggedGather", "RaggedRange", "RaggedTensorFromVariant", "RaggedTensorToSparse",
        "RaggedTensorToTensor", "RaggedTensorToVariant", "RandomShuffle", "RandomStandardNormal",
        "RandomUniform", "RandomUniformInt", "Range", "ReadVariableOp", "RealDiv", "Reciprocal",
        "Relu", "Relu6", "Reshape", "ResizeArea", "ResizeBicubic", "ResizeBilinear",
        "ResizeNearestNeighbor", "ReverseSequence", "ReverseV2", "RightShift", "Rint", "Roll",
        "Round", "Rsqrt", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2", "ScatterNd",
        "SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum", "Select",
        "SelectV2", "Selu", "Shape", "Sigmoid", "Sign", "Sin", "Sinh", "Size", "Slice", "Snapshot",
        "Softmax", "SoftmaxCrossEntropyWithLogits", "Softplus", "Softsign", "SpaceToBatchND",
        "SpaceToDepth", "SparseFillEmptyRows", "SparseReshape", "SparseSegmentMean",
        "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtN",
        "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSum", "SparseSegmentSumWithNumSegments",
        "SparseSoftmaxCrossEntropyWithLogits", "SparseToDense", "Split", "SplitV", "Sqrt", "Square",
        "SquaredDifference", "Squeeze", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile",
        "StopGradient", "StridedSlice", "StringToNumber", "Sub", "Sum", "Switch", "Tan", "Tanh",
        "TensorListFromTensor", "TensorListGetItem", "TensorListLength", "TensorListReserve",
        "TensorListResize", "TensorListSetItem", "TensorListStack", "TensorScatterAdd",
        "TensorScatterMax", "TensorScatterMin", "TensorScatterSub", "TensorScatterUpdate", "Tile",
        "TopKV2", "Transpose", "TruncateDiv", "Unique", "UniqueWithCounts", "Unpack",
        "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum",
        "VarHandleOp", "VariableV2", "Where", "While", "ZerosLike",
    }
)  # fmt: skip

REFUSED_BY_TFLITE = frozenset(
    {
        "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BesselI0", "BesselI0e", "BesselI1",
        "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1", "BesselK1e",
        "BesselY0", "BesselY1", "Betainc", "Cholesky", "Cosh", "Dawsn", "Digamma", "Erfinv",
        "Expint", "FresnelCos", "FresnelSin", "IFFT", "IFFT2D", "Igamma", "Igammac",
        "LogMatrixDeterminant", "Lu", "MatrixDeterminant", "MatrixInverse", "MatrixLogarithm",
        "MatrixSolve", "MatrixSquareRoot", "MatrixTriangularSolve", "Ndtri", "NextAfter", "Sinh",
        "Tan",
    }
)  # fmt: skip
"""Op types that no rewriting of the converter takes away: one of them that depends on an input
decides it.
"""

REFUSED_BY_ONNX = REFUSED_BY_TFLITE - ONNX
"""The same of tf2onnx, which takes away no op that it has no handler for."""
