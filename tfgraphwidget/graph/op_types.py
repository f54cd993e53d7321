"""Sets of op types, and of dtypes, that other modules test for: each set has one name here, with
its reason.

Tables that map an op type to something else (a rule, an input slot) and patterns over open families
of op types (`.*Summary.*`) stay with the code that reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tfgraphwidget.naming import words

if TYPE_CHECKING:
    from tfgraphwidget.tf_types import DataType


def _types(*lines: str) -> frozenset[str]:
    """The op types in lines of text."""
    return frozenset(words(*lines))


# Inputs and constants

# A run needs a value for them. Old files (GraphDef version below 23) may hold PlaceholderV2, which
# differed from the Placeholder of its time only in what an empty shape meant: a scalar.
REQUIRED_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
# What can be fed by design. PlaceholderWithDefault computes a value from its input if it is not
# fed.
PLACEHOLDERS = REQUIRED_PLACEHOLDERS | {"PlaceholderWithDefault"}
# What an argument of a function is in the graph of its body: Placeholder in a FuncGraph, _Arg in an
# instantiated body.
ARGUMENTS = REQUIRED_PLACEHOLDERS | {"_Arg"}
# Their attribute `value` holds their tensor. A HostConst keeps it in host memory; TensorFlow infers
# no static shape of it, so in a live graph its shape is unknown.
CONSTANTS = frozenset({"Const", "HostConst"})
# What represents an op in a graph that only infers shapes: TensorFlow takes no PlaceholderV2 there.
SHAPE_EQUIVALENTS = {"PlaceholderV2": "Placeholder", "HostConst": "Const"}
# Versions of graphs (VersionDef.producer) at which TensorFlow began to read an op type otherwise
# (test_tensorflow_facts.py).
SCALAR_PLACEHOLDERS = 22  # before, the shape {} of a Placeholder was an unknown one
AXES_IN_A_VECTOR = 21  # before, a reduction took its axes in a tensor of any rank
# They compute nothing: their value is in the graph, or is fed.
VALUE_SOURCES = CONSTANTS | REQUIRED_PLACEHOLDERS
# Drawn as constants, although the graph does not hold their tensors: GuaranteeConst declares that
# its input does not change, ImmutableConst maps a file into memory.
CONSTANT_LIKE = CONSTANTS | {"GuaranteeConst", "ImmutableConst"}
# A tape makes them for outputs that have no gradient.
ZEROS = CONSTANTS | {"Fill", "ZerosLike"}

# Variables and other state

# They give a reference (dtype "float32_ref") to a variable of TensorFlow 1.
REF_HANDLES = frozenset({"Variable", "VariableV2"})
# They give a resource that refers to a variable.
RESOURCE_HANDLES = frozenset({"VarHandleOp"})
# The ops that hold a variable's state.
HANDLES = REF_HANDLES | RESOURCE_HANDLES
# They hold a tensor for part of one step, under a name of their own, so no session keeps it.
TEMPORARY_VARIABLES = frozenset({"TemporaryVariable", "DestroyTemporaryVariable"})
# They set a variable's whole value: as its initializer or a Saver does.
ASSIGNS = frozenset({"Assign", "AssignVariableOp"})
# They give a variable's whole value unchanged: Identity of a reference, ReadVariableOp of a
# resource.
VARIABLE_READS = frozenset({"Identity", "ReadVariableOp"})
# They give values from a resource variable: a resource that one of them reads is a variable.
RESOURCE_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})
# They show whether a variable has a value.
IS_INITIALIZED = frozenset({"VarIsInitializedOp", "IsVariableInitialized"})
# Stateful by their OpDefs, but they change nothing.
RESOURCE_QUERIES = RESOURCE_READS | {"VariableShape", "VarIsInitializedOp"}
# Ops on the path from a weight to the op that computes with it: reads, casts of mixed precision,
# entries into loops.
WEIGHT_READS = VARIABLE_READS | {"Enter", "RefEnter", "Cast", "GuaranteeConst"}
# They fill a table from tensors of keys and values.
TABLE_INITIALIZERS = frozenset({"InitializeTable", "InitializeTableV2"})
# They fill a table from a file, which is an asset of a SavedModel.
TABLE_FILE_INITIALIZERS = frozenset(
    {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}
)
# Tables that are filled once, by an initializer, and never written to.
STATIC_TABLES = frozenset({"HashTable", "HashTableV2"})
# A function that makes a table fills it with one of them.
TABLE_FILLS = TABLE_INITIALIZERS | TABLE_FILE_INITIALIZERS | {"LookupTableImportV2"}
# They write to a mutable table. TensorFlow never had a LookupTableRemove of version 1.
TABLE_EXPORTS = frozenset({"LookupTableExport", "LookupTableExportV2"})
"""Ops that give the keys and the values of a table."""
TABLE_WRITES = frozenset(
    {
        "LookupTableInsert",
        "LookupTableInsertV2",
        "LookupTableRemoveV2",
        "LookupTableImport",
        "LookupTableImportV2",
    }
)
# They call a Python function of this process, which no other process has.
PYTHON_CALLS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
# They raise an error where a value is not as it should be, and compute nothing else.
CHECKS = frozenset({"Assert", "CheckNumerics", "CheckNumericsV2"})
# They give their input unchanged, and only say something to who trains or checks.
HANDS_ON = frozenset({"Identity", "StopGradient", "PreventGradient", "Snapshot"})
# They compute nothing: others wait for them.
WITHOUT_OUTPUTS = frozenset({"Assert", "NoOp"})
# What they read is needed with full precision: an epsilon that is added to a variance before one of
# them.
PRECISION_SENSITIVE = frozenset({"Rsqrt", "Sqrt", "Log", "Pow", "RealDiv", "Reciprocal"})
# Their output can be much larger than their inputs.
EXPANDING = frozenset(
    {"Fill", "Tile", "BroadcastTo", "Range", "LinSpace", "OneHot", "SparseToDense", "ScatterNd"}
)
# Of floats they are the same; Div of integers rounds.
DIVISIONS = frozenset({"RealDiv", "Div"})
# They write to the log.
PRINTS = frozenset({"Print", "PrintV2"})
# They write and read the values of variables in checkpoints of this format.
CHECKPOINT_VALUES = frozenset({"SaveV2", "RestoreV2"})
# They write or read checkpoints.
CHECKPOINT_OPS = CHECKPOINT_VALUES | frozenset(
    {"Save", "SaveSlices", "Restore", "RestoreSlice", "MergeV2Checkpoints"}
)
# Summaries whose tag is their first input: two with one tag would write one series.
TAGGED_SUMMARIES = frozenset(
    {
        "ScalarSummary",
        "HistogramSummary",
        "ImageSummary",
        "AudioSummary",
        "AudioSummaryV2",
        "TensorSummaryV2",
    }
)

# Control flow of TensorFlow 1

ENTER = frozenset({"Enter", "RefEnter"})
EXIT = frozenset({"Exit", "RefExit"})
NEXT = frozenset({"NextIteration", "RefNextIteration"})
# _SwitchN has one output per branch: a lowered Case.
SWITCH = frozenset({"Switch", "RefSwitch", "_SwitchN"})
MERGE = frozenset({"Merge", "RefMerge"})
LOOP_CONDITION = frozenset({"LoopCond"})
V1_LOOPS = ENTER | EXIT | NEXT | LOOP_CONDITION
V1_CONTROL_FLOW = V1_LOOPS | SWITCH | MERGE
# TensorFlow makes them outside of any control flow context, and adds them to one later.
MADE_OUTSIDE_CONTEXTS = ENTER | {"ControlTrigger"}
# What a gradient keeps of each iteration of a loop, and loops of their own elements. Each is state
# of one step.
STACKS = frozenset({"Stack", "StackV2"})
TENSOR_ARRAYS = frozenset({"TensorArray", "TensorArrayV2", "TensorArrayV3"})
TENSOR_ARRAY_GRADIENTS = frozenset(
    {"TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3", "TensorArrayGradWithShape"}
)
STEP_STATE = STACKS | TENSOR_ARRAYS | TENSOR_ARRAY_GRADIENTS
# They hold tensors of one dtype and shape, which their handle has.
HOLDERS_OF_SHAPED_TENSORS = _types(
    "EmptyTensorList TensorArrayGradV3 TensorArrayV3 TensorListFromTensor TensorListReserve",
    "AnonymousMutableDenseHashTable AnonymousMutableHashTable AnonymousMutableHashTableOfTensors",
    "HashTableV2 MutableDenseHashTableV2 MutableHashTableOfTensorsV2 MutableHashTableV2",
)
# They give the list of their first input with other tensors.
LIST_FORWARDING = frozenset({"TensorListPopBack", "TensorListPushBack", "TensorListSetItem"})
# They write tensors into a TensorArray: the input with these, and which of its dimensions is the
# first of an element.
TENSOR_ARRAY_WRITES = {"TensorArrayScatterV3": (2, 1), "TensorArrayWriteV3": (2, 0)}
# They fill a stack or a TensorArray.
STEP_STATE_WRITES = _types(
    "StackPush StackPushV2 TensorArrayWrite TensorArrayWriteV2 TensorArrayWriteV3",
    "TensorArrayScatter TensorArrayScatterV2 TensorArrayScatterV3 TensorArrayUnpack",
    "TensorArraySplit TensorArraySplitV2 TensorArraySplitV3",
)

# Functional control flow and calls: ops whose attributes name functions

WHILE_LOOPS = frozenset({"While", "StatelessWhile"})
# No public function of TensorFlow makes a _While; the drawing shows it as a loop, and no edit looks
# into it.
DRAWN_AS_LOOPS = WHILE_LOOPS | {"_While"}
IFS = frozenset({"If", "StatelessIf"})
CASES = frozenset({"Case", "StatelessCase"})
BRANCHES = IFS | CASES
FUNCTIONAL_CONTROL_FLOW = WHILE_LOOPS | BRANCHES
# Their inputs are the arguments of the function in attribute `f`, their outputs its results.
FUNCTION_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# They run the function on another device, and have an input more, which names that.
REMOTE_CALLS = frozenset({"RemoteCall", "TPUPartitionedCall"})

# Ops that give an input unchanged

# They differ from each other in how far one may follow a tensor back through them:
# to the same tensor under another name, whatever it is;
IDENTITY = frozenset({"Identity", "RefIdentity"})
# to the one input that each of their outputs is, also into a loop or a branch;
FIRST_INPUT_FORWARDING = IDENTITY | ENTER | SWITCH
# to state that one of their inputs refers to; not out of loops, since what an Exit gives was
# computed in the loop. A lock refers to its mutex;
STATE_FORWARDING = FIRST_INPUT_FORWARDING | MERGE | {"MutexLock"}
# all around loops and branches, as the flow of a TensorArray goes and a value goes that takes a
# reference's place;
V1_FORWARDING = FIRST_INPUT_FORWARDING | MERGE | EXIT | NEXT
# from output k to input k; a loop does so only for what its body does not change;
PORTWISE_FORWARDING = WHILE_LOOPS | {"IdentityN"}
# to a vector of sizes, whose numbers stay the same in another dtype;
SIZE_FORWARDING = IDENTITY | ENTER | {"Cast", "Snapshot", "StopGradient"}
# to a seed: tf.data replaces the pair 0, 0 by another.
SEED_FORWARDING = frozenset(
    {"Identity", "Select", "SelectV2", "Equal", "LogicalAnd", "Cast", "Pack", "ConcatV2"}
)

# Arithmetic

# They give the same whatever the order of their inputs; patterns try each.
COMMUTATIVE = _types(
    "Add AddV2 AddN AccumulateNV2 Mul Maximum Minimum SquaredDifference Equal NotEqual",
    "ApproximateEqual LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor",
)

# Each takes the inputs of the others of its group, so that it is proposed in their place; the usual
# ones come first.
INTERCHANGEABLE = (
    ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign", "Sigmoid", "Tanh"),
    ("Softmax", "LogSoftmax"),
    ("MaxPool", "AvgPool"),
    ("MaxPool3D", "AvgPool3D"),
    ("AddV2", "Add", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv"),
    ("Mean", "Sum", "Max", "Min", "Prod"),
    ("ArgMax", "ArgMin"),
    ("Sqrt", "Rsqrt", "Square", "Exp", "Log", "Log1p", "Abs", "Neg"),
    ("Sin", "Cos", "Tan"),
    ("Floor", "Ceil", "Round", "Rint"),
    ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"),
    ("LogicalAnd", "LogicalOr"),
    ("Identity", "StopGradient"),
)

# Shapes

# Their values are known from the static shape of their input.
SHAPE_QUERIES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
CONCATS = frozenset({"Concat", "ConcatV2"})
# They scale images to a size that is their second input.
IMAGE_SCALINGS = frozenset(
    {"ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"}
)
# They put a vector of sizes together from parts; if one part is known, TensorFlow knows something
# of the vector.
SIZE_VECTORS = CONCATS | {"Pack"}
# They join the slices of a partitioned variable, or cast them to the dtype of a layer of mixed
# precision.
VARIABLE_ASSEMBLY = CONCATS | {"Cast"}
# Ops between a tensor's shape and an input that another op takes as a shape, as in `tf.shape(x)[0]
# * 2`.
SHAPE_ARITHMETIC = _types(
    "Add AddV2 BroadcastArgs BroadcastGradientArgs Cast Ceil Concat ConcatOffset ConcatV2 Div",
    "DynamicStitch Equal ExpandDims Fill Floor FloorDiv FloorMod Gather GatherV2 Greater",
    "GreaterEqual Identity InvertPermutation Less LessEqual LogicalAnd LogicalNot LogicalOr Max",
    "Maximum Min Minimum Mod Mul Neg NotEqual OnesLike Pack Prod Range RealDiv Reshape Select",
    "SelectV2 Slice Split SplitV Squeeze StridedSlice Sub Sum Tile Transpose TruncateDiv Unpack",
    "ZerosLike",
)
# Their inputs have the same sizes, up to broadcasting and to the axis that a concatenation joins.
EQUAL_SIZES = _types(
    "Add AddN AddV2 Concat ConcatV2 Div DivNoNan Equal FloorDiv FloorMod Greater GreaterEqual Less",
    "LessEqual LogicalAnd LogicalOr Maximum Minimum Mul NotEqual Pack Pow RealDiv Select SelectV2",
    "SquaredDifference Sub",
    # gradients of activations
    "EluGrad InvGrad LeakyReluGrad ReciprocalGrad Relu6Grad ReluGrad RsqrtGrad SeluGrad",
    "SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad TanhGrad",
)
SUMS_OF_DIMENSIONS = frozenset({"Mean", "Sum"})
# They copy a tensor along some of its dimensions.
COPIES = frozenset({"BroadcastTo", "Tile"})
# Gradients whose first input is the shape of what their layer reads.
SHAPED_GRADIENTS = frozenset({"AvgPoolGrad", "AvgPool3DGrad", "StridedSliceGrad"})
# None of which takes one row for all.
WITHOUT_BROADCAST = _types("AddN Concat ConcatV2 Pack Select")
# Their output has as many dimensions as their first input.
RANK_PRESERVING = IDENTITY | _types(
    "Abs Cast Elu EnsureShape Exp LeakyRelu Log MirrorPad Neg Pad PadV2 PlaceholderWithDefault",
    "Relu Relu6 ReverseV2 Rsqrt Selu Sigmoid Snapshot Softplus Sqrt Square StopGradient Tanh",
)
# Their output has as many dimensions as the input that has more of them.
BROADCASTING = _types("Add AddV2 Div Maximum Minimum Mul Pow RealDiv SquaredDifference Sub")
# Their output has the sizes of their input at other positions, with some 1s more or less.
AXIS_CHANGES = frozenset({"ExpandDims", "Reshape", "Squeeze", "StridedSlice", "Transpose"})
# Their output has elements of their inputs and no others: a number that a half float does not have
# is in it, too.
ELEMENT_CARRIERS = (
    V1_FORWARDING | HANDS_ON | AXIS_CHANGES | {"BroadcastTo", "Select", "SelectV2", "Tile"}
)

# Layers

SUMS = frozenset({"Add", "AddV2"})
# Of two in a row with constants an optimizer makes one.
JOINED_BY_OPTIMIZERS = (SUMS | {"Sub", "BiasAdd"}, DIVISIONS | {"Mul"})
CHOOSE_NUMBERS = _types(
    "Cast Identity Select SelectV2 Maximum Minimum StridedSlice Slice Reshape ExpandDims Squeeze",
    "Pack ConcatV2",
)
"""Op types whose numbers are some of those that they read."""
ADD_NUMBERS = SUMS | {"Sub", "Range"}
"""Op types whose numbers are sums or differences of those that they read, with one at most."""
# The contributions to one gradient come together in them.
GRADIENT_SUMS = SUMS | IDENTITY | {"AddN"}
# Their derivative is zero, or there is none.
WITHOUT_GRADIENT = SHAPE_QUERIES | _types(
    "StopGradient ZerosLike OnesLike Sign Floor Ceil Round Rint"
)
# They give their first input on, and its gradient.
SAME_GRADIENT = IDENTITY | {
    "Snapshot",
    "CheckNumerics",
    "CheckNumericsV2",
    "PreventGradient",
    "Print",
}
# What arrives as their gradient can be that of each input, as it is.
HANDS_GRADIENT_ON = SAME_GRADIENT | GRADIENT_SUMS | {"Add", "AddV2", "Sub", "BiasAdd"}
# A batch normalization multiplies their outputs by channel, so it can be folded into their weights.
FOLDABLE_LAYERS = frozenset({"Conv2D", "Conv3D", "DepthwiseConv2dNative", "MatMul"})
# The op of a layer that does its main work; there is one for each layer.
LAYER_KERNELS = FOLDABLE_LAYERS | {"Conv2DBackpropInput", "BatchMatMulV2", "Einsum", "Conv"}
FUSED_BATCH_NORMS = frozenset({"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
# TensorFlow's registry of FLOPs does not have them.
BATCH_MATMULS = frozenset({"BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"})
# The op that does the work of a fused op: TensorFlow's optimizer joins it with the bias and the
# activation after it.
FUSION_ROOTS = FOLDABLE_LAYERS | BATCH_MATMULS | FUSED_BATCH_NORMS

# Dropout

# They choose which elements a dropout keeps, in its own scope, whatever that is called.
DROPOUT_MASKS = frozenset({"GreaterEqual", "Floor"})

# Sizes

# They take entries of a vector of sizes, which constants number.
GATHERS = frozenset({"Gather", "GatherV2"})
# They read some rows of a tensor.
ROW_READERS = GATHERS | {"GatherNd", "Slice", "StridedSlice"}
SEGMENT_REDUCTIONS = _types(
    "SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum UnsortedSegmentMax",
    "UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum",
)

# Half precision

# They overflow, or lose digits, with 16-bit floats: softmax, losses, exponentials, sums of many
# terms, squares, the statistics of batch normalizations, and the thresholds and boxes of detectors.
FLOAT32_OPS = _types(
    "Softmax LogSoftmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits CTCLoss",
    "CTCLossV2 L2Loss Exp Expm1 Log Log1p Pow Sqrt Rsqrt RsqrtGrad SqrtGrad Reciprocal Square",
    "SquaredDifference Sum Mean Prod Cumsum Cumprod CumulativeLogsumexp EuclideanNorm",
    "FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3",
    "BatchNormWithGlobalNormalization NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3",
    "NonMaxSuppressionV4 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps",
    "CombinedNonMaxSuppression GenerateBoundingBoxProposals CropAndResize Lgamma Digamma Erfinv",
    "Ndtri SegmentSum UnsortedSegmentSum Range Fill",
)
# They have a kernel for float32 on the CPU and none for the dtype, in TensorFlow 2.21.
NO_HALF_KERNELS = {
    "float16": _types(
        "AdjustContrastv2 AdjustHue AdjustSaturation ApproximateEqual AvgPool3D AvgPool3DGrad",
        "BandedTriangularSolve BatchMatMulV3 Cholesky CholeskyGrad Dawsn DecodePaddedRaw Erfinv",
        "Expint FresnelCos FresnelSin Igamma Igammac LinSpace LogMatrixDeterminant Lu",
        "MatrixDeterminant MatrixExponential MatrixSolve MatrixSolveLs MatrixSquareRoot",
        "MatrixTriangularSolve MaxPool3D MaxPool3DGrad MaxPool3DGradGrad Mod Ndtri",
        "QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3",
        "QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad Rint SelfAdjointEig SelfAdjointEigV2",
        "SparseAdd SparseAddGrad SparseMatrixMatMul Spence Svd TruncateMod",
    ),
    "bfloat16": _types(
        "ApproximateEqual BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad",
        "BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1",
        "BesselK1e BesselY0 BesselY1 Dawsn Diag DiagPart Digamma Erfinv Expint FresnelCos",
        "FresnelSin FusedBatchNormV3 Igamma Igammac LRN LRNGrad Lgamma LinSpace",
        "MatrixTriangularSolve Mod Ndtri QuantizeAndDequantize QuantizeAndDequantizeV2",
        "QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad RaggedRange",
        "Rint SparseAdd SparseAddGrad SparseMatrixMatMul Spence TruncateMod",
    ),
}

# Dtypes

# By number; tests/sources/test_tf_protos.py compares them with TensorFlow's.
DTYPE_NAMES = words(
    "invalid float32 float64 int32 uint8 int16 int8 string complex64 int64 bool qint8 quint8",
    "qint32 bfloat16 qint16 quint16 uint16 complex128 float16 resource variant uint32 uint64",
    "float8_e5m2 float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz float8_e5m2fnuz int4 uint4",
    "int2 uint2 float4_e2m1fn",
)
# Numbers of TensorFlow's enum DataType.
DT_INT32 = cast("DataType.ValueType", 3)
DT_BOOL = cast("DataType.ValueType", 10)
DT_RESOURCE = cast("DataType.ValueType", 20)
DT_VARIANT = cast("DataType.ValueType", 21)
# Tensors that refer to something which no array can hold: nothing can feed them, and Python cannot
# read them.
HANDLE_DTYPES = frozenset({"resource", "variant"})

# What an untrusted graph may do

# They give the next element of a dataset.
ITERATOR_READS = frozenset({"IteratorGetNext", "IteratorGetNextSync"})
# They hand the name of a file on, by their first input.
FILENAME_CARRIERS = frozenset({"ExpandDims", "Reshape", "ShardedFilename", "StopGradient"})
# The same for several files, or for one whose name has several parts.
FILENAME_COMBINERS = frozenset({"Pack", "ReadVariableOp", "StringJoin"})
# They take the handle of a variable and assign nothing to it.
VARIABLE_LOOKS = frozenset({"ReadVariableOp", "VarIsInitializedOp", "VariableShape"})
SELECTS = frozenset({"Select", "SelectV2"})
# Their shape depends on the values of numbers that may be floats.
RANGES = frozenset({"LinSpace", "Range"})
# Each letter of a text may become a text.
REGEX_REPLACEMENTS = frozenset({"RegexReplace", "StaticRegexReplace"})
# They join all texts of a tensor to one.
JOINS_OF_ALL = frozenset({"ReduceJoin", "UnsortedSegmentJoin"})
# What they give is as large as their input says, in a header or in code: a kilobyte may be
# gigabytes.
UNPACKING = _types(
    "DecodeAndCropJpeg DecodeBmp DecodeCompressed DecodeGif DecodeImage DecodeJpeg DecodePng",
    "DecodeProtoV2 DecodeWav DecodeWebP DeserializeSparse ParseTensor StringFormat",
)

# Usual changes, past which two graphs are matched

# They hand a value on as it is.
PASSED_ON = HANDS_ON | VARIABLE_READS | {"RefIdentity", "CheckNumerics"}
# They hand several values on as they are.
SEVERAL_HANDED_ON = frozenset({"IdentityN"})
# They hand a value on in another dtype.
CASTS = frozenset({"Cast", "Bitcast"})
# They have an attribute that says where the channels are.
WITH_DATA_FORMAT = _types(
    "AvgPool AvgPool3D BiasAdd Conv2D Conv2DBackpropInput Conv3D Conv3DBackpropInputV2",
    "DepthwiseConv2dNative MaxPool MaxPool3D",
)
TRANSPOSITIONS = frozenset({"Transpose", "ConjugateTranspose"})
# They hand a value on in another shape; optimizers compute those of constants.
RESHAPES = frozenset({"ExpandDims", "Reshape", "Squeeze"})
# The same of any tensor: one that is packed alone has a dimension more.
RESHAPES_OF_ANY = RESHAPES | {"Pack"}
# They scale or shift each channel by a weight: folding a batch norm leaves others in their place.
SCALES_AND_SHIFTS = FUSED_BATCH_NORMS | {
    *("BiasAdd", "BiasAddV1", "Add", "AddV2", "Sub", "Mul", "BatchNormWithGlobalNormalization")
}
# They give a number for each number, so optimizers move them past what only chooses or lines up.
ACTIVATIONS = frozenset(INTERCHANGEABLE[0])
# An optimizer makes each of a batch norm and the activation after it.
NORMS_WITH_ACTIVATION = frozenset({"_FusedBatchNormEx"})
# They add a weight to each channel.
CHANNEL_SHIFTS = frozenset({"BiasAdd", "BiasAddV1", "Add", "AddV2"})
# They hand on what a call gives, or wait for what it does, where it became its function's body.
IN_PLACE_OF_CALLS = IDENTITY | {"IdentityN", "NoOp"}
# A batch norm that is not fused takes one of the variance.
SQUARE_ROOTS = frozenset({"Rsqrt", "Sqrt"})

# Rounding

# Each of their outputs is a sum of products of two inputs.
CONTRACTIONS = BATCH_MATMULS | _types(
    "MatMul SparseTensorDenseMatMul Einsum XlaDotV2 _FusedMatMul _FusedConv2D Conv2D",
    "Conv2DBackpropFilter Conv2DBackpropInput DepthwiseConv2dNative",
    "DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput Conv3D",
    "Conv3DBackpropFilterV2 Conv3DBackpropInputV2",
)
# They sum over the last axis, and give as many elements as they take.
SUMS_OF_LAST_AXIS = frozenset({"LogSoftmax", "Softmax", "SoftmaxCrossEntropyWithLogits"})
# Their result may be much smaller than what it is computed from.
CANCELLING = frozenset(
    {"Add", "AddN", "AddV2", "BiasAdd", "Mean", "SquaredDifference", "Sub", "Sum"}
)
# They give some of the numbers that they read, or limit these: the scale shrinks, errors do not.
LIMITING = _types(
    "ClipByValue MaxPool Maximum Minimum Relu Relu6 Gather GatherV2 Slice Split SplitV",
    "StridedSlice Unpack",
)

# Tensor lists

EMPTY_LIST = "EmptyTensorList"
MAKES_TENSOR_LIST = frozenset({EMPTY_LIST, "TensorListFromTensor", "TensorListReserve"})
