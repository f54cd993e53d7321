"""Saving: what of an editor is written to a file, and how the user hears of what could not be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfgraphwidget import edits, export, lint
from tfgraphwidget.argument_checks import check_seconds, value_text
from tfgraphwidget.editor.graph_view import Boundary
from tfgraphwidget.editor.linting import lint_editor
from tfgraphwidget.editor.signature_boundary import signature_boundary
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.edits import Command, apply_patch
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.edits.serialization import Script, script
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.export import apparent_signature
from tfgraphwidget.graph import (
    OUTPUT_SHAPES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    NodeDefs,
    Signature,
    build,
    chosen_of,
    devices_of,
    is_filled_in,
    needed_ops,
    needed_placeholders,
    ops,
    upstream,
)
from tfgraphwidget.lint import Finding
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.sentences import argument_value, editor_call, either, in_cell
from tfgraphwidget.sources import OpenOptions, Source, absent_devices, open_message, pinned_notices
from tfgraphwidget.tf_types import (
    Graph,
    GraphDef,
    MetaGraphDef,
    Module,
    NodeDef,
    Session,
    TensorKey,
)

_MOST_OPSET = 1_000  # there are 23 by now
_OWN_FIELDS = ("signature", "timeout", "tags")  # options that are fields of the request


class RequestedBoundary(NamedTuple):
    """The inputs, outputs and signatures that the user gave, in a form that `save` takes."""

    inputs: object
    outputs: object
    signatures: object


def save(
    core: EditorCore,
    path: str | PathLike[str],
    inputs: object,
    outputs: object,
    *,
    signatures: object,
    frozen: bool,
    inline: bool | None,
    lower_control_flow: bool,
    verify: bool,
    feeds: Mapping[TensorKey, Any],
    options: Mapping[str, object],
    archive: export.Document,
) -> Path:
    """Write the current graph, and return the path; see `FileAPI.save`. Raises GraphEditError if
    the graph cannot be written in this format; a file at the path stays as it was.
    """
    notices: list[str] = []
    core.save_notices = notices
    source, target = core.source, core.target
    requested = RequestedBoundary(inputs, outputs, signatures)
    signature = options.get("signature")
    seconds: Any = options.get("timeout")
    _check_numbers(seconds, options.get("opset"))
    if signature is not None and any(end is not None for end in requested):
        raise GraphEditError(
            either(
                "save(signature=...): give signature=, or inputs=, outputs= and signatures=, but "
                "not both.",
                "Give the signature, or inputs, outputs and signatures, but not both.",
            )
        )
    if (inline or lower_control_flow) and not frozen:
        raise GraphEditError(
            f"save({'inline' if inline else 'lower_control_flow'}=True): functions are inlined in "
            "a frozen "
            "graph; " + in_cell("give frozen=True too, or call freeze(inline=True) before.")
        )
    given_options = {
        name: value for name, value in options.items() if value and name not in _OWN_FIELDS
    }
    settings = export.SaveSettings(
        frozen=frozen,
        inline=frozen and inline is not False,
        lower_control_flow=lower_control_flow,
        verify=verify,
        feeds={_tensor_name(core, key): value for key, value in feeds.items()},
        tags=_tags(options.get("tags")),
        signature=None if signatures is not None else str(signature or ""),
        options=given_options,
        seconds=export.DEFAULT_SECONDS if seconds is None else float(seconds),
    )
    saved, is_folder = Path(path), str(path).endswith("/")
    breakage = [] if frozen else _breakage(core, saved, is_folder=is_folder)
    notices_before, restore_file = len(source.notices), target.file_restorer()
    try:
        with export.unwritable_refused(saved):
            kind = export.check_destination(saved, settings, folder=is_folder)
            notices += _unused_boundary(core, kind, requested, settings)
            document = archive if kind == export.EDITOR else _document(core, kind)
            if document is not None:
                export.save_document(saved, document, notices)
            else:
                export.save_graph(
                    saved, kind, _graph_to_save(core, kind, requested, settings, notices)
                )
    except GraphEditError as error:
        if error.code == "conversion-refused" and not error.fixes:
            error.fixes = _fixes_of(core, error.ops)
        raise
    else:
        notices += _breakage_notices(breakage, is_repaired=len(source.notices) > notices_before)
        notices += source.notices[notices_before:]  # of what has another name in TensorFlow's graph
        if signature is None and all(end is None for end in requested):
            notices += _notices_of_a_function(core, saved)
    finally:
        restore_file()
    if core.file_watch is not None:
        core.file_watch.accept(saved)
    for notice in filter(_is_warning, notices):
        # `GraphEditor.save`, after the check of its arguments.
        warnings.warn(notice, stacklevel=4)
    return saved


def _is_warning(notice: str) -> bool:
    return not isinstance(notice, export.SuccessReport)


def _breakage(core: EditorCore, path: Path, *, is_folder: bool) -> list[Finding]:
    """What TensorFlow refuses of a graph as it is written; nothing if it takes all of it."""
    with suppress(OSError):  # of a name that no file can have
        is_folder |= path.is_dir()
    is_graph = is_folder or not path.suffix or path.suffix.lower() in (*export.GRAPH_DEFS, ".meta")
    if not core.target.place.needs_import or not is_graph:
        return []
    return [
        finding for finding in lint_editor(core, "", lint.BROKEN, ()) if finding.severity == "error"
    ]


def _breakage_notices(findings: Iterable[Finding], *, is_repaired: bool) -> tuple[str, ...]:
    """A sentence on what is broken in a written file, and one on what blocks its import."""
    errors = list(findings)
    if is_repaired:
        errors = [error for error in errors if not _is_repaired_by_import(error)]
    if not errors:
        return ()
    sentence = "What is broken in the file is written again: " + errors[0].sentence
    if len(errors) > 1:
        sentence += f" There are {len(errors) - 1:,} more of these"
        sentence += either(": editor.lint().", ".")
    return (sentence,)


def _is_repaired_by_import(finding: Finding) -> bool:
    return finding.code == "missing-colocations" or OUTPUT_SHAPES in finding.sentence


def _notices_of_a_function(core: EditorCore, path: Path) -> tuple[str, ...]:
    """What to say of a model that is a function of what was opened; undo may lead into one."""
    here, entrance = core.navigator.path, core.entrance
    suffix = path.suffix.lower()
    is_model = path.is_dir() or suffix in (*export.GRAPH_DEFS, ".meta", *export.CONVERSIONS)
    if not is_model or _is_on_the_way(core):
        return ()
    sentence = (
        f"What was written is function {here[-1]!r} alone, which is open; "
        + editor_call("view.leave", f"{len(entrance) - 1}")
        + ", and save again, to write the graph that calls it."
    )
    return (sentence,)


def _is_on_the_way(core: EditorCore) -> bool:
    """Whether the current graph is one that a signature opens on, or calls it."""
    path = core.navigator.path
    return any(
        path == whole[: len(path)] for whole in (core.entrance, *core.navigator.signature_paths)
    )


def _check_numbers(timeout: object, opset: object) -> None:
    """Raise InvalidArgument for a wrong time limit, and for an opset that there cannot be."""
    try:
        check_seconds(export.DEFAULT_SECONDS if timeout is None else timeout)
    except ValueError:
        raise InvalidArgument(
            "timeout",
            argument_value("timeout", value_text(timeout))
            + " is not how long a converter may take; "
            + in_cell("give a number of seconds above 0, such as timeout=600."),
        ) from None
    if isinstance(opset, int) and not 0 < opset <= _MOST_OPSET:
        raise InvalidArgument(
            "opset",
            argument_value("opset", value_text(opset))
            + " is not a version of ONNX's ops; give one such as 17.",
        )


def _tensor_name(core: EditorCore, key: TensorKey) -> str:
    """The name of a tensor that the user feeds."""
    return key if isinstance(key, str) else core.arguments.names(key)[0]


def _tags(tags: object) -> tuple[str, ...]:
    """The tags that the user gave, each once; empty for None. Raises InvalidArgument."""
    if tags is None:
        return ()
    if isinstance(tags, str):
        tag_names: list[object] = [tags]
    else:
        tag_names = list(tags) if isinstance(tags, Iterable) else []
    if not tag_names or not all(isinstance(tag, str) and tag for tag in tag_names):
        raise InvalidArgument(
            "tags",
            argument_value("tags", value_text(tags))
            + " are not tags of a graph; "
            + in_cell("give one or several, such as tags=['serve']."),
        )
    return tuple(dict.fromkeys(map(str, tag_names)))


def _fixes_of(core: EditorCore, names: Collection[str]) -> tuple[Command, ...]:
    """The edits that take away ops which a converter refuses: dropouts, asserts, prints."""
    report = lint_editor(core, "", ("dropout", "asserts"), ())
    return tuple(
        each.fix for each in report if each.fix is not None and not set(names).isdisjoint(each.ops)
    )


def _document(core: EditorCore, kind: str) -> export.Document | None:
    """What a kind of file shows of an editor; None for kinds that hold a graph for runtimes."""
    steps = core.executor.history.done
    match kind:
        case ".svg" | ".png" | ".pdf":
            scene = core.view.scene()
            return export.Picture(scene, core.paint(scene))
        case ".dot":
            return export.Dot(core.index)
        case ".graphml":
            return export.GraphML(core.index)
        case ".html":
            return export.Page(page_input(core))
        case ".py":
            return export.EditScript(core.source.reopen_code, core.entrance, steps)
        case ".json":
            return export.EditRecords(steps)
    return None


def _graph_to_save(
    core: EditorCore,
    kind: str,
    requested: RequestedBoundary,
    settings: export.SaveSettings,
    notices: list[str],
) -> export.ExportRequest:
    """The current graph with what a kind of file has beside its ops."""
    request = replace(export_request(core), settings=settings, notices=notices)
    if core.executor.boundary is not None:
        request = replace(request, function=_OpenFunction(core, requested))
    if kind == export.SAVED_MODEL:
        request = replace(request, opened_model=_opened_saved_model(core))
        edited = _edited_saved_model(core, request, requested)
        if edited is not None:
            return replace(request, edited=edited, is_unedited=_is_unedited(core))
    if _is_plain(kind, settings) or (request.function is not None and request.read_only):
        # Whose modules have its signatures.
        return request
    return replace(request, signatures=requested_signatures(core, *requested))


def _is_plain(kind: str, settings: export.SaveSettings) -> bool:
    """Whether a kind of file is a GraphDef that is not frozen, which has no signatures."""
    return kind in export.GRAPH_DEFS and not settings.frozen


def _unused_boundary(
    core: EditorCore, kind: str, requested: RequestedBoundary, settings: export.SaveSettings
) -> tuple[str, ...]:
    """A sentence where a kind of file has no place for the inputs and outputs that the user names.
    Raises UnknownName for one that is not in the graph.
    """
    if settings.frozen or kind in (export.SAVED_MODEL, ".meta", *export.CONVERSIONS):
        return ()
    sides: list[Any] = [requested.inputs, requested.outputs]
    sides = [side for side in sides if side is not None]
    for side in sides:
        core.arguments.names([*side.values()] if isinstance(side, Mapping) else side)
    if not sides:
        return ()
    sentence = f"A '{kind}' file has all of the graph, and no inputs and outputs of its own"
    if kind in export.GRAPH_DEFS:
        sentence += "; one that is frozen has what the outputs need"
    return (export.SuccessReport(f"{sentence}."),)


def export_request(core: EditorCore, *, index: GraphIndex | None = None) -> export.ExportRequest:
    """The current graph to write, or that state of the opened graph, without signatures."""
    is_graph = index is not None or core.view.target is core.target
    return export.ExportRequest(
        index=core.index if index is None else index,
        graph=_OpenedGraph(core) if is_graph else _EnteredGraph(core),
        trust=core.source.trust,
        read_only=core.executor.read_only() or _why_elsewhere(core),
    )


@dataclass(frozen=True, eq=False)
class _OpenedGraph:
    """The graph that was opened, as an `export.GraphToExport`."""

    core: EditorCore

    def envelope(self) -> GraphDef:
        return self.core.target.place.envelope()

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        return self.core.target.place.as_in_file(nodes)

    def file_meta_graph(self) -> MetaGraphDef | None:
        stored = self.core.source.stored
        return None if stored is None else stored.meta()

    def live(self) -> Graph:
        return self.core.graph

    def session(self) -> Session | None:
        return self.core.session

    def stored_values(self) -> dict[str, Callable[[], object]]:
        return stored_values(self.core)

    def lacks_values(self) -> bool:
        return self.core.target.came_without_values()


class _EnteredGraph(_OpenedGraph):
    """The body of a function of it that the user has entered."""

    def envelope(self) -> GraphDef:
        return self.core.view.body.envelope()

    def as_in_file(self, nodes: Iterable[NodeDef]) -> list[NodeDef]:
        return list(nodes)


def _why_elsewhere(core: EditorCore) -> str:
    """Why a graph with ops on other machines cannot run here, as a sentence; "" if it can."""
    if not core.target.place.needs_import or core.executor.boundary is not None:
        return ""
    pinned = absent_devices(devices_of(core.target.index.nodes))
    return next(iter(pinned_notices([ops for ops in pinned if ops.elsewhere], soft=True)), "")


def stored_values(core: EditorCore) -> dict[str, Callable[[], object]]:
    """Readers of a file's values of variables, by the present names of their handle ops."""
    return core.target.place.value_readers(core.executor.patches_of(core.navigator.outermost))


