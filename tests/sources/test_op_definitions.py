"""The OpDefs that are read where TensorFlow is not imported. `python -m tests.sources.test_op_definitions` writes them."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry

from tfgraphwidget.sources import tf_protos

FILE = Path(tf_protos.__file__).parent / "op_definitions.xz"
READ = """
import sys
from tfgraphwidget.sources import tf_protos
print(tf_protos.registered_op("Conv2D").SerializeToString(deterministic=True).hex(), tf_protos.registered_op("None"))
assert "tensorflow" not in sys.modules
"""


def registered() -> op_def_pb2.OpList:
    """The OpDefs of TensorFlow's own ops, in the order of their names."""
    names = sorted(name for name in dir(tf.raw_ops) if op_def_registry.get(name) is not None)
    more = ("_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv", "_FusedConv2D", "_FusedMatMul")
    known = (op_def_registry.get(name) for name in (*names, *more))
    return op_def_pb2.OpList(op=[definition for definition in known if definition is not None])


@pytest.mark.skipif(tf.__version__[:4] != "2.21", reason="The file is written by TensorFlow 2.21.")
def test_the_file_holds_the_op_definitions_of_this_tensorflow() -> None:
    stored = op_def_pb2.OpList.FromString(lzma.decompress(FILE.read_bytes()))
    assert list(stored.op) == list(registered().op)


def test_an_op_definition_is_read_without_tensorflow() -> None:
    run = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, check=True)
    told, unknown = run.stdout.split()
    assert told == op_def_registry.get("Conv2D").SerializeToString(deterministic=True).hex()
    assert unknown == "None"


if __name__ == "__main__":
    FILE.write_bytes(lzma.compress(registered().SerializeToString(deterministic=True), preset=9))
    print(f"{FILE}: {len(registered().op)} ops, {FILE.stat().st_size:,} bytes")
