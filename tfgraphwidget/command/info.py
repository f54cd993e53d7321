"""`tfgraphwidget info`: what a file holds, counted without TensorFlow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfgraphwidget.command.closing import endings
from tfgraphwidget.command.schema import dtype_of, graphs, parsed
from tfgraphwidget.command.wording import count, shown, size
from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.graph.costs import BYTES
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.names import did_you_mean

_BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
_LOOPS = frozenset({"While", "StatelessWhile"})
_CALLS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "TPUPartitionedCall", "RemoteCall", "SymbolicGradient"}
)
_MOST_TYPES = 12
_MOST_NAMES = 10
_MOST_ENDS = 8


def info(path: str) -> dict[str, Any]:
    """What a file or a SavedModel's folder holds, as JSON has it. Raises GraphEditError."""
    given = Path(path)
    file = file_of(given)
    data = _content(file, path)
    found = parsed(data, file.name)
    if found is None:
        raise _refusal(data, file)
    kind, proto = found
    metas = proto.meta_graphs if kind == "SavedModel" else [proto if kind == "MetaGraphDef" else None]
    whole = given if given.is_dir() else file
    return {
        "file": path,
        "kind": kind,
        "bytes": sum(_sizes(whole)),
        "graphs": [_graph(graph, meta) for graph, meta in zip(graphs(kind, proto), metas, strict=True)],
    }


def check_graph(file: Path) -> None:
    """Raise NotAGraph for a file that holds no graph, as opening it would."""
    data = _content(file, str(file))
    if parsed(data, file.name) is None and isinstance(error := _refusal(data, file), NotAGraph):
        raise error


