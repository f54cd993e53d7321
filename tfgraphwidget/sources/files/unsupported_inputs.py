"""Files of other formats that are often passed by mistake, and what to pass instead."""

from __future__ import annotations

import re
from typing import NamedTuple

_KERAS = "load it with keras.models.load_model first, and open the model: tgw.edit(model)"
_CHECKPOINT = "it holds values and no graph; give the .meta file: tgw.edit('model.meta', checkpoint='model')"
_SSTABLE = bytes.fromhex("57fb808b247547db")  # how every table file of a checkpoint ends


class _UnsupportedInput(NamedTuple):
    """A format that is recognized by its bytes at offset `at`, or by the file name."""

    at: int
    magic: bytes
    name_pattern: str
    what: str
    instead: str


_UNSUPPORTED = (
    _UnsupportedInput(0, b"\x89PNG", r"\.png", "a picture", "give the file that the graph was saved in"),
    _UnsupportedInput(0, b"\xff\xd8\xff", r"\.jpe?g", "a picture", "give the file that the graph was saved in"),
    _UnsupportedInput(0, b"GIF8", r"\.gif", "a picture", "give the file that the graph was saved in"),
    _UnsupportedInput(0, b"\x89HDF", r"\.(h5|hdf5)", "a Keras or HDF5 file", _KERAS),
    _UnsupportedInput(0, b"", r"\.keras", "a Keras file", _KERAS),
    _UnsupportedInput(
        4, b"TFL3", r"\.tflite", "a TensorFlow Lite model", "open the SavedModel that it was converted from"
    ),
    _UnsupportedInput(0, b"", r"\.onnx", "an ONNX model", "convert it to a SavedModel first"),
    _UnsupportedInput(0, b"", r"\.(pt|pth)", "a PyTorch file", "export it to a SavedModel first"),
    _UnsupportedInput(-8, _SSTABLE, r"(\.index|\.data-\d+-of-\d+|\.ckpt)", "a part of a checkpoint", _CHECKPOINT),
    _UnsupportedInput(0, b"model_checkpoint_path:", "checkpoint", "a checkpoint's list of names", _CHECKPOINT),
    _UnsupportedInput(0, b"", r"\.cpb", "a SavedModel in chunks", "save it without experimental image format"),
    _UnsupportedInput(0, b"PK\x03\x04", r"\.zip", "a zip archive", "unpack it, and open what is in it"),
    _UnsupportedInput(0, b"\x1f\x8b", r"\.t?gz", "a compressed file", "unpack it, and open what is in it"),
)


def unsupported_input(data: bytes, name: str) -> str:
    """The kind of a file that is no graph, and what to pass instead: "a picture; give …"; "" if it is unknown.

    Args:
        data: The first bytes of the file.
        name: The name of the file.
    """
    for each in _UNSUPPORTED:
        start = each.at % len(data) if data else 0
        by_bytes = each.magic and data[start : start + len(each.magic)] == each.magic
        if by_bytes or re.search(f"{each.name_pattern}\\Z", name):
            return f"{each.what}; {each.instead}"
    return ""
