"""The table of effects and what decides one: `python -m tests.graph.test_effects` prints lines for
new op types.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import descriptor_pb2
from tensorflow.compiler.mlir.stablehlo import stablehlo
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

from tests.graphs import build_mlp, build_shared_weights, build_while_loop
from tfgraphwidget.graph import (
    Effect,
    effect_of,
    effects,
    effects_by_type,
    node_effect,
    reason_of_effect,
    runs_at_import,
)
from tfgraphwidget.naming import words

v1 = tf.compat.v1
TABLE = Path(effects.__file__).with_name("op_effects.tsv")
READ = """
import sys
from tfgraphwidget.graph import Effect, effect_of, node_effect
assert effect_of("WriteFile") is Effect.WRITES_FILES
assert "tensorflow" not in sys.modules
"""
# Their OpDefs say is_stateful, so that no optimizer removes or joins them; they have no effect of
# their own.
STATEFUL_AND_PURE = {
    "Assert": "it raises an error, and has no output that could show that it ran",
    "Case": "it calls functions, and may call such as have effects",
    "CheckNumerics": "it raises an error",
    "CheckNumericsV2": "it raises an error",
    "GuaranteeConst": "it gives its input, of which it says that it never changes",
    "If": "it calls functions, and may call such as have effects",
    "RiscWhile": "it calls functions, and may call such as have effects",
    "StatefulPartitionedCall": "it calls a function, and may call one that has effects",
    "TPUAnnotateTensorsWithDynamicShape": "it only runs on the TPU, on its inputs alone",
    "TPUCompileSucceededAssert": "it raises an error",
    "TPUCopyWithDynamicShape": "it only runs on the TPU, on its inputs alone",
    "While": "it calls functions, and may call such as have effects",
    "XlaDequantize": "it only runs on the TPU, on its inputs alone",
    "XlaIf": "it calls functions, and may call such as have effects",
    "XlaLaunch": "it calls a function, and may call one that has effects",
    "XlaWhile": "it calls functions, and may call such as have effects",
    "_If": "it calls functions, and may call such as have effects",
    "_While": "it calls functions, and may call such as have effects",
}
HOSTILE = words(
    "Abort CacheDataset CreateSummaryFileWriter DataServiceDatasetV4 DatasetFromGraph",
    "DatasetToTFRecord DebugIdentity DebugIdentityV2 DebugNanCount DebugNumericSummary",
    "DistributedSave EagerPyFunc FileSystemSetConfiguration ImmutableConst",
    "InitializeTableFromTextFileV2 LoadAndRemapMatrix MatchingFiles MatchingFilesDataset",
    "MergeV2Checkpoints PrintV2 PyFunc PyFuncStateless QueueDequeueV2 QueueEnqueueV2 ReadFile",
    "ReaderReadV2 RecordInput RestoreV2 SaveDataset SaveDatasetV2 SaveV2 SnapshotDataset",
    "SqlDataset TextLineDataset WriteFile NoSuchOp",
)
# What saving and restoring adds to a model: it is asked for by who saves and restores, and is no
# part of a call.
CHECKPOINTS = {"SaveV2", "RestoreV2", "MergeV2Checkpoints"}


def registered() -> dict[str, op_def_pb2.OpDef]:
    """The OpDefs of the running TensorFlow, those with an underscore too."""
    serialized = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return {
        definition.name: definition for definition in op_def_pb2.OpList.FromString(serialized).op
    }


def lines() -> list[list[str]]:
    text = TABLE.read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def missing() -> list[str]:
    """Lines to complete by hand for the op types of the running TensorFlow that the table lacks."""
    known, found = effects_by_type(), registered()
    return [
        "\t".join(
            (op_type, "unknown", "", "" if found[op_type].is_stateful else "stateless")
        ).rstrip("\t")
        for op_type in sorted(set(found) - set(known))
    ]


# The table


def test_every_op_type_of_this_tensorflow_has_an_effect() -> None:
    lacking = "\n".join(missing())
    assert not lacking, (
        f"Sort into {TABLE.name}, each with its effect and why (read its kernel):\n{lacking}"
    )


def test_the_lines_are_sorted_and_each_is_one_op_type_with_a_known_effect() -> None:
    op_types = [line[0] for line in lines()]
    assert op_types == sorted(set(op_types))
    assert {line[1] for line in lines()} == {effect.value for effect in Effect}
    assert {len(line) for line in lines()} <= {2, 3, 4}
    assert {line[3] for line in lines() if len(line) == 4} == {"stateless"}


def test_each_effect_has_a_reason() -> None:
    assert [
        line[0] for line in lines() if line[1] != "pure" and not (len(line) > 2 and line[2])
    ] == []


def test_what_tensorflow_calls_stateful_is_pure_only_by_a_reasoned_exception() -> None:
    reasons = {line[0]: line[2] for line in lines() if len(line) > 2}
    assert {name for name, definition in registered().items() if definition.is_stateful} <= set(
        reasons
    )
    pure = {
        name
        for name, definition in registered().items()
        if definition.is_stateful and effect_of(name) == "pure"
    }
    assert pure == set(STATEFUL_AND_PURE)


def test_ops_on_references_change_or_hold_state_unless_they_hand_them_on() -> None:
    reads = {name for name, op in registered().items() if any(arg.is_ref for arg in op.input_arg)}
    pure = {name for name in reads if effect_of(name) is Effect.PURE}
    hands_on = {
        name
        for name in pure
        if name.startswith("Ref") or name in {"DebugGradientRefIdentity", "TwoRefsIn"}
    }
    assert pure == hands_on


def test_ops_with_the_name_of_a_file_in_an_input_or_an_attribute_are_not_pure() -> None:
    words = ("file", "path", "prefix", "directory", "address", "logdir", "url")
    named = {
        name
        for name, definition in registered().items()
        for argument in (
            *definition.input_arg,
            *(attr for attr in definition.attr if attr.type != "bool"),
        )
        if any(word in argument.name for word in words)
    }
    harmless = {name for name in named if not effect_of(name).is_dangerous}
    # They return several paths through a lattice, or put a prefix before the tag of a statistic.
    statistics = {"SetStatsAggregatorDataset", "ExperimentalSetStatsAggregatorDataset"}
    assert harmless == {"CTCBeamSearchDecoder", *statistics}


def test_dangerous_op_types_that_run_as_a_graph_is_imported_are_the_stateless_ones() -> None:
    for name, definition in registered().items():
        assert runs_at_import(name) >= (
            effect_of(name).is_dangerous and not definition.is_stateful
        ), name
        assert runs_at_import(name) <= effect_of(name).is_dangerous, name
    assert runs_at_import("NoSuchOp")


@pytest.mark.parametrize("op_type", HOSTILE)
def test_hostile_ops_are_dangerous(op_type: str) -> None:
    assert effect_of(op_type).is_dangerous
    assert len(reason_of_effect(op_type)) > 10


def test_the_table_is_read_without_tensorflow() -> None:
    subprocess.run([sys.executable, "-c", READ], check=True)


def test_the_table_is_read_in_a_moment() -> None:
    effects._table.cache_clear()
    start = time.perf_counter()
    effect_of("MatMul")
    assert time.perf_counter() - start < 0.1


# What decides the effect of one op


def run(op_type: str, tensor: tf.Tensor, **attributes: object) -> None:
    """Run an op of one input alone."""
    getattr(tf.raw_ops, op_type)(input=tensor, **attributes)


def first_element(dataset: tf.Tensor) -> None:
    """Run a dataset of one element to its end."""
    tensors = {"output_types": [tf.float32], "output_shapes": [[1]]}
    iterator = tf.raw_ops.AnonymousIteratorV3(**tensors)
    tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator)
    tf.raw_ops.IteratorGetNext(iterator=iterator, **tensors)
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.raw_ops.IteratorGetNext(iterator=iterator, **tensors)


def decided(op_type: str, *strings: bytes | None, **attributes: object) -> Effect:
    """The effect of an op with inputs of which some are constants of one string."""
    node = v1.NodeDef(op=op_type)
    for key, value in attributes.items():
        if isinstance(value, list):
            node.attr[key].list.s.extend(each.encode() for each in value)
        else:
            node.attr[key].s = str(value).encode()
    constants = [None if string is None else [string] for string in strings]
    return node_effect(node, lambda k: constants[k])


def no_constants(_: int) -> None:
    """No input is a constant."""


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("stream", ["stdout", "stderr", "log(info)", "log(warning)", "log(error)"])
def test_a_print_to_a_stream_of_the_process_is_harmless(tmp_path: Path, stream: str) -> None:
    assert decided("PrintV2", output_stream=stream) is decided("PrintV2") is Effect.OWN_STATE
    run("PrintV2", tf.constant("printed"), output_stream=stream)
    assert files_in(tmp_path) == []


def test_a_print_to_a_file_writes_it(tmp_path: Path) -> None:
    stream = f"file://{tmp_path}/printed"
    assert decided("PrintV2", output_stream=stream) is Effect.WRITES_FILES
    run("PrintV2", tf.constant("printed"), output_stream=stream)
    assert files_in(tmp_path) == [tmp_path / "printed"]


DEBUG_OPS: dict[str, dict[str, object]] = {
    "DebugIdentity": {"tensor_name": "t:0"},
    "DebugIdentityV2": {
        "tfdbg_context_id": "c",
        "op_name": "o",
        "output_slot": 0,
        "tensor_debug_mode": 2,
    },
    "DebugIdentityV3": {"tensor_name": "t:0", "io_of_node": "n", "is_input": True, "io_index": 0},
    "DebugNanCount": {"tensor_name": "t:0"},
    "DebugNumericSummary": {"tensor_name": "t:0"},
}


@pytest.mark.parametrize("op_type", DEBUG_OPS)
def test_a_debug_op_writes_files_only_where_a_url_says_so(tmp_path: Path, op_type: str) -> None:
    assert decided(op_type) is decided(op_type, debug_urls=[]) is Effect.OWN_STATE
    run(op_type, tf.constant([1.0]), debug_urls=[], **DEBUG_OPS[op_type])
    assert files_in(tmp_path) == []
    urls = [f"file://{tmp_path}/dump"]
    assert decided(op_type, debug_urls=urls) is Effect.WRITES_FILES
    run(op_type, tf.constant([1.0]), debug_urls=urls, **DEBUG_OPS[op_type])
    assert files_in(tmp_path)


def test_a_debug_op_sends_to_servers_and_needs_callbacks(tmp_path: Path) -> None:
    assert decided("DebugIdentity", debug_urls=["grpc://localhost:1"]) is Effect.NETWORK
    assert (
        decided("DebugIdentity", debug_urls=["GRPC://localhost:1", f"file://{tmp_path}"])
        is Effect.WRITES_FILES
    )
    assert decided("DebugIdentity", debug_urls=["memcbk://none"]) is Effect.ENDS_PROCESS
    assert decided("DebugIdentity", debug_urls=["another://scheme"]).is_dangerous


ENDS_PROCESS = {
    "DebugIdentity": """
