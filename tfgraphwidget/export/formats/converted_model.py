"""Models of other runtimes: the frozen graph, converted and run in a process of its own, and
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tfgraphwidget.edits import translate_old_ops
from tfgraphwidget.errors import GraphEditError, PackageMissing, TensorFlowMissing, UnknownName
from tfgraphwidget.export.conversion.converter_process import CONVERTERS, ConversionRefused
from tfgraphwidget.export.file_kinds import CONVERSIONS, Conversion, missing_packages
from tfgraphwidget.export.formats.frozen_graph import FrozenGraph, freeze_graph
from tfgraphwidget.export.formats.function_module import function_as_graph
from tfgraphwidget.export.formats.saved_model import with_apparent_signature
from tfgraphwidget.export.request import ExportRequest, SuccessReport
from tfgraphwidget.export.signatures import DEFAULT
from tfgraphwidget.export.verification.reference import GraphReference
from tfgraphwidget.export.verification.round_trip import Run, check
from tfgraphwidget.graph import GraphIndex, Signature, effects_of, needed_ops
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import did_you_mean, names_text, scope_around
from tfgraphwidget.progress import tell
from tfgraphwidget.sentences import editor_call, either, in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_releases import OLDEST
from tfgraphwidget.tf_types import GraphDef, TensorCompatible

_TOLERANCE = {None: 1e-4, "float16": 2e-2, "dynamic": 1e-1}
"""How much outputs may differ, relative to the largest number of an output, by the option
`optimize`.
"""
_MOST_NAMES = 5
_LACKS_SELECT = "Select TensorFlow op"
_NOT_RUN = (
    "The model keeps ops of TensorFlow (TF Select), which the TFLite runtime that is installed "
    "here does not have; it was written, but not run: run it where that is linked."
)


def write_converted(path: Path, request: ExportRequest) -> None:
    """Write a graph in another runtime's format, which the file's suffix says, and verify it."""
    suffix = path.suffix.lower()
    conversion = CONVERSIONS[suffix]
    _check_packages(suffix, conversion)
    with function_as_graph(request) if request.read_only else nullcontext(request) as alone:
        path.write_bytes(_checked_model(alone, conversion, suffix, request.index))


def _checked_model(
    request: ExportRequest, conversion: Conversion, suffix: str, drawn: GraphIndex
) -> bytes:
    """The converted graph of a request; refusals point to ops of `drawn`, which the user sees."""
    notices, request = request.notices, replace(request, notices=[])
    request = _with_one_signature(request, conversion, f"A '{suffix}' file")
    _check_trust(request)
    frozen = freeze_graph(request, f"The graph of the {conversion.label} model")
    if frozen.remaining_state:
        name, kind = frozen.remaining_state[0]
        raise GraphEditError(
            f"{conversion.label} has no place for {kind} {name!r}; choose a boundary after or "
            "before it: save(path, inputs, outputs).",
            [name for name, _ in frozen.remaining_state],
            code="conversion-refused",
        )
    tell(f"Converting to {conversion.label}")
    model = _convert(frozen, conversion, drawn)
    if request.settings.verify and not frozen.why_not_run:
        tolerance = _TOLERANCE[_option_text(request.settings.options.get("optimize"))]
        lacking: list[str] = []
        load = partial(_load, model, frozen, conversion, request.settings.seconds, lacking)
        loader = (f"the {conversion.label} runtime", load)
        reference = GraphReference(frozen.request, frozen.state)
        kind = f"The {conversion.label} model"
        difference = check(reference, kind, [loader], lambda *_: bool(lacking), tolerance=tolerance)
        notices += lacking
        if difference is not None:  # before what is less important: a line may be cut off
            notices.append(
                SuccessReport(f"The largest difference from the graph is {difference:.3g}.")
            )
    notices += request.notices
    return model


def _check_trust(request: ExportRequest) -> None:
    """Raise NotTrusted for an op that does more than compute: a converter folds constants."""
    for signature in request.signatures:
        inputs, outputs = (
            [tensor for _, tensor in side] for side in (signature.inputs, signature.outputs)
        )
        effects = effects_of(request.index, request.trust).of_run(outputs, inputs)
        request.trust.check(effects, "it was not converted")


def _with_one_signature(request: ExportRequest, conversion: Conversion, kind: str) -> ExportRequest:
    """The request with the signature that is to be written, or with all that the user gave."""
    signatures = request.signatures
    by_name = {signature.name: signature for signature in signatures}
    if request.settings.signature:
        if request.settings.signature not in by_name:
            raise UnknownName(
                either(f"save(signature={request.settings.signature!r}): there", "There")
                + f" is no such signature; the graph has {names_text(list(by_name)) or 'none'}"
                + did_you_mean(request.settings.signature, by_name)
            )
        return replace(request, signatures=(by_name[request.settings.signature],))
    if not signatures:
        return with_apparent_signature(request, kind)
    if request.settings.signature is None and (conversion.label != "ONNX" or len(signatures) == 1):
        return request
    if request.settings.signature is None:
        raise GraphEditError(
            f"An ONNX model has one signature, and these are {names_text(list(by_name))}; save one "
            "file of each."
        )
    chosen = by_name.get(DEFAULT, signatures[0])
    others = [name for name in by_name if name != chosen.name]
    if others:
        request.notices.append(
            f"{kind} has signature {chosen.name!r} alone, without {names_text(others)}; "
            + in_cell("signature= chooses another.")
        )
    return replace(request, signatures=(chosen,))


def _option_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _check_packages(suffix: str, conversion: Conversion) -> None:
    if not tf_protos.is_tensorflow_installed():
        raise TensorFlowMissing(
            f"Writing a '{suffix}' file needs TensorFlow {OLDEST} or newer, which is not "
            "installed: run pip install "
            f"'tfgraphwidget[{','.join(filter(None, ('tensorflow', conversion.extra)))}]'."
        )
    missing = missing_packages(suffix)
    if missing:
        raise PackageMissing(f"save(path): a '{suffix}' file cannot be written, since {missing}.")


def _function(conversion: Conversion, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(
        import_module(f"tfgraphwidget.export.conversion.{conversion.module}"), name
    )
    return function


def _convert(frozen: FrozenGraph, conversion: Conversion, drawn: GraphIndex) -> bytes:
    request = frozen.request
    graph_def = _of_this_release(frozen.graph_def, request)
    arguments = (
        graph_def.SerializeToString(),
        frozen.part.signatures,
        dict(request.settings.options),
    )
    try:
        model: bytes = CONVERTERS.call(
            _function(conversion, "convert"), *arguments, seconds=request.settings.seconds
        )
    except ConversionRefused as refusal:
        raise _describe(refusal, conversion, request, drawn) from refusal
    except GraphEditError as error:
        raise GraphEditError(
            f"The graph cannot be converted to {conversion.label}: "
            + error.why
            + "; nothing was written.",
            code=error.code,
        ) from error
    return model


def _of_this_release(graph_def: GraphDef, request: ExportRequest) -> GraphDef:
    """A GraphDef in ops of the present release: converters run no old ones in a function."""
    present = copy_of(graph_def)
    present.versions.producer = tf_protos.graph_def_version()
    nodes = translate_old_ops(
        graph_def.node, request.index.typing, graph_def.versions, present.versions
    )
    del present.node[:]
    present.node.extend(nodes)
    return present


def _describe(
    refusal: ConversionRefused, conversion: Conversion, request: ExportRequest, drawn: GraphIndex
) -> GraphEditError:
    """The refusal of a converter as a sentence on the ops of the graph."""
    signatures = request.signatures if drawn is request.index else ()
    ops = find_ops(drawn, signatures, refusal.ops, refusal.op_types)
    types = f" ({', '.join(refusal.op_types[:_MOST_NAMES])})" if refusal.op_types else ""
    if len(ops) == 1:
        word, it, other = "op", "it", "another op in its place"
    else:
        word, it, other = "ops", "them", "other ops in their place"
    if ops:
        what = f"{word} {names_text(ops)}{types}: "
    else:
        what = f"ops{types}: " if types else ""
    helps = refusal.helps
    if not helps and what:
        helps = (
            f"choose a boundary without {it}, "
            + either("save(path, inputs, outputs), ", "")
            + f"or put {other}: "
            + editor_call("replace")
        )
    elif not helps:
        helps = in_cell(
            f"editor.lint(target={conversion.label.lower()!r}) lists ops that it does not take"
        )
    return GraphEditError(
        f"The graph cannot be converted to {conversion.label}: {what}"
        + refusal.why
        + "; nothing was written; "
        + helps
        + ".",
        ops,
        code="conversion-refused",
    )


def find_ops(
    index: GraphIndex,
    signatures: Iterable[Signature],
    names: Sequence[str],
    op_types: Sequence[str],
) -> tuple[str, ...]:
    """The ops of a graph, in graph order, that a converter means by names it has made of the graph
    ("while/body/_1/Lgamma"), also of ops in functions, or else by types.

    For what is in a function it is the op that calls it. `signatures` are those that it was
    converted for; () for the whole graph.
    """
    found_ops = {op for name in names if (op := _op_around(index, name)) is not None}
    if not found_ops and op_types:
        need = np.full(len(index), not signatures)
        for signature in signatures:
            inputs, outputs = (
                [tensor for _, tensor in side] for side in (signature.inputs, signature.outputs)
            )
            need |= needed_ops(index, inputs, outputs)
        found_ops = {
            op for op in np.flatnonzero(need).tolist() if _has_type(index, op, set(op_types))
        }
    return tuple(index.names[op] for op in sorted(found_ops))


def _op_around(index: GraphIndex, name: str) -> int | None:
    """The op of that name, or that whose function it is in."""
    while name:
        if name in index.ids:
            return index.ids[name]
        name = scope_around(name)
    return None


def _has_type(index: GraphIndex, op: int, op_types: set[str]) -> bool:
    """Whether an op, or an op in a function that it calls, has one of some types."""
    if index.types[op] in op_types:
        return True
    called = index.reachable_functions([index.nodes[op]]).values()
    return any(node.op in op_types for function in called for node in function.node_def)


@contextmanager
def _load(
    model: bytes, frozen: FrozenGraph, conversion: Conversion, seconds: float, lacking: list[str]
) -> Iterator[Run]:
    """Runs a model by the keys of the signatures, in the process of converters; `lacking` gets what
    it lacks.
    """
    signatures = {signature.name: signature for signature in frozen.part.signatures}

    def run(signature: Signature, feeds: Mapping[str, TensorCompatible]) -> dict[str, np.ndarray]:
        arrays = {key: np.asarray(value) for key, value in feeds.items()}
        runs = [(signatures[signature.name], arrays)]
        try:
            (outputs,) = CONVERTERS.call(_function(conversion, "run"), model, runs, seconds=seconds)
        except ConversionRefused as refusal:
            if _LACKS_SELECT in refusal.why:
                lacking.append(_NOT_RUN)
            raise
        except GraphEditError as error:  # the process has ended; `check` writes the sentence
            raise RuntimeError(error.why) from error
        result: dict[str, np.ndarray] = outputs
        return result

    yield run
