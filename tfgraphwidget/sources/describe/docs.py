"""TensorFlow's documentation of an op type, and of each input, output and attribute.

The registry's OpDefs come without words. Those that are built into `tf.raw_ops`, one function for
each op type, are the same text, and are read from there
(tests/test_tensorflow_facts.py::test_raw_ops_carry_the_documentation).
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.describe.ops import attribute_text
from tfgraphwidget.sources.inference.dtypes import dtype_name
from tfgraphwidget.tf_types import OpDef

_SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)
_ITEM = re.compile(r"\s*([-*+]|\d+[.)]) ")
_ENTRY = re.compile(r"^  (\w+): (.*)$")
_TENSORS = re.compile(r"^A tuple of `Tensor` objects \([\w, ]*\)\.\n*")
Arguments = tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Documentation:
    """`arguments` are (sort, name, text), with the sorts "input", "output" and "attribute"."""

    summary: str = ""
    about: str = ""
    arguments: Arguments = ()


def documentation(op_type: str, definition: OpDef | None) -> Documentation:
    """TensorFlow's documentation of an op type; without one, what its OpDef says.

    `definition` is the OpDef, or the signature of the function of that name, or None for an unknown
    type.
    """
    if definition is None:
        return Documentation()
    return _documentation_of(
        op_type, tf_protos.registered_op(op_type) is not None, definition.SerializeToString()
    )


def documented_arguments(op_type: str) -> tuple[str, ...]:
    """The parameters that the docstring of an op type's function in `tf.raw_ops` lists."""
    sections = _SECTION.split(tf_protos.op_docstring(op_type))[1:]
    arguments = dict(zip(sections[::2], sections[1::2], strict=False)).get("Args", "")
    return tuple(name for name in _entries(arguments) if name != "name")


@functools.lru_cache(maxsize=2048)
def _documentation_of(op_type: str, registered: bool, serialized: bytes) -> Documentation:

    definition = tf_protos.OpDef.FromString(serialized)
    head, *sections = _SECTION.split(tf_protos.op_docstring(op_type) if registered else "")
    sections_by_name = dict(zip(sections[::2], sections[1::2], strict=False))
    summary, _, about = head.strip().partition("\n\n")
    text = " ".join((summary or definition.summary).split())
    return Documentation(
        "" if text.startswith("TODO") else text,
        "\n\n".join(
            filter(None, [*_paragraphs(about or definition.description), _deprecation(definition)])
        ),
        tuple(
            _arguments(
                definition,
                _entries(sections_by_name.get("Args", "")),
                sections_by_name.get("Returns", ""),
            )
        ),
    )


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs without line breaks; lists and code keep theirs."""
    fenced = False
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        lines: list[str] = []
        for line in paragraph.splitlines():
            fenced ^= line.lstrip().startswith("```")
            code = fenced or "```" in line or line.startswith("    ")
            if (
                lines
                and not code
                and not _ITEM.match(line)
                and not lines[-1].startswith(("    ", "```"))
            ):
                lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
            else:
                lines.append(line)
        yield "\n".join(lines)


def _deprecation(definition: OpDef) -> str:
    deprecation = definition.deprecation
    if deprecation.version:
        return f"Deprecated since graph version {deprecation.version}: {deprecation.explanation}."
    return ""


def _entries(section: str) -> dict[str, str]:
    """Name -> text of a section of a docstring, each as one paragraph."""
    entries: dict[str, list[str]] = {}
    name = ""
    for line in section.splitlines():
        begun = _ENTRY.match(line)
        name = begun[1] if begun else name
        if name:
            entries.setdefault(name, []).append(begun[2] if begun else line)
    return {name: " ".join(" ".join(lines).split()) for name, lines in entries.items()}


def _arguments(
    definition: OpDef, texts: dict[str, str], returns: str
) -> Iterator[tuple[str, str, str]]:
    """In the order of the OpDef. Attributes that follow from inputs' dtypes are left out."""
    for arg in definition.input_arg:
        yield "input", arg.name, _text_of(texts, arg.name) or _kind(arg)
    outputs = definition.output_arg
    output_texts = (
        _entries(_TENSORS.sub("", returns.strip()).strip("\n")) if len(outputs) > 1 else {}
    )
    alone = " ".join(returns.split()) if len(outputs) == 1 else ""
    for arg in outputs:
        yield "output", arg.name, output_texts.get(arg.name, "") or alone or _kind(arg)
    for attr in definition.attr:
        text = _text_of(texts, attr.name)
        if text or not texts:
            yield "attribute", attr.name, text or _attribute(attr)


def _text_of(texts: dict[str, str], name: str) -> str:
    """A Python keyword has an underscore at its end."""
    return texts.get(name) or texts.get(f"{name}_", "")


def _kind(arg: OpDef.ArgDef) -> str:
    """The kind of an input or output by its OpDef: "2 tensors of dtype T"."""
    dtype = dtype_name(arg.type) or arg.type_attr
    if arg.type_list_attr:
        what = f"Tensors of dtypes {arg.type_list_attr}"
    elif arg.number_attr:
        what = f"{arg.number_attr} tensors of dtype {dtype}"
    else:
        what = f"A tensor of dtype {dtype}"
    return _sentences([what, arg.description])


def _attribute(attr: OpDef.AttrDef) -> str:
    if attr.HasField("default_value"):
        default = f"Defaults to {attribute_text(attr.default_value)}"
    else:
        default = ""
    return _sentences([f"A {attr.type}", default, attr.description])


def _sentences(parts: Iterable[str]) -> str:
    return " ".join(f"{part.strip().rstrip('.')}." for part in parts if part.strip())