tf.raw_ops.DebugIdentity(input=[1.0], tensor_name="t:0", debug_urls=["memcbk://none"])
""",
    "_XlaRun": """
with tf.Graph().as_default() as graph:
    tf.constant("none", name="key")
definition = graph.as_graph_def()
definition.node.add(name="run", op="_XlaRun", input=["key"]).attr["Tresults"].list.type.append(1)
definition.node[-1].attr["Targs"].list.SetInParent()
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    tf.import_graph_def(definition, name="")
    session.run("run:0")
""",
}


@pytest.mark.parametrize("op_type", ENDS_PROCESS)
def test_an_op_without_the_callback_or_the_program_that_it_names_ends_the_process(
    op_type: str, warm_python: list[str]
) -> None:
    code = (
        "import tensorflow as tf\nprint('before', "
        f"flush=True)\n{ENDS_PROCESS[op_type]}\nprint('behind')"
    )
    ended = subprocess.run([*warm_python, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode < 0, ended.stderr
    assert ended.stdout == "before\n"
    assert effect_of(op_type).is_dangerous


@pytest.mark.parametrize("op_type", ["CacheDataset", "CacheDatasetV2"])
def test_a_cache_in_memory_is_harmless(tmp_path: Path, op_type: str) -> None:
    more = [tf.raw_ops.DummyMemoryCache()] if op_type == "CacheDatasetV2" else []
    for filename, effect in ("", Effect.OWN_STATE), (f"{tmp_path}/cache", Effect.WRITES_FILES):
        assert decided(op_type, None, filename.encode(), None) is effect
        source = tf.raw_ops.TensorDataset(components=[tf.constant([1.0])], output_shapes=[[1]])
        make, names = getattr(tf.raw_ops, op_type), ("input_dataset", "filename", "cache")
        inputs = dict(zip(names, [source, tf.constant(filename), *more], strict=False))
        first_element(make(**inputs, output_types=[tf.float32], output_shapes=[[1]]))
        assert bool(files_in(tmp_path)) == effect.is_dangerous
    assert decided(op_type, None, None, None) is Effect.WRITES_FILES


def test_messages_are_read_from_a_file_that_the_source_names(tmp_path: Path) -> None:
    file = descriptor_pb2.FileDescriptorSet(
        file=[descriptor_pb2.FileDescriptorProto(name="m.proto", package="m")]
    )
    file.file[0].message_type.add(name="Message").field.add(
        name="number", number=1, type=5, label=1
    )
    (tmp_path / "messages").write_bytes(file.SerializeToString())
    sources = {
        f"{tmp_path}/messages": Effect.READS_FILES,
        b"bytes://" + file.SerializeToString(): Effect.PURE,
    }
    for source, effect in sources.items():
        node = v1.NodeDef(op="DecodeProtoV2")
        node.attr["descriptor_source"].s = source if isinstance(source, bytes) else source.encode()
        assert node_effect(node, no_constants) is effect
        fields = {
            "message_type": "m.Message",
            "field_names": ["number"],
            "output_types": [tf.int32],
        }
        values = tf.raw_ops.DecodeProtoV2(
            bytes=[b"\x08\x07"], descriptor_source=source, **fields
        ).values
        assert values[0].numpy().item() == 7
    for op_type in "DecodeProtoV2", "EncodeProto":
        assert decided(op_type) is decided(op_type, descriptor_source="local://") is Effect.PURE
        assert decided(op_type, descriptor_source="") is Effect.PURE
        assert decided(op_type, descriptor_source="/messages") is Effect.READS_FILES
    with pytest.raises(tf.errors.InvalidArgumentError, match="Source does not represent"):
        tf.raw_ops.EncodeProto(
            sizes=[[1]], values=[[[7]]], descriptor_source=f"{tmp_path}/none", **ENCODED
        )


ENCODED = {"message_type": "m.Message", "field_names": ["number"]}


def test_a_sampler_reads_its_probabilities_from_a_file_that_it_names(tmp_path: Path) -> None:
    def draw(**attributes: object) -> None:
        fixed = {"num_true": 1, "num_sampled": 1, "unique": True, "range_max": 2}
        tf.raw_ops.FixedUnigramCandidateSampler(
            true_classes=np.zeros((1, 1), np.int64), **fixed, **attributes
        )

    assert decided("FixedUnigramCandidateSampler") is Effect.RANDOM
    assert decided("FixedUnigramCandidateSampler", vocab_file="") is Effect.RANDOM
    draw(vocab_file="", unigrams=[1.0, 2.0])
    assert decided("FixedUnigramCandidateSampler", vocab_file="words") is Effect.READS_FILES
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        draw(vocab_file=f"{tmp_path}/none")


MODULE = """func.func public @main(%a: tensor<f32>) -> tensor<f32> {{
  %b = {} : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}}"""
TARGET = '(%a) {call_target_name = "system", api_version = 1 : i32}'


def run_module(module: str | bytes) -> float:
    types = {"Tout": [tf.float32], "Sout": [[]], "platforms": ["CPU"]}
    return float(
        gen_xla_ops.xla_call_module([3.0], version=5, module=module, dim_args_spec=[], **types)[0]
    )


def bytecode(text: str) -> bytes:
    """A module as JAX exports it."""
    if hasattr(stablehlo, "serialize_portable_artifact_str"):
        return stablehlo.serialize_portable_artifact_str(text, "1.0.0")
    return stablehlo.serialize_portable_artifact(text, "0.17.0")  # TensorFlow 2.16


def module_effect(module: bytes) -> Effect:
    node = v1.NodeDef(op="XlaCallModule")
    node.attr["module"].s = module
    return node_effect(node, no_constants)


def test_a_module_that_only_computes_is_harmless() -> None:
    module = bytecode(MODULE.format('"stablehlo.negate"(%a)'))
    assert run_module(module) == -3
    assert not module_effect(module).is_dangerous


def test_a_module_that_calls_a_c_function_by_name_is_dangerous_however_the_call_is_written() -> (
    None
):
    text = MODULE.format('"stablehlo.custom_call"' + TARGET)
    escaped = text.replace("custom_call", "custom\\5Fcall")
    for module in bytecode(text), text.encode(), escaped.encode():
        assert module_effect(module) is effect_of("XlaCallModule") is Effect.UNKNOWN
        with pytest.raises(tf.errors.NotFoundError, match="custom call to system"):
            run_module(module)


@pytest.mark.parametrize(
    ("op_type", "key"),
    [
        *(
            ("PrintV2", "output_stream"),
            ("DebugIdentity", "debug_urls"),
            ("DecodeProtoV2", "descriptor_source"),
        ),
        *(("FixedUnigramCandidateSampler", "vocab_file"), ("XlaCallModule", "module")),
    ],
)
def test_what_the_caller_of_a_function_decides_is_dangerous(op_type: str, key: str) -> None:
    node = v1.NodeDef(op=op_type)
    node.attr[key].placeholder = "given_by_the_caller"
    assert node_effect(node, no_constants) is effect_of(op_type)
    assert effect_of(op_type).is_dangerous


# What TensorFlow does with them


def test_an_import_runs_a_debug_op_whose_output_is_a_shape(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        sizes = tf.identity(tf.constant([2, 3]), name="sizes")
        tf.reshape(v1.placeholder(tf.float32), sizes)
    definition = graph.as_graph_def()
    for node in definition.node:
        if node.name == "sizes":
            node.op = "DebugIdentity"
            node.attr["tensor_name"].s = b"t:0"
            node.attr["debug_urls"].list.s.append(f"file://{tmp_path}/dump".encode())
    assert runs_at_import("DebugIdentity")
    with tf.Graph().as_default():
        tf.import_graph_def(definition)
    assert files_in(tmp_path)


def test_a_dataset_from_a_graph_runs_the_ops_that_its_input_holds(tmp_path: Path) -> None:
    source = tf.raw_ops.TensorDataset(components=[tf.constant([1.0])], output_shapes=[[1]])
    definition = v1.GraphDef.FromString(tf.raw_ops.DatasetToGraphV2(input_dataset=source).numpy())
    with tf.Graph().as_default() as graph:
        tf.io.write_file(f"{tmp_path}/written", "text")
    definition.node.extend(graph.as_graph_def().node)
    dataset = next(node for node in definition.node if node.op == "TensorDataset")
    dataset.input.append("^WriteFile")
    assert effect_of("DatasetFromGraph") is Effect.UNKNOWN
    assert runs_at_import("DatasetFromGraph")
    tf.raw_ops.DatasetFromGraph(graph_def=definition.SerializeToString())
    assert files_in(tmp_path) == [tmp_path / "written"]


def test_a_query_of_a_dataset_makes_a_database(tmp_path: Path) -> None:
    assert effect_of("SqlDataset") is Effect.WRITES_FILES
    list(tf.data.experimental.SqlDataset("sqlite", f"{tmp_path}/new", "select 1", (tf.int64,)))
    assert files_in(tmp_path) == [tmp_path / "new"]


# Ordinary models


def types_in(graph: v1.GraphDef) -> set[str]:
    own = {node.op for node in graph.node}
    bodies = {node.op for function in graph.library.function for node in function.node_def}
    return (own | bodies) - {function.signature.name for function in graph.library.function}


def models() -> Iterator[tuple[str, tf.keras.Model, tuple[int, ...]]]:
    layers = tf.keras.layers
    yield (
        "convolutions",
        tf.keras.Sequential(
            [
                *(
                    layers.Input((8, 8, 3)),
                    layers.Conv2D(4, 3),
                    layers.BatchNormalization(),
                    layers.ReLU(),
                ),
                *(
                    layers.DepthwiseConv2D(3),
                    layers.MaxPooling2D(),
                    layers.Dropout(0.5),
                    layers.Flatten(),
                ),
                layers.Dense(2, activation="softmax"),
            ]
        ),
        (4, 8, 8, 3),
    )
    recurrent = [
        layers.Input((5, 3)),
        layers.LSTM(4, return_sequences=True),
        layers.Bidirectional(layers.GRU(4)),
    ]
    yield "recurrent", tf.keras.Sequential([*recurrent, layers.Dense(2)]), (4, 5, 3)
    x = tf.keras.Input((5, 4))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x))
    yield (
        "attention",
        tf.keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y))),
        (4, 5, 4),
    )


@pytest.fixture
def own_layer_names() -> Iterator[None]:
    """Keras numbers the names of layers through the process; who comes later finds the numbers as
    if none were made.
    """
    yield
    tf.keras.backend.clear_session()


@pytest.mark.usefixtures("own_layer_names")
def test_ordinary_models_have_no_dangerous_ops_when_they_run_or_train() -> None:
    for name, model, shape in models():
        optimizer = tf.keras.optimizers.Adam()
        optimizer.build(model.trainable_variables)

        @tf.function
        def train(
            x: tf.Tensor, model: tf.keras.Model = model, optimizer: tf.keras.Optimizer = optimizer
        ) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True)))
            optimizer.apply(
                tape.gradient(loss, model.trainable_variables), model.trainable_variables
            )
            return loss

        for function in tf.function(model), train:
            graph = function.get_concrete_function(tf.TensorSpec(shape)).graph.as_graph_def()
            assert {
                op_type for op_type in types_in(graph) if effect_of(op_type).is_dangerous
            } == set(), name


@pytest.mark.parametrize(
    "build", [lambda: build_mlp(resource=False), build_shared_weights, build_while_loop]
)
def test_graphs_of_tensorflow_1_have_no_dangerous_ops_but_those_of_checkpoints(
    build: Callable[[], tf.Graph],
) -> None:
    graph = build()
    with graph.as_default():
        if v1.trainable_variables():
            v1.train.AdamOptimizer().minimize(
                tf.add_n([tf.nn.l2_loss(each) for each in v1.trainable_variables()])
            )
            v1.train.Saver()
        v1.global_variables_initializer()
    dangerous = {
        op_type for op_type in types_in(graph.as_graph_def()) if effect_of(op_type).is_dangerous
    }
    assert dangerous <= CHECKPOINTS


def test_a_table_of_constants_has_no_dangerous_ops() -> None:
    with tf.Graph().as_default() as graph:
        entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        tf.lookup.StaticHashTable(entries, 0).lookup(tf.constant(["a", "c"]))
    assert not any(effect_of(op_type).is_dangerous for op_type in types_in(graph.as_graph_def()))


if __name__ == "__main__":
    print(
        "\n".join(missing())
        or f"{TABLE.name} knows all {len(registered())} op types of TensorFlow {tf.__version__}."
    )