def original_names(core: EditorCore) -> dict[str, str]:
    """The names before the edits of the ops that edits have renamed, by their present names."""
    names: dict[str, str] = {}
    for patch in core.executor.patches_of(core.navigator.outermost):
        names |= {new: names.pop(old, old) for old, new in patch.renamed}
    return names


def file_extract(core: EditorCore, command: Clone, boundary: Boundary) -> Source | None:
    """A part of a file's graph as a file of its own; None if it must be imported for that."""
    added = core.executor.part_of_file(command, boundary)
    if added is None:
        return None
    nodes = NodeDefs(added.add.nodes)
    whole = build(nodes, typing=core.target.index.typing, extras=core.target.index.extras)
    index = apply_patch(whole, replace(added, add=replace(added.add, nodes=())))
    request = export_request(core, index=index)
    message = export.meta_graph_alone(request)
    values = None if command.init == "none" else dict(added.values)
    trusted = core.source.trust.is_given
    source = open_message(
        message,
        core.source.title,
        "The part",
        OpenOptions(trusted=trusted),
        values=values,
        nodes=nodes,
    )
    source.notices += added.report.preview.dropped if added.report.preview is not None else ()
    return source


def script_of(core: EditorCore, file: str) -> Script:
    """The script that makes the edits again, with large arrays in `file`."""
    return script(core.source.reopen_code, core.entrance, core.executor.history.done, file)


