"""Ops with real effects, one for each kind of danger that the table of effects knows.

Each builder adds ops to the default graph and returns the ops that have to run for the effect. That
a plain session has it then is tested, so that none of them is harmless by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tests.untrusted.canary import NETWORK, PYTHON, READS, WRITES, Canary

r, v1 = tf.raw_ops, tf.compat.v1
WAITS, ENDS = "waits", "ends the process"
Built = Sequence[tf.Operation | tf.Tensor]


class Hostile(NamedTuple):
    """How to build ops, and what running them does to the canary."""

    build: Callable[[Canary], Built]
    effect: str


HOSTILE: dict[str, Hostile] = {}


def hostile(
    name: str, effect: str
) -> Callable[[Callable[[Canary], Built]], Callable[[Canary], Built]]:
    """Register a builder under the name of its op type."""

    def register(build: Callable[[Canary], Built]) -> Callable[[Canary], Built]:
        HOSTILE[name] = Hostile(build, effect)
        return build

    return register


NUMBERS: dict[str, Any] = {"output_types": [tf.float32], "output_shapes": [[2]]}
TEXTS: dict[str, Any] = {"output_types": [tf.string], "output_shapes": [[]]}


def long(*values: int) -> tf.Tensor:
    """A constant of int64."""
    return tf.constant(values[0] if len(values) == 1 else values, tf.int64)


def pairs() -> tf.Tensor:
    """A dataset of one element of two numbers."""
    return r.TensorDataset(components=[tf.constant([1.0, 2.0])], output_shapes=[[2]])


def words() -> tf.Tensor:
    """A dataset of two texts."""
    return r.TensorSliceDataset(components=[tf.constant(["a", "b"])], output_shapes=[[]])


def elements(dataset: tf.Tensor, structure: dict[str, Any] = TEXTS) -> list[tf.Tensor]:
    """The first elements of a dataset: all that it has when that is one."""
    iterator = r.AnonymousIteratorV3(**structure)
    made = r.MakeIterator(dataset=dataset, iterator=iterator)
    with tf.control_dependencies([made]):
        first = r.IteratorGetNext(iterator=iterator, **structure)
    with tf.control_dependencies(first):
        return [*first, r.IteratorGetNextAsOptional(iterator=iterator, **structure)]


def function_of(call: Callable[[Any], Any], shape: Sequence[int] = (2,)) -> Any:
    """A function of one tensor of numbers."""
    return tf.function(call, autograph=False).get_concrete_function(tf.TensorSpec(shape))


def shards() -> dict[str, Any]:
    return {
        "shard_func": function_of(lambda _: long(0)),
        "shard_func_other_args": [],
        "compression": "",
    }


# Writes files


@hostile("PrintV2", WRITES)
def print_to_file(canary: Canary) -> Built:
    return [
        r.PrintV2(input=tf.constant("printed"), output_stream=f"file://{canary.written}/printed")
    ]


@hostile("WriteFile", WRITES)
def write_file(canary: Canary) -> Built:
    return [r.WriteFile(filename=str(canary.written / "file"), contents="written")]


@hostile("SaveV2", WRITES)
def save_checkpoint(canary: Canary) -> Built:
    path = str(canary.written / "checkpoint")
    return [
        r.SaveV2(prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[tf.constant(1.0)])
    ]


@hostile("Save", WRITES)
def save_old_checkpoint(canary: Canary) -> Built:
    return [
        r.Save(filename=str(canary.written / "old"), tensor_names=["a"], data=[tf.constant(1.0)])
    ]


@hostile("SaveSlices", WRITES)
def save_slices(canary: Canary) -> Built:
    data = [tf.constant([1.0])]
    return [
        r.SaveSlices(
            filename=str(canary.written / "slices"),
            tensor_names=["a"],
            shapes_and_slices=[""],
            data=data,
        )
    ]


@hostile("MergeV2Checkpoints", WRITES)
def merge_checkpoints(canary: Canary) -> Built:
    merged = str(canary.written / "merged")
    return [
        r.MergeV2Checkpoints(
            checkpoint_prefixes=[str(canary.checkpoint)], destination_prefix=merged
        )
    ]


@hostile("DatasetToTFRecord", WRITES)
def write_records(canary: Canary) -> Built:
    path = str(canary.written / "records")
    return [r.DatasetToTFRecord(input_dataset=words(), filename=path, compression_type="")]


@hostile("ExperimentalDatasetToTFRecord", WRITES)
def write_records_by_the_old_op(canary: Canary) -> Built:
    path = str(canary.written / "records")
    return [
        r.ExperimentalDatasetToTFRecord(input_dataset=words(), filename=path, compression_type="")
    ]


@hostile("SaveDataset", WRITES)
def save_dataset(canary: Canary) -> Built:
    return [r.SaveDataset(input_dataset=pairs(), path=str(canary.written / "dataset"), **shards())]


@hostile("SaveDatasetV2", WRITES)
def save_dataset_as_it_is_read(canary: Canary) -> Built:
    path = str(canary.written / "dataset")
    return elements(
        r.SaveDatasetV2(input_dataset=pairs(), path=path, **NUMBERS, **shards()), NUMBERS
    )


@hostile("SnapshotDataset", WRITES)
def write_snapshot(canary: Canary) -> Built:
    return elements(
        r.SnapshotDataset(input_dataset=pairs(), path=str(canary.written / "snapshot"), **NUMBERS),
        NUMBERS,
    )


@hostile("SnapshotDatasetV2", WRITES)
def write_snapshot_of_today(canary: Canary) -> Built:
    reader = tf.function(lambda datasets: datasets, autograph=False)
    snapshot = r.SnapshotDatasetV2(
        input_dataset=pairs(),
        path=str(canary.written / "snapshot"),
        reader_func_other_args=[],
        shard_func_other_args=[],
        reader_func=reader.get_concrete_function(tf.TensorSpec([], tf.variant)),
        shard_func=function_of(lambda _: long(0)),
        **NUMBERS,
    )
    return elements(snapshot, NUMBERS)


@hostile("CacheDataset", WRITES)
def cache_to_file(canary: Canary) -> Built:
    return elements(
        r.CacheDataset(input_dataset=pairs(), filename=str(canary.written / "cache"), **NUMBERS),
        NUMBERS,
    )


@hostile("CacheDatasetV2", WRITES)
def cache_to_file_of_today(canary: Canary) -> Built:
    path = str(canary.written / "cache")
    cached = r.CacheDatasetV2(
        input_dataset=pairs(), filename=path, cache=r.DummyMemoryCache(), **NUMBERS
    )
    return elements(cached, NUMBERS)


@hostile("SqlDataset", WRITES)
def make_database(canary: Canary) -> Built:
    query = "CREATE TABLE made (name TEXT)"
    return elements(
        r.SqlDataset(
            driver_name="sqlite",
            data_source_name=str(canary.written / "database"),
            query=query,
            **TEXTS,
        )
    )


@hostile("DebugIdentity", WRITES)
def debug_to_file(canary: Canary) -> Built:
    urls = [f"file://{canary.written}/debug"]
    return [
        r.DebugIdentity(input=tf.ones([2]), device_name="d", tensor_name="a:0", debug_urls=urls)
    ]


@hostile("DebugIdentityV2", WRITES)
def debug_to_file_of_today(canary: Canary) -> Built:
    urls = [f"file://{canary.written}/debug"]
    return [
        r.DebugIdentityV2(
            input=tf.ones([2]), tensor_debug_mode=2, debug_urls=urls, circular_buffer_size=0
        )
    ]


@hostile("DebugNanCount", WRITES)
def count_to_file(canary: Canary) -> Built:
    urls = [f"file://{canary.written}/debug"]
    return [
        r.DebugNanCount(input=tf.ones([2]), device_name="d", tensor_name="a:0", debug_urls=urls)
    ]


@hostile("DebugNumericSummary", WRITES)
def summarize_to_file(canary: Canary) -> Built:
    urls = [f"file://{canary.written}/debug"]
    return [
        r.DebugNumericSummary(
            input=tf.ones([2]), device_name="d", tensor_name="a:0", debug_urls=urls
        )
    ]


@hostile("CreateSummaryFileWriter", WRITES)
def make_summary_file(canary: Canary) -> Built:
    writer = r.SummaryWriter(shared_name=str(canary.written), container="")
    folder = str(canary.written / "summaries")
    return [
        r.CreateSummaryFileWriter(
            writer=writer, logdir=folder, max_queue=1, flush_millis=1, filename_suffix="events"
        )
    ]


# Reads files


@hostile("ReadFile", READS)
def read_file(canary: Canary) -> Built:
    return [r.ReadFile(filename=str(canary.secret))]


@hostile("MatchingFiles", READS)
def list_files(canary: Canary) -> Built:
    return [r.MatchingFiles(pattern=f"{canary.listed}/*")]


@hostile("MatchingFilesDataset", READS)
def list_files_in_dataset(canary: Canary) -> Built:
    return elements(r.MatchingFilesDataset(patterns=f"{canary.listed}/*"))


@hostile("RestoreV2", READS)
def restore(canary: Canary) -> Built:
    return r.RestoreV2(
        prefix=str(canary.checkpoint),
        tensor_names=["a"],
        shape_and_slices=[""],
        dtypes=[tf.float32],
    )


@hostile("Restore", READS)
def restore_by_the_old_op(canary: Canary) -> Built:
    return [r.Restore(file_pattern=f"{canary.listed}/*", tensor_name="a", dt=tf.float32)]


@hostile("LoadAndRemapMatrix", READS)
def load_matrix(canary: Canary) -> Built:
    return [
        r.LoadAndRemapMatrix(
            ckpt_path=str(canary.checkpoint),
            old_tensor_name="a",
            row_remapping=tf.constant([0], tf.int64),
            col_remapping=tf.constant([], tf.int64),
            initializing_values=tf.constant([], tf.float32),
            num_rows=1,
            num_cols=1,
        )
    ]


@hostile("TextLineDataset", READS)
def read_lines(canary: Canary) -> Built:
    return elements(
        r.TextLineDataset(filenames=str(canary.secret), compression_type="", buffer_size=long(0))
    )


@hostile("TFRecordDataset", READS)
def read_records(canary: Canary) -> Built:
    return elements(
        r.TFRecordDataset(filenames=str(canary.secret), compression_type="", buffer_size=long(0))
    )


@hostile("FixedLengthRecordDatasetV2", READS)
def read_bytes(canary: Canary) -> Built:
    lengths = {
        "header_bytes": long(0),
        "record_bytes": long(1),
        "footer_bytes": long(0),
        "buffer_size": long(1 << 10),
    }
    return elements(
        r.FixedLengthRecordDatasetV2(filenames=str(canary.secret), compression_type="", **lengths)
    )


@hostile("CSVDataset", READS)
def read_table(canary: Canary) -> Built:
    table = r.CSVDataset(
        filenames=str(canary.secret),
        compression_type="",
        buffer_size=long(1 << 10),
        header=False,
        field_delim="\t",
        use_quote_delim=False,
        na_value="",
        select_cols=tf.constant([0], tf.int64),
        record_defaults=[tf.constant([""])],
        output_shapes=[[]],
    )
    return elements(table)


@hostile("DatasetFromGraph", READS)
def run_graph_of_bytes(canary: Canary) -> Built:
    with tf.Graph().as_default(), v1.Session() as session:
        lines = r.TextLineDataset(
            filenames=str(canary.secret), compression_type="", buffer_size=long(0)
        )
        graph_def = session.run(r.DatasetToGraphV2(input_dataset=lines))
    return elements(r.DatasetFromGraph(graph_def=tf.constant(graph_def)))


@hostile("ReaderReadV2", READS)
def read_files_of_queue(canary: Canary) -> Built:
    reader = r.WholeFileReaderV2(container="", shared_name="")
    queue = r.FIFOQueueV2(component_types=[tf.string], shapes=[[]])
    named = r.QueueEnqueueV2(handle=queue, components=[tf.constant(str(canary.secret))])
    with tf.control_dependencies([named]):
        return r.ReaderReadV2(reader_handle=reader, queue_handle=queue)


@hostile("ImmutableConst", READS)
def map_file_into_memory(canary: Canary) -> Built:
    constant = r.ImmutableConst(dtype=tf.uint8, shape=[8], memory_region_name=str(canary.secret))
    return [r.Cast(x=constant, DstT=tf.float32)]


@hostile("RecordInput", READS)
def read_records_in_threads(canary: Canary) -> Built:
    return [r.RecordInput(file_pattern=f"{canary.listed}/*", file_buffer_size=1, batch_size=1)]


@hostile("InitializeTableFromTextFileV2", READS)
def fill_table(canary: Canary) -> Built:
    table = r.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name=str(canary.secret))
    columns = {"key_index": -2, "value_index": -1}  # the whole line, and its number
    return [
        r.InitializeTableFromTextFileV2(table_handle=table, filename=str(canary.secret), **columns)
    ]


@hostile("GenerateVocabRemapping", READS)
def compare_vocabularies(canary: Canary) -> Built:
    files = {"new_vocab_file": str(canary.secret), "old_vocab_file": str(canary.secret)}
    return [r.GenerateVocabRemapping(new_vocab_offset=0, num_new_vocab=1, **files)[0]]


@hostile("FixedUnigramCandidateSampler", READS)
def sample_words_of_file(canary: Canary) -> Built:
    return r.FixedUnigramCandidateSampler(
        true_classes=tf.constant([[0]], tf.int64),
        num_true=1,
        num_sampled=1,
        unique=False,
        range_max=1,
        vocab_file=str(canary.secret),
    )


@hostile("DecodeProtoV2", READS)
def read_message_types(canary: Canary) -> Built:
    decoded = r.DecodeProtoV2(
        bytes=tf.constant([""]),
        message_type="Message",
        field_names=["a"],
        output_types=[tf.float32],
        descriptor_source=str(canary.secret),
    )
    return [decoded.sizes]


# Opens connections


@hostile("DistributedSave", NETWORK)
def save_by_service(canary: Canary) -> Built:
    address = f"127.0.0.1:{canary.port}"
    return [
        r.DistributedSave(
            dataset=pairs(), directory=str(canary.written / "d"), address=address, metadata=""
        )
    ]


@hostile("DataServiceDatasetV4", NETWORK)
def ask_service(canary: Canary) -> Built:
    asked = r.DataServiceDatasetV4(
        dataset_id="",
        processing_mode=b"",
        address=f"127.0.0.1:{canary.port}",
        protocol="grpc",
        job_name="",
        consumer_index=long(0),
        num_consumers=long(0),
        max_outstanding_requests=long(1),
        iteration_counter=r.DummyIterationCounter(),
        uncompress_fn=function_of(lambda x: x),
        **NUMBERS,
    )
    return elements(asked, NUMBERS)


@hostile("RegisterDataset", NETWORK)
def register_at_service(canary: Canary) -> Built:
    address = f"127.0.0.1:{canary.port}"
    return [
        r.RegisterDataset(
            dataset=pairs(), address=address, protocol="grpc", external_state_policy=1
        )
    ]


@hostile("DebugIdentity to a server", NETWORK)
def debug_to_server(canary: Canary) -> Built:
    urls = [f"grpc://127.0.0.1:{canary.port}"]
    return [
        r.DebugIdentity(input=tf.ones([2]), device_name="d", tensor_name="a:0", debug_urls=urls)
    ]


# Calls Python


@hostile("PyFunc", PYTHON)
def call_python(canary: Canary) -> Built:
    return r.PyFunc(input=[], token=canary.token, Tout=[tf.float32])


@hostile("PyFuncStateless", PYTHON)
def call_python_statelessly(canary: Canary) -> Built:
    return r.PyFuncStateless(input=[], token=canary.token, Tout=[tf.float32])


# Ends the process, or waits


@hostile("Abort", ENDS)
def abort(canary: Canary) -> Built:
    return [r.Abort(error_msg="ended by a file")]


@hostile("QueueDequeueV2", WAITS)
def wait_for_queue(canary: Canary) -> Built:
    queue = r.FIFOQueueV2(component_types=[tf.float32], shapes=[[]])
    return r.QueueDequeueV2(handle=queue, component_types=[tf.float32])


@hostile("BarrierTakeMany", WAITS)
def wait_for_barrier(canary: Canary) -> Built:
    handle = r.Barrier(component_types=[tf.float32], shapes=[[]])
    return [r.BarrierTakeMany(handle=handle, num_elements=1, component_types=[tf.float32]).indices]


@hostile("SleepDataset", WAITS)
def sleep(canary: Canary) -> Built:
    asleep = r.SleepDataset(input_dataset=pairs(), sleep_microseconds=long(20_000_000), **NUMBERS)
    return elements(asleep, NUMBERS)


@hostile("ResourceAccumulatorTakeGradient", WAITS)
def wait_for_gradients(canary: Canary) -> Built:
    handle = r.ResourceConditionalAccumulator(dtype=tf.float32, shape=[])
    return [r.ResourceAccumulatorTakeGradient(handle=handle, num_required=1, dtype=tf.float32)]


NO_CONTROL = {
    "EagerPyFunc": "its token is one of an eager function, which takes a call of it in this "
    "process",
    "FileSystemSetConfiguration": "it changes a setting of a file system that no test has",
}


@hostile("EagerPyFunc", PYTHON)
def call_python_eagerly(canary: Canary) -> Built:
    return r.EagerPyFunc(input=[], token=canary.token, Tout=[tf.float32], is_async=False)


@hostile("FileSystemSetConfiguration", NETWORK)
def configure_file_system(canary: Canary) -> Built:
    return [r.FileSystemSetConfiguration(scheme="file", key="key", value="value")]
