"""`tfgraphwidget info`: describe what a file holds, without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap
from typing import Any

from tfgraphwidget.cli.formatting import format_count
from tfgraphwidget.errors import UnknownName
from tfgraphwidget.naming import escape, format_size
from tfgraphwidget.sources import describe_file, parse_path

_MOST_TYPES = 12  # of ops
_MOST_NAMES = 10  # of variables, and of placeholders
_MOST_ENDS = 8  # unused outputs


def info(path: str, signature: str | None = None) -> dict[str, Any]:
    """Summarize a file or directory, as `--json` prints it. Raises GraphEditError."""
    summary: dict[str, Any] = {"file": path, **describe_file(parse_path(path, "path"))}
    if signature is not None:
        names: dict[str, None] = {}
        for graph in summary["graphs"]:
            names |= dict.fromkeys(each["name"] for each in graph["signatures"])
            named = [each for each in graph["signatures"] if each["name"] == signature]
            graph["signatures"] = named
        if signature not in names:
            has = ", ".join(map(repr, names)) or "none"
            raise UnknownName(f"{path!r} has no signature {signature!r}: it has {has}.")
    return summary


def format_info(summary: dict[str, Any]) -> str:
    """The result of `info` as lines of text."""
    many = len(summary["graphs"]) > 1
    lines = [f"{escape(summary['file'])}: {summary['kind']}, {format_size(summary['bytes'])}"]
    for graph in summary["graphs"]:
        if many:
            lines.append(f"  {_title(graph)}")
        lines += [f"  {label:<16}{line}" for label, line in _lines(graph)]
    return "\n".join(lines)


def _lines(graph: dict[str, Any]) -> Iterator[tuple[str, str]]:
    functions, variables, constants = graph["functions"], graph["variables"], graph["constants"]
    ops = f"{graph['ops']:,}"
    if functions["count"]:
        ops += f", and {functions['ops']:,} in {format_count(functions['count'], 'function')}"
    yield "ops", ops
    types = list(graph["types"].items())
    counts = ", ".join(f"{escape(kind)} {number:,}" for kind, number in types[:_MOST_TYPES])
    if len(types) > _MOST_TYPES:
        counts += f" and {format_count(len(types) - _MOST_TYPES, 'type')} more"
    yield "types", counts
    size = format_size(graph["variable_bytes"])
    yield "variables", f"{len(variables):,}, {size}" if variables else "none"
    yield from _tensor_lines(variables)
    if constants["count"]:
        yield "constants", f"{constants['count']:,}, {format_size(constants['bytes'])}"
    yield "control flow", ", ".join(starmap(_kind_text, graph["control_flow"].items())) or "none"
    if graph["inputs"]:
        yield "placeholders", f"{len(graph['inputs']):,}"
        yield from _tensor_lines(graph["inputs"])
    if graph["unused_outputs"]:
        yield "unused outputs", _output_ops(graph["unused_outputs"])
    if graph["devices"]:
        yield "devices", ", ".join(map(escape, graph["devices"]))
    for signature in graph["signatures"]:
        yield "signature", escape(signature["name"])
        for arrow, side in (("→", signature["inputs"]), ("←", signature["outputs"])):
            for key, tensor in side.items():
                yield "", f"  {arrow} {escape(key)}: {_type(tensor)} ({escape(tensor['tensor'])})"
    producer = f"TensorFlow {escape(graph['tensorflow'])}" if graph["tensorflow"] else ""
    version = f"GraphDef version {graph['producer']}" if graph["producer"] else ""
    maker = escape(str(graph.get("made_by", "")))
    yield "written by", ", ".join(filter(None, (producer, version, maker))) or "unknown"


def _title(graph: dict[str, Any]) -> str:
    """What distinguishes one of several graphs of a file."""
    if graph["tags"] or "made_by" not in graph:
        return f"graph with tags {', '.join(graph['tags']) or 'none'}"
    names = ", ".join(escape(signature["name"]) for signature in graph["signatures"])
    return f"graph of signature {names}"


def _kind_text(kind: str, number: int) -> str:
    """A kind of control flow, and how many there are of it.

    >>> _kind_text("calls of functions", 1), _kind_text("while loops", 1200)
    ('1 call of a function', '1,200 while loops')
    """
    if number != 1:
        return f"{number:,} {kind}"
    singular = {"calls of functions": "call of a function", "v1 switches": "v1 switch"}
    return f"1 {singular.get(kind, kind.removesuffix('s'))}"


def _output_ops(outputs: list[dict[str, str]]) -> str:
    texts = [f"{escape(each['name'])} ({escape(each['type'])})" for each in outputs[:_MOST_ENDS]]
    if len(outputs) > _MOST_ENDS:
        texts.append(f"+{len(outputs) - _MOST_ENDS:,} more")
    return ", ".join(texts)


def _tensor_lines(tensors: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for tensor in tensors[:_MOST_NAMES]:
        yield "", f"  {escape(tensor['name'])}: {_type(tensor)}"
    if len(tensors) > _MOST_NAMES:
        yield "", f"  … and {len(tensors) - _MOST_NAMES:,} more (--json has them all)"


def _type(tensor: dict[str, Any]) -> str:
    shape = tensor["shape"]
    dtype = tensor["dtype"] or "any"
    if shape is None:
        return f"{dtype} of unknown shape"
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"{dtype} ({', '.join(sizes)})"