class RunnableBoundary(NamedTuple):
    """What the signatures of a part that can run are.

    Attributes:
        boundary: All inputs and all outputs.
        signatures: {name: (inputs, outputs)}.
    """

    boundary: tuple[list[str], list[str]]
    signatures: dict[str, tuple[dict[str, str], dict[str, str]]]


def boundary_without_refused_ops(
    core: EditorCore,
    path: str | PathLike[str],
    inputs: object,
    outputs: object,
    signatures: object,
    *,
    frozen: bool,
) -> RunnableBoundary | None:
    """The boundary of the part to be written, if that can run and the whole file cannot.

    TensorFlow imports a file whole, with ops that it does not know or that are placed on other
    machines. What a frozen graph, a SavedModel or a converted model needs of the file may have
    none.

    Returns:
        The boundary; None where the file can run, where the part cannot, or where the format needs
        the whole graph.
    """
    suffix = Path(path).suffix.lower()
    is_folder = not suffix or str(path).endswith("/")
    with suppress(OSError):  # of a name that no file can have
        is_folder |= Path(path).is_dir()
    is_part = frozen or is_folder or suffix in export.CONVERSIONS
    if is_folder and core.source.stored is not None and core.source.stored.folder() is not None:
        return None  # a SavedModel keeps its other files, and needs no run for that
    if not is_part or not core.target.place.live_refusal or core.executor.boundary is not None:
        return None
    requested = requested_signatures(core, inputs, outputs, signatures)
    input_tensors = [tensor for signature in requested for _, tensor in signature.inputs]
    output_tensors = [tensor for signature in requested for _, tensor in signature.outputs]
    index = core.index
    input_types = {index.types[index.op(tensor)] for tensor in input_tensors}
    if not output_tensors or not input_types <= REQUIRED_PLACEHOLDERS:
        return None
    needed = needed_ops(index, (), [*input_tensors, *output_tensors])
    node_defs = [index.nodes[op] for op in np.flatnonzero(needed).tolist()]
    devices = absent_devices((node.name, node.device) for node in node_defs)
    if any(pinned.elsewhere for pinned in devices) or any(
        index.typing.definition(n.op) is None for n in node_defs
    ):
        return None
    return RunnableBoundary(
        (list(dict.fromkeys(input_tensors)), list(dict.fromkeys(output_tensors))),
        {
            signature.name: (dict(signature.inputs), dict(signature.outputs))
            for signature in requested
        },
    )


