"""The kinds of files that graphs are written to, with the options of each. Needs no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.writable import check_place

SAVED_MODEL = ""  # a folder
GRAPH_DEFS = (".pb", ".pbtxt")
PICTURES = (".svg", ".png", ".pdf")
EDITOR = ".tgw"


@dataclass(frozen=True)
class SaveOption:
    """An option of a kind of file.

    Attributes:
        name: Its name: the keyword of `save`, and with "--" that of the command line.
        label: What a form calls it.
        choices: The values that a form offers, the first of them without the option; a single one
            is a text that can be changed.
        about: A sentence on it.
    """

    name: str
    label: str
    choices: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Conversion:
    """A kind of file that a converter writes of a frozen graph.

    Attributes:
        label: What menus call it.
        runtime: What runs it.
        module: The module of `export.conversion` that converts and runs it.
        options: Its options.
        packages: The packages that it needs beside TensorFlow.
        extra: The extra of this package that installs them.
    """

    label: str
    runtime: str
    module: str
    options: tuple[SaveOption, ...]
    packages: tuple[str, ...] = ()
    extra: str = ""


CONVERSIONS = {
    ".tflite": Conversion(
        "TFLite",
        "LiteRT",
        "tflite_model",
        (
            SaveOption(
                "optimize",
                "Weights",
                ("", "float16", "dynamic"),
                "Weights as float16, or as 8-bit integers with dynamic ranges; what they compute "
                "changes a little.",
            ),
            SaveOption(
                "select_tf_ops",
                "TensorFlow's ops",
                ("", "yes"),
                "Keep ops that TFLite does not have as ops of TensorFlow, which the runtime then "
                "needs.",
            ),
        ),
    ),
    ".onnx": Conversion(
        "ONNX",
        "onnxruntime and its like",
        "onnx_model",
        (
            SaveOption(
                "opset", "Opset", ("", *map(str, range(13, 19))), "The version of ONNX's ops."
            ),
        ),
        ("tf2onnx", "onnx", "onnxruntime"),
        "onnx",
    ),
}
"""The kinds of files that converters write, by their suffix."""
FROZEN_OPTIONS = (
    SaveOption(
        "inline",
        "Calls",
        ("", "no"),
        "Calls of functions stay calls; without it their ops take their place: one flat graph.",
    ),
    SaveOption(
        "lower_control_flow",
        "Loops and conditionals",
        ("", "yes"),
        "Switch and Merge of TensorFlow 1 in place of loops and conditionals of TensorFlow 2, and "
        "no calls.",
    ),
)
"""The options of a frozen graph."""
SAVED_MODEL_OPTIONS = (
    SaveOption(
        "tags",
        "Tag",
        ("", "serve", "train", "eval"),
        "By which programs load the graph; without one the tags that it was opened by, or 'serve'.",
    ),
)
"""The options of a SavedModel."""
CONVERSION_OPTIONS = tuple(
    option.name for conversion in CONVERSIONS.values() for option in conversion.options
)

FILES = (
    *GRAPH_DEFS,
    ".meta",
    *CONVERSIONS,
    EDITOR,
    ".dot",
    ".graphml",
    *PICTURES,
    ".html",
    ".py",
    ".json",
)


def checked_kind(path: Path, *, folder: bool, frozen: bool) -> str:
    """Return the kind of file that a path means, one of FILES, or SAVED_MODEL, also where a
    `folder` is asked for whatever the suffix.

    Raises GraphEditError where the suffix names no kind, a frozen graph cannot be of that kind, or
    the path is not free.
    """
    kind = SAVED_MODEL if folder or path.is_dir() else path.suffix.lower()
    if kind != SAVED_MODEL and kind not in FILES:
        raise GraphEditError(
            f"{path.suffix!r} is not a kind of file that can be written; use {', '.join(FILES)}, "
            "or a folder for a SavedModel."
        )
    if frozen and kind not in GRAPH_DEFS:
        raise GraphEditError(
            "A frozen graph is a GraphDef without variables; write it to a '.pb' or '.pbtxt' file."
        )
    check_place(path)
    if kind == SAVED_MODEL:
        _check_folder(path)
    return kind


def _check_folder(path: Path) -> None:
    """Raise GraphEditError for a file, and a folder of something else than a SavedModel."""
    if path.is_dir() and any(path.iterdir()) and not (path / "saved_model.pb").is_file():
        raise GraphEditError(
            f"The folder {str(path)!r} holds other things than a SavedModel; give an empty or a "
            "new one."
        )
    if path.is_file():
        raise GraphEditError(
            f"{str(path)!r} is a file, and a SavedModel is a folder; give another name."
        )


def parse_options(options: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
    """The keywords of `save` for options that a form or a command line has as text, "" or None
    where nothing is chosen.

    >>> parse_options(
    ...     [("optimize", "float16"), ("opset", "15"), ("select_tf_ops", "yes"), ("other", "")]
    ... )
    {'optimize': 'float16', 'opset': 15, 'select_tf_ops': True}
    """
    switches = {"yes": True, "no": False}
    values = {name: value for name, value in options if value}
    return {
        name: int(value) if value.isdecimal() else switches.get(value, value)
        for name, value in values.items()
    }


def missing_packages(kind: str) -> str:
    """What to install for a kind of file, to end a sentence; "" for nothing but TensorFlow."""
    conversion = CONVERSIONS[kind]
    missing = [name for name in conversion.packages if find_spec(name) is None]
    if not missing:
        return ""
    verb = "is" if len(missing) == 1 else "are"
    return (
        f"{' and '.join(missing)} {verb} not installed: run pip install "
        f"'tfgraphwidget[{conversion.extra}]'"
    )


def check_options(kind: str, options: Iterable[str]) -> None:
    """Raise InvalidArgument for an option that a kind of file does not have."""
    own = {
        suffix: ["signature", *(each.name for each in of.options)]
        for suffix, of in CONVERSIONS.items()
    }
    own[SAVED_MODEL] = ["tags"]
    for name in options:
        if name not in own.get(kind, ()):
            kinds = [suffix for suffix, names in own.items() if name in names]
            what = f"a '{kind}' file" if kind else "a SavedModel"
            where = "a SavedModel" if kinds == [SAVED_MODEL] else f"{' and '.join(kinds)} files"
            raise InvalidArgument(
                name, f"save({name}=...): {what} has no such option; it is one of {where}."
            )