def _content(file: Path, path: str) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as error:
        raise GraphEditError(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def file_of(given: Path) -> Path:
    """The file with the graph; of a SavedModel's folder the one inside. Raises GraphEditError for what is not there."""
    try:
        if given.is_dir():
            inside = (given / name for name in ("saved_model.pb", "saved_model.pbtxt"))
            found = next((file for file in inside if file.is_file()), None)
            if found is None:
                raise GraphEditError(f"Directory {str(given)!r} is no SavedModel: it has no saved_model.pb.")
            return found
        if not given.exists():
            near = [entry.name for entry in given.parent.iterdir()] if given.parent.is_dir() else []
            raise UnknownName(f"There is no file or directory {str(given)!r}.{did_you_mean(given.name, near)}")
        if not given.is_file():
            raise GraphEditError(f"{str(given)!r} is neither a regular file nor a directory.")
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL in it
        raise GraphEditError(f"{str(given)[:200]!r} cannot be read: {error}.") from error
    return given


def _refusal(data: bytes, file: Path) -> GraphEditError:
    """What opening the file raises: that knows files of other tools, and takes TensorFlow to say it."""
    from tfgraphwidget.sources.parsing import parse

    try:
        parse(data, file.name, f"File {str(file)!r}")
    except GraphEditError as error:
        return error
    return GraphEditError(f"File {str(file)!r} holds a graph that only TensorFlow can read; open it: tgw.edit(path).")


def _sizes(path: Path) -> Iterator[int]:
    files = (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    yield from (file.stat().st_size for file in files)


def _graph(graph: Any, meta: Any) -> dict[str, Any]:
    """One graph with its library and, of a MetaGraphDef, its signatures."""
    functions = graph.library.function
    every = [graph.node, *(function.node_def for function in functions)]
    constants = [node.attr["value"].ByteSize() for nodes in every for node in nodes if node.op == "Const"]
    variables = [_tensor(node) for node in graph.node if node.op in HANDLES]
    return {
        "tags": [] if meta is None else list(meta.meta_info_def.tags),
        "tensorflow": "" if meta is None else meta.meta_info_def.tensorflow_version,
        "producer": graph.versions.producer,
        "ops": len(graph.node),
        "types": dict(Counter(node.op for node in graph.node).most_common()),
        "functions": {"count": len(functions), "ops": sum(len(function.node_def) for function in functions)},
        "variables": variables,
        "variable_bytes": sum(_bytes(held) for held in variables),
        "constants": {"count": len(constants), "bytes": sum(constants)},
        "inputs": [_tensor(node) for node in graph.node if node.op in ("Placeholder", "PlaceholderV2")],
        "ends": endings(graph.node),
        "control_flow": _control_flow(every),
        "devices": sorted({node.device for nodes in every for node in nodes if node.device}),
        "signatures": [] if meta is None else [_signature(name, s) for name, s in sorted(meta.signature_def.items())],
    }


def _control_flow(every: list[Any]) -> dict[str, int]:
    kinds = Counter(node.op.removeprefix("Ref") for nodes in every for node in nodes)
    told = {
        "while loops": sum(kinds[kind] for kind in _LOOPS),
        "conditionals": sum(kinds[kind] for kind in _BRANCHES),
        "calls of functions": sum(kinds[kind] for kind in _CALLS),
        "v1 while loops": kinds["LoopCond"],
        "v1 switches": kinds["Switch"],
    }
    return {kind: number for kind, number in told.items() if number}


def _tensor(node: Any) -> dict[str, Any]:
    shape = _shape(node.attr["shape"].shape) if "shape" in node.attr else None
    return {"name": node.name, "dtype": dtype_of(node.attr["dtype"].type), "shape": shape}


def _shape(shape: Any) -> list[int | None] | None:
    return None if shape.unknown_rank else [None if dim.size < 0 else dim.size for dim in shape.dim]


def _bytes(tensor: dict[str, Any]) -> int:
    """Bytes of a variable; none where its shape is not known."""
    total = BYTES.get(tensor["dtype"], 0)
    for dimension in tensor["shape"] if tensor["shape"] is not None else [0]:
        total *= dimension or 0
    return total


def _signature(name: str, signature: Any) -> dict[str, Any]:
    def side(held: Any) -> dict[str, Any]:
        return {
            key: {"tensor": told.name, "dtype": dtype_of(told.dtype), "shape": _shape(told.tensor_shape)}
            for key, told in sorted(held.items())
        }

    return {
        "name": name,
        "method": signature.method_name,
        "inputs": side(signature.inputs),
        "outputs": side(signature.outputs),
    }


# For people


def text(told: dict[str, Any]) -> str:
    """The same in lines for people."""
    many = len(told["graphs"]) > 1
    lines = [f"{shown(told['file'])}: {told['kind']}, {size(told['bytes'])}"]
    for graph in told["graphs"]:
        lines += [f"  graph with tags {', '.join(graph['tags']) or 'none'}"] if many else []
        lines += [f"  {label:<14}{line}" for label, line in _lines(graph)]
    return "\n".join(lines)


def _lines(graph: dict[str, Any]) -> Iterator[tuple[str, str]]:
    functions, variables = graph["functions"], graph["variables"]
    of_functions = (
        f", and {functions['ops']:,} in {count(functions['count'], 'function')}" if functions["count"] else ""
    )
    yield "ops", f"{graph['ops']:,}{of_functions}"
    types = list(graph["types"].items())
    told = ", ".join(f"{shown(kind)} {number:,}" for kind, number in types[:_MOST_TYPES])
    yield "types", told + (f" and {count(len(types) - _MOST_TYPES, 'type')} more" if len(types) > _MOST_TYPES else "")
    yield "variables", f"{len(variables):,}, {size(graph['variable_bytes'])}" if variables else "none"
    yield from _named(variables)
    if graph["constants"]["count"]:
        yield "constants", f"{graph['constants']['count']:,}, {size(graph['constants']['bytes'])}"
    yield "control flow", ", ".join(f"{number:,} {kind}" for kind, number in graph["control_flow"].items()) or "none"
    if graph["inputs"]:
        yield "placeholders", f"{len(graph['inputs']):,}"
        yield from _named(graph["inputs"])
    if graph["ends"]:
        yield "nothing reads", _ends(graph["ends"])
    if graph["devices"]:
        yield "devices", ", ".join(map(shown, graph["devices"]))
    for signature in graph["signatures"]:
        yield "signature", shown(signature["name"])
        for arrow, side in (("→", signature["inputs"]), ("←", signature["outputs"])):
            for key, tensor in side.items():
                yield "", f"  {arrow} {shown(key)}: {_type(tensor)} ({shown(tensor['tensor'])})"
    producer = f"TensorFlow {shown(graph['tensorflow'])}" if graph["tensorflow"] else ""
    version = f"GraphDef version {graph['producer']}" if graph["producer"] else ""
    yield "written by", ", ".join(filter(None, (producer, version))) or "not told"


def _ends(ends: list[dict[str, str]]) -> str:
    some = [f"{shown(end['name'])} ({shown(end['type'])})" for end in ends[:_MOST_ENDS]]
    more = [f"+{len(ends) - _MOST_ENDS:,} more"] if len(ends) > _MOST_ENDS else []
    return ", ".join([*some, *more])


def _named(tensors: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for tensor in tensors[:_MOST_NAMES]:
        yield "", f"  {shown(tensor['name'])}: {_type(tensor)}"
    if len(tensors) > _MOST_NAMES:
        yield "", f"  … and {len(tensors) - _MOST_NAMES:,} more (--json has them all)"


def _type(tensor: dict[str, Any]) -> str:
    shape = tensor["shape"]
    told = "of unknown shape" if shape is None else f"({', '.join('?' if n is None else str(n) for n in shape)})"
    return f"{tensor['dtype'] or 'any'} {told}"