def requested_signatures(
    core: EditorCore, inputs: object, outputs: object, signatures: object
) -> tuple[Signature, ...]:
    """The signatures that are meant: those given as {name: (inputs, outputs)}, or of `inputs` and
    `outputs`, the boundary, or those of the file; none without outputs.

    Raises GraphEditError where both forms are given, or a tensor cannot be an end of a signature,
    and UnknownName.
    """
    if signatures is not None and (inputs is not None or outputs is not None):
        raise GraphEditError(
            either(
                "Give inputs= and outputs=, or signatures=,",
                "Give inputs and outputs, or signatures,",
            )
            + " but not both."
        )
    if signatures is inputs is outputs is None:
        inputs, outputs = boundary = core.arguments.marked_tensors
        own_signatures = core.executor.signatures if len(core.navigator.path) == 1 else ()
        is_chosen = export.is_chosen(boundary, core.index, core.source.signature, own_signatures)
        if own_signatures and (not is_chosen or _is_one_of(core, boundary, own_signatures)):
            signatures = own_signatures
        inputs = inputs or None
    return export.parse_signatures(core.index, core.arguments.names, inputs, outputs, signatures)


def _is_one_of(core: EditorCore, boundary: Boundary, signatures: tuple[Signature, ...]) -> bool:
    """Whether a boundary is that of one of some signatures."""

    def tensors(signature: Signature) -> tuple[set[str], set[str]]:
        return {tensor for _, tensor in signature.inputs}, {
            tensor for _, tensor in signature.outputs
        }

    inputs, outputs = boundary
    own = export.parse_signatures(core.index, core.arguments.names, inputs or None, outputs, None)
    return any(tensors(own[0]) == tensors(signature) for signature in signatures) if own else False


