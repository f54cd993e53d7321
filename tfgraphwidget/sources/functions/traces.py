"""tf.functions, their traces, and Keras models: the body that runs when they are called."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex, cast

from tfgraphwidget.errors import GraphEditError, UnknownName
from tfgraphwidget.sentences import argument_value, either, in_cell
from tfgraphwidget.sources.functions.call_structure import CallStructure, own_outputs
from tfgraphwidget.sources.live.captures import CaptureInfo, Captures
from tfgraphwidget.sources.live.graph_body import GraphBody
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.sources.renaming import rename_tensor
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.tf_errors import error_text
from tfgraphwidget.tensorflow_modules import lazy_class, tf
from tfgraphwidget.tf_internals import FuncGraph, Function, flatten_with_paths, traces
from tfgraphwidget.tf_types import ConcreteFunction, GenericFunction

_MOST_LISTED = 5  # traces in a message
FUNCTION = Function
CONCRETE = lazy_class("tensorflow.types.experimental", "ConcreteFunction")


def function_source(
    graph: FuncGraph,
    title: str,
    way_out: str = "",
    infos: Mapping[int, CaptureInfo] | None = None,
    structure: CallStructure | None = None,
) -> Source:
    """The source of a function's graph, which no session runs.

    Args:
        title: The source's name in the graph view and in sentences.
        way_out: What to open instead for what needs a session.
        infos: CaptureInfo by id of a captured variable's handle.
        structure: How the function is called, if that is known.
    """
    refusal = (
        f"{title} is a function's graph, which no session runs: edits make a new function of it"
        + either(" (editor.to_module())", "")
        + "; for what needs a session open "
        + (way_out or "a copy of it" + either(", tgw.edit(function.graph.as_graph_def()),", ""))
        + " instead."
    )
    return Source(title, _function_body(graph, infos or {}), refusal=refusal, structure=structure)


def captured_body(
    graph: FuncGraph, infos: Mapping[int, CaptureInfo]
) -> tuple[GraphBody, dict[str, object]]:
    """The body of a function that was traced for an edit, and the live variables and tensors that
    its ops represent; `infos` are by id of a captured variable's handle.
    """
    captures = Captures.of(graph, infos)
    live: dict[str, object] = {
        name: captured.variable for name, captured in captures.variables.items()
    }
    live |= {
        inside.op.name: outside
        for outside, inside in graph.captures
        if inside.op.name not in captures.alias
    }
    return GraphBody(graph, captures=captures), live


def _function_body(graph: FuncGraph, infos: Mapping[int, CaptureInfo]) -> GraphBody:
    captured_names = {tensor.name for tensor in graph.internal_captures}
    captures = Captures.of(graph, infos)
    arguments = tuple(tensor.name for tensor in graph.inputs if tensor.name not in captured_names)
    returns = {
        name: rename_tensor(tensor, captures.alias) for name, tensor in _returns(graph).items()
    }
    return GraphBody(graph, arguments=arguments, returns=returns, captures=captures)


def _returns(graph: FuncGraph) -> dict[str, str]:
    """Name of each result -> tensor: a dict's keys joined by "/"; "output_0" without a key."""
    structured = graph.structured_outputs
    pairs = flatten_with_paths(structured)
    tensors = [(path, item) for path, item in pairs if isinstance(item, tf.Tensor)]
    # Of a function that was loaded.
    specs = [path for path, item in pairs if isinstance(item, tf.TensorSpec)]
    outputs = own_outputs(graph)
    if len(specs) == len(outputs):
        tensors = list(zip(specs, outputs, strict=True))
    if not tensors:
        tensors = [((k,), tensor) for k, tensor in enumerate(outputs)]
    results: dict[str, str] = {}
    for number, (path, tensor) in enumerate(tensors):
        keyed = path and isinstance(path[0], str)
        results["/".join(map(str, path)) if keyed else f"output_{number}"] = tensor.name
    return results


def find_trace(function: GenericFunction, signature: object, title: str) -> ConcreteFunction:
    """Return the trace of a tf.function that a user chooses.

    Args:
        signature: The number of a trace, or TensorSpecs to trace with; None if there is only one
            trace.
        title: The subject of error messages, "tf.function 'f'".

    Raises:
        GraphEditError: There are several traces or none, and no choice.
        UnknownName: There is no trace of that number.
    """
    concrete_functions = traces(function)
    number = _number(signature)
    if number is not None:
        if not 0 <= number < len(concrete_functions):
            raise UnknownName(
                f"{title} has no trace {number}; " + _choices(title, concrete_functions)
            )
        return concrete_functions[number]
    if signature is not None:
        return _trace(function, signature, title)
    if function.input_signature is not None:
        return _trace(function, (), title)
    if not concrete_functions:
        raise GraphEditError(
            f"{title} has never been called, so it has no graph yet; "
            + in_cell(
                "call it once, or give signature=[tf.TensorSpec(...)] with one spec for each "
                "argument."
            )
        )
    if len(concrete_functions) > 1:
        raise GraphEditError(f"{title} has several graphs; " + _choices(title, concrete_functions))
    return concrete_functions[0]


def _number(signature: object) -> int | None:
    """The number of a trace; None for other values, such as True."""
    try:
        if isinstance(signature, bool):
            return None
        return operator.index(cast("SupportsIndex", signature))
    except TypeError:
        return None


def _choices(title: str, concrete_functions: Sequence[ConcreteFunction]) -> str:
    first = enumerate(concrete_functions[:_MOST_LISTED])
    choices = [
        f"signature={k} for {str(trace.function_type).partition(' -> ')[0][:200]}"
        for k, trace in first
    ]
    more = f", of {len(concrete_functions)}" if len(concrete_functions) > _MOST_LISTED else ""
    return (
        in_cell(f"give {' or '.join(choices)}{more}.") if choices else f"call {title} once first."
    )


def _trace(function: GenericFunction, signature: object, title: str) -> ConcreteFunction:
    positional: object = () if isinstance(signature, Mapping) else signature
    keywords: Mapping[str, object] = signature if isinstance(signature, Mapping) else {}
    if isinstance(positional, str) or not isinstance(positional, Iterable):
        raise UnknownName(
            f"{title} has no signature {shorten(signature)}; give the number of a trace or a list "
            "of tf.TensorSpec."
        )
    try:
        result: ConcreteFunction = function.get_concrete_function(*positional, **keywords)
        return result
    except Exception as error:
        raise GraphEditError(
            f"{title} cannot be traced with "
            + argument_value("signature", shorten(signature))
            + f": {error_text(error)}; call it once on data, and open it after that."
        ) from error
