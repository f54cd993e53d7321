"""Messages, OpDefs and documentation for where TensorFlow is not: `python -m
tests.sources.test_op_definitions`.
"""

from __future__ import annotations

import inspect
import json
import lzma
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import tensorflow as tf
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor import FileDescriptor
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry

from tfgraphwidget.sources import tf_protos

FILE = Path(tf_protos.__file__).parent / "op_definitions.xz"
DOCS = FILE.with_name("op_documentation.xz")
MESSAGES = FILE.with_name("messages.xz")
READ = """
import sys
from tfgraphwidget.sources import tf_protos
print(
    tf_protos.registered_op("Conv2D").SerializeToString(deterministic=True).hex(),
    tf_protos.registered_op("None"),
)
assert "tensorflow" not in sys.modules
"""


def registered() -> op_def_pb2.OpList:
    """The OpDefs of TensorFlow's own ops, in the order of their names."""
    names = sorted(name for name in dir(tf.raw_ops) if op_def_registry.get(name) is not None)
    more = (
        "_Arg",
        "_Retval",
        "_Send",
        "_Recv",
        "_HostSend",
        "_HostRecv",
        "_FusedConv2D",
        "_FusedMatMul",
    )
    known = (op_def_registry.get(name) for name in (*names, *more))
    return op_def_pb2.OpList(op=[definition for definition in known if definition is not None])


def documentation() -> dict[str, str]:
    """The docstring of each function of `tf.raw_ops`."""
    names = (definition.name for definition in registered().op)
    docs = {
        name: inspect.cleandoc(getattr(getattr(tf.raw_ops, name, None), "__doc__", None) or "")
        for name in names
    }
    return {name: text for name, text in docs.items() if text}


def messages() -> descriptor_pb2.FileDescriptorSet:
    """The files of TensorFlow's messages that are read and written, each after those that it
    imports.
    """
    read: dict[str, descriptor_pb2.FileDescriptorProto] = {}

    def add(file: FileDescriptor) -> None:
        for imported in file.dependencies:
            add(imported)
        if file.name not in read:
            read[file.name] = descriptor_pb2.FileDescriptorProto()
            file.CopyToProto(read[file.name])

    for name in tf_protos._FILES:
        add(
            import_module(
                f"tensorflow.core.{name.replace('/', '.').removesuffix('.proto')}_pb2"
            ).DESCRIPTOR
        )
    return descriptor_pb2.FileDescriptorSet(file=read.values())


@pytest.mark.skipif(tf.__version__[:4] != "2.21", reason="The file is written by TensorFlow 2.21.")
def test_the_file_holds_the_messages_of_this_tensorflow_field_by_field() -> None:
    stored = descriptor_pb2.FileDescriptorSet.FromString(lzma.decompress(MESSAGES.read_bytes()))
    assert [file.name for file in stored.file] == [file.name for file in messages().file]
    for file, expected in zip(stored.file, messages().file, strict=True):
        assert file == expected, file.name


@pytest.mark.skipif(tf.__version__[:4] != "2.21", reason="The file is written by TensorFlow 2.21.")
def test_the_file_holds_the_op_definitions_of_this_tensorflow() -> None:
    stored = op_def_pb2.OpList.FromString(lzma.decompress(FILE.read_bytes()))
    assert list(stored.op) == list(registered().op)


@pytest.mark.skipif(tf.__version__[:4] != "2.21", reason="The file is written by TensorFlow 2.21.")
def test_the_file_holds_the_documentation_of_this_tensorflow() -> None:
    assert json.loads(lzma.decompress(DOCS.read_bytes())) == documentation()


def test_an_op_definition_is_read_without_tensorflow() -> None:
    run = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    serialized, unknown = run.stdout.split()
    assert serialized == op_def_registry.get("Conv2D").SerializeToString(deterministic=True).hex()
    assert unknown == "None"


if __name__ == "__main__":
    MESSAGES.write_bytes(lzma.compress(messages().SerializeToString(deterministic=True), preset=9))
    print(MESSAGES, f"{MESSAGES.stat().st_size:,} bytes")
    FILE.write_bytes(lzma.compress(registered().SerializeToString(deterministic=True), preset=9))
    DOCS.write_bytes(lzma.compress(json.dumps(documentation()).encode(), preset=9))
    print(DOCS, f"{DOCS.stat().st_size:,} bytes")
    print(f"{FILE}: {len(registered().op)} ops, {FILE.stat().st_size:,} bytes")