def signature_or_apparent(core: EditorCore) -> Signature:
    """The signature of the boundary or the file, of several the one by which the file was opened,
    or the first; or what the graph seems to be for. Raises GraphEditError where nothing in it looks
    like a result.
    """
    signatures = requested_signatures(core, None, None, None)
    return chosen_of(signatures, core.source.signature) or apparent_signature(core.index)


def own_arguments(core: EditorCore) -> tuple[str, ...]:
    """The arguments of a function without the constants that the call of a SavedModel's gives."""
    captured = core.view.body.constants
    arguments, _ = core.executor.inputs_and_outputs
    return tuple(name for name in arguments if split_tensor(name)[0] not in captured)


def boundary_or_apparent(core: EditorCore) -> Boundary:
    """The marked boundary, or that of the function, signature or apparent purpose."""
    inputs, outputs = core.view.boundary
    if outputs and not inputs:
        inputs = tuple(f"{name}:0" for name in needed_placeholders(core.index, outputs))
    if inputs or outputs:
        return inputs, outputs
    _, results = core.executor.inputs_and_outputs
    if results:
        return own_arguments(core), tuple(results.values())
    state = core.index, core.executor.signatures
    if core.apparent is None or core.apparent[0] is not state[0] or core.apparent[1] != state[1]:
        try:
            signature = signature_or_apparent(core)
        except GraphEditError:  # nothing in the graph looks like a result
            signature = Signature("", (), ())
        inputs, outputs = (
            tuple(name for _, name in side) for side in (signature.inputs, signature.outputs)
        )
        core.apparent = (*state, (inputs, outputs))
    return core.apparent[2]


def page_input(core: EditorCore) -> export.PageInput:
    """The input of a page: the current graph, and the functions that can be entered."""
    view, selection = core.view, core.view.selection
    inputs, outputs = view.boundary
    return export.PageInput(
        index=core.index,
        view_spec=view.view_spec,
        path=core.navigator.path,
        memo=view.memo,
        layout=view.layout,
        selected=() if selection is None else tuple(core.index.ids[name] for name in selection.ops),
        inputs=inputs,
        outputs=outputs,
        notices=core.source.notices,
        encodings=core.coloring.without_a_run(),
        color_by=core.coloring.current,
        entered=core.navigator,
        colors=core.coloring,
        marks=core.evaluator.marks(),
        trust=core.source.trust,
    )


def _is_unedited(core: EditorCore) -> bool:
    """Whether the SavedModel that was opened, with what is shown of it, is as it was."""
    stored = core.source.stored
    if (
        stored is None
        or stored.other_values()
        or any(step.patch for step in core.executor.history.done)
    ):
        return False
    # Of a graph of which something is filled in, the file's own ops are others.
    return core.target.place.is_unedited() and not is_filled_in(core.target.first.nodes)


def _opened_saved_model(core: EditorCore) -> export.OpenedSavedModel | None:
    """The SavedModel that the editor's graph is of; None without its variables' values."""
    stored = core.source.stored
    folder = None if stored is None else stored.folder()
    if stored is None or folder is None:
        return None
    return export.OpenedSavedModel(folder, stored, original_names(core))


def _edited_saved_model(
    core: EditorCore, request: export.ExportRequest, requested: RequestedBoundary
) -> export.EditedSavedModel | None:
    """The SavedModel that was opened, to be written with its signatures as edits have left them.

    None when other signatures are requested, and when the current graph is a function that was
    entered by the user.
    """
    source, target, is_graph = core.source, core.target, core.view.target is core.target
    if request.opened_model is None or any(end is not None for end in requested):
        return None
    if not (is_graph or _is_on_the_way(core)):
        return None
    if is_graph and requested_signatures(core, None, None, None) != core.executor.signatures:
        return None
    graph = replace(
        request,
        index=target.index,
        graph=_OpenedGraph(core),
        signatures=core.executor.signatures,
        function=None,
        read_only="",
    )
    lost = core.executor.lost_signatures
    return export.EditedSavedModel(
        request.opened_model, target.first, source.signatures, lost, graph, source.session
    )


@dataclass(frozen=True, eq=False)
class _OpenFunction:
    """The open function, as an `export.FunctionToExport`, with the user's inputs and outputs."""

    core: EditorCore
    requested: RequestedBoundary

    def modules(self) -> dict[str, Module]:
        executor, (inputs, outputs, signatures) = self.core.executor, self.requested
        if inputs is outputs is signatures is None:
            return {
                export.DEFAULT: executor.edited_module("edited"),
                **executor.signature_modules(),
            }
        arguments, returns = executor.inputs_and_outputs
        boundary = (
            arguments if inputs is None else inputs,
            returns if outputs is None else outputs,
        )
        parts = requested_signatures(
            self.core, *(boundary if signatures is None else (None, None)), signatures
        )
        return {part.name: executor.part_module(part) for part in parts}

    def without_tensorflow(self, request: export.ExportRequest) -> export.ExportRequest | None:
        core, index = self.core, self.core.index
        if not core.target.place.needs_import:
            return None
        arguments, returns = core.executor.inputs_and_outputs
        signatures = (
            requested_signatures(core, *self.requested)
            if any(end is not None for end in self.requested)
            else ()
        )
        if not signatures:
            keys = (
                {}
                if core.source.signature is None
                else signature_boundary(core.source.signature, core.view).inputs
            )
            inputs = tuple((keys.get(name, split_tensor(name)[0]), name) for name in arguments)
            signatures = (Signature(export.DEFAULT, inputs, tuple(returns.items())),)
        outputs = tuple(
            dict.fromkeys(tensor for signature in signatures for _, tensor in signature.outputs)
        )
        init = core.executor.default_init()
        part = upstream(index, *outputs) | ops(index, *arguments)
        clone = edits.command_of(
            edits.Clone, core.arguments, part, into="", init=init, graph=core.target
        )
        source = file_extract(core, clone, ((), outputs))
        if source is None:
            return None
        alone = export_request(EditorCore.of(source, core.show))
        return replace(
            alone, signatures=signatures, settings=request.settings, notices=request.notices
        )
