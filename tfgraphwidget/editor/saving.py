"""Saving: what of an editor is written to a file, and how the user hears of what could not be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from tfgraphwidget import export, lint, writable
from tfgraphwidget.argument_checks import value_text
from tfgraphwidget.editor.apparent_signature import apparent_signature
from tfgraphwidget.editor.graph_view import Boundary
from tfgraphwidget.editor.linting import lint_editor
from tfgraphwidget.editor.signature_ends import signature_ends
from tfgraphwidget.editor.state import EditorCore
from tfgraphwidget.edits import Command, apply_patch
from tfgraphwidget.edits.clone import Clone
from tfgraphwidget.edits.serialization import Script, document, records_of, script
from tfgraphwidget.errors import GraphEditError, InvalidArgument
from tfgraphwidget.graph import (
    OUTPUT_SHAPES,
    REQUIRED_PLACEHOLDERS,
    GraphIndex,
    Signature,
    build,
    is_filled_in,
    needed_ops,
    ops,
    upstream,
)
from tfgraphwidget.lint import Finding
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.scene import scene as scenes
from tfgraphwidget.sentences import argument_value, editor_call, either, in_cell
from tfgraphwidget.sources import OpenOptions, Source, absent_devices, open_message, pinned_notices, tf_protos
from tfgraphwidget.tf_types import Module, TensorKey
from tfgraphwidget.writable import CONVERSIONS

_MOST_OPSET = 1_000  # there are 23 by now
_OWN_FIELDS = ("signature", "timeout", "tags")  # options that are fields of the request
_SECONDS = 600.0
"""How long a converter may take, unless the user gives a limit."""


def save(
    core: EditorCore,
    path: str | PathLike[str],
    inputs: object,
    outputs: object,
    *,
    signatures: object,
    frozen: bool,
    inline: bool,
    lower_control_flow: bool,
    verify: bool,
    feeds: Mapping[TensorKey, Any],
    options: Mapping[str, object],
    write_editor: Callable[[IO[bytes]], Iterable[str]],
) -> Path:
    """Write the current graph; see `FileAPI.save`.

    Args:
        core: The parts of the editor.
        path: The file, or the folder of a SavedModel.
        inputs: The inputs of the signature: tensors, or {key: tensor}; None for the boundary or the file's signatures.
        outputs: The outputs of the signature, in the same forms.
        signatures: Several signatures, {name: (inputs, outputs)}, or None.
        frozen: Whether a GraphDef gets constants in place of variables.
        inline: Whether a frozen GraphDef gets the ops of functions in place of calls.
        lower_control_flow: Whether it gets Switch and Merge in place of loops and conditionals of TensorFlow 2.
        verify: Whether the written model is loaded and run beside the current graph.
        feeds: {input: value} for that run. It may be empty.
        options: None where not given: "tags" of a SavedModel; of a converter "signature", "timeout", and what
            `writable.CONVERSIONS` lists.
        write_editor: Writes the editor itself to an open file, and returns a sentence for each thing that is not in it.

    Returns:
        The path that was written.

    Raises:
        GraphEditError: The graph cannot be saved this way; the file is as it was before.
    """
    notices: list[str] = []
    core.save_notices = notices
    source, target = core.source, core.target
    ends = inputs, outputs, signatures
    signature = options.get("signature")
    seconds: Any = options.get("timeout")
    _check_numbers(seconds, options.get("opset"))
    if signature is not None and any(end is not None for end in ends):
        raise GraphEditError(
            either(
                "save(signature=...): give signature=, or inputs=, outputs= and signatures=, but not both.",
                "Give the signature, or inputs, outputs and signatures, but not both.",
            )
        )
    if (inline or lower_control_flow) and not frozen:
        raise GraphEditError(
            f"save({'inline' if inline else 'lower_control_flow'}=True): functions are inlined in a frozen "
            "graph; " + in_cell("give frozen=True too, or call freeze(inline=True) before.")
        )
    request = replace(
        export_request(core, ends=ends, write_editor=write_editor),
        add_notice=notices.append,
        frozen=frozen,
        inline=inline,
        lower_control_flow=lower_control_flow,
        verify=verify,
        tags=_tags(options.get("tags")),
        signature=None if signatures is not None else str(signature or ""),
        options={name: value for name, value in options.items() if value and name not in _OWN_FIELDS},
        seconds=_SECONDS if seconds is None else float(seconds),
        feeds={key if isinstance(key, str) else core.arguments.names(key)[0]: value for key, value in feeds.items()},
    )
    breakage = [] if frozen else _breakage(core, Path(path), is_folder=str(path).endswith("/"))
    notices_before, restore_file = len(source.notices), target.file_restorer()
    try:
        saved = export.save(Path(path), request, folder=str(path).endswith("/"))
    except GraphEditError as error:
        if error.code == "conversion-refused" and not error.mends:
            error.mends = _fixes_of(core, error.ops)
        raise
    else:
        notices += _breakage_notices(breakage, is_repaired=len(source.notices) > notices_before)
        notices += source.notices[notices_before:]  # of what has another name in TensorFlow's graph
        if signature is None and all(end is None for end in ends):
            notices += _notices_of_a_function(core, saved)
    finally:
        restore_file()
    if core.file_watch is not None:
        core.file_watch.accept(saved)
    for notice in notices:
        warnings.warn(notice, stacklevel=4)  # behind `GraphEditor.save` and the check of its arguments
    return saved


def _breakage(core: EditorCore, path: Path, *, is_folder: bool) -> list[Finding]:
    """What TensorFlow refuses of a graph that is written as it is; nothing if it takes all of it."""
    with suppress(OSError):  # of a name that no file can have
        is_folder |= path.is_dir()
    is_graph = is_folder or not path.suffix or path.suffix.lower() in (*writable.GRAPH_DEFS, ".meta")
    if not core.target.is_file or not is_graph:
        return []
    return [finding for finding in lint_editor(core, "", lint.BROKEN, ()) if finding.severity == "error"]


def _breakage_notices(findings: Iterable[Finding], *, is_repaired: bool) -> tuple[str, ...]:
    """A sentence on what is broken in a file that was written.

    Args:
        findings: What lint finds in the graph.
        is_repaired: Whether TensorFlow has imported the graph without what no op needs, which a notice says.
    """
    errors = [
        finding
        for finding in findings
        if not is_repaired or (finding.code != "missing-colocations" and OUTPUT_SHAPES not in finding.sentence)
    ]
    if not errors:
        return ()
    more = f" There are {len(errors) - 1:,} more of these" + either(": editor.lint().", ".") if len(errors) > 1 else ""
    return ("What is broken in the file is written again: " + errors[0].sentence + more,)


def _notices_of_a_function(core: EditorCore, path: Path) -> tuple[str, ...]:
    """What to say of a model that is a function inside what was opened: undo and redo lead into one, too."""
    here, entrance = core.navigator.path, core.entrance
    suffix = path.suffix.lower()
    is_model = path.is_dir() or suffix in (*writable.GRAPH_DEFS, ".meta", *writable.CONVERSIONS)
    if not is_model or _is_on_the_way(core):
        return ()
    sentence = (
        f"What was written is function {here[-1]!r} alone, which is open; "
        + editor_call("leave", f"{len(entrance) - 1}")
        + ", and save again, to write the graph that calls it."
    )
    return (sentence,)


def _is_on_the_way(core: EditorCore) -> bool:
    """Whether the current graph is one that a signature opens on, or calls it: the file is meant as a whole."""
    path = core.navigator.path
    return any(path == whole[: len(path)] for whole in (core.entrance, *core.navigator.signature_paths))


def _check_numbers(timeout: object, opset: object) -> None:
    """Raise InvalidArgument for a time limit that is none, and for an opset that there cannot be."""
    try:
        writable.check_seconds(_SECONDS if timeout is None else timeout)
    except ValueError:
        raise InvalidArgument(
            "timeout",
            argument_value("timeout", value_text(timeout))
            + " is not how long a converter may take; "
            + in_cell("give a number of seconds above 0, such as timeout=600."),
        ) from None
    if isinstance(opset, int) and not 0 < opset <= _MOST_OPSET:
        raise InvalidArgument(
            "opset", argument_value("opset", value_text(opset)) + " is no version of ONNX's ops; give one such as 17."
        )


def _tags(tags: object) -> tuple[str, ...]:
    """The tags that the user gave, each once; empty for None. Raises InvalidArgument for what are no tags."""
    if tags is None:
        return ()
    tag_names = (tags,) if isinstance(tags, str) else tuple(tags) if isinstance(tags, Iterable) else ()
    if not tag_names or not all(isinstance(tag, str) and tag for tag in tag_names):
        raise InvalidArgument(
            "tags",
            argument_value("tags", value_text(tags))
            + " are no tags of a graph; "
            + in_cell("give one or several, such as tags=['serve']."),
        )
    return tuple(dict.fromkeys(map(str, tag_names)))


def _fixes_of(core: EditorCore, names: Collection[str]) -> tuple[Command, ...]:
    """The edits that take away ops which a converter does not take: a dropout, asserts and prints."""
    report = lint_editor(core, "", ("dropout", "asserts"), ())
    return tuple(each.fix for each in report if each.fix is not None and not set(names).isdisjoint(each.ops))


def export_request(
    core: EditorCore,
    *,
    index: GraphIndex | None = None,
    ends: tuple[object, object, object] = (None, None, None),
    write_editor: Callable[[IO[bytes]], Iterable[str]] | None = None,
) -> export.ExportRequest:
    """What the editor provides for writing a graph.

    Args:
        core: The parts of the editor.
        index: A state of the graph that was opened; None for the current graph.
        ends: The inputs, outputs and signatures that the user gave.
        write_editor: Writes the editor itself to an open file, and returns a sentence for each thing that is not in it.
    """
    source, target = core.source, core.target
    is_graph = index is not None or core.view.target is target
    return export.ExportRequest(
        index=core.index if index is None else index,
        envelope=target.envelope if is_graph else core.view.body.envelope,
        nodes_as_in_file=target.as_in_file if is_graph else list,
        file_meta_graph=None if source.stored is None else source.stored.meta,
        find_opened_model=lambda: _opened_saved_model(core),
        unedited_folder=lambda: _unedited_folder(core, *ends),
        edited=lambda request: _edited_saved_model(core, request, *ends),
        graph=lambda: core.graph,
        session=lambda: core.session,
        find_signatures=lambda: requested_signatures(core, *ends),
        find_apparent_signature=lambda: apparent_signature(core.index),
        picture=lambda: _picture(core),
        code=lambda file: script_of(core, file),
        find_page_input=lambda: page_input(core),
        edits=lambda: document(records_of(core.executor.history.done)),
        stored_values=lambda: stored_values(core),
        editor=write_editor,
        modules=_functions(core, *ends) if core.executor.in_function else None,
        file_part=partial(_file_part, core, ends) if core.executor.in_function else None,
        read_only=core.executor.read_only() or _why_elsewhere(core),
        lacks_values=target.came_without_values,
        trust=source.trust,
    )


def _why_elsewhere(core: EditorCore) -> str:
    """Why a file's graph cannot run here that edits have placed on other machines, as a sentence; "" if it can."""
    if not core.target.is_file or core.executor.in_function:
        return ""
    pinned = absent_devices((node.name, node.device) for node in core.target.index.nodes if node.device)
    return next(iter(pinned_notices([ops for ops in pinned if ops.elsewhere], soft=True)), "")


def stored_values(core: EditorCore) -> dict[str, Callable[[], object]]:
    """Readers of the values that a file has for variables, by the names that their handle ops have now.

    Args:
        core: The parts of the editor.
    """
    return core.target.value_readers(core.executor.patches_of(core.navigator.outermost))


def original_names(core: EditorCore) -> dict[str, str]:
    """The names of ops before the edits, by the names that they have now, for those that edits have renamed.

    Args:
        core: The parts of the editor.
    """
    names: dict[str, str] = {}
    for patch in core.executor.patches_of(core.navigator.outermost):
        names |= {new: names.pop(old, old) for old, new in patch.renamed}
    return names


def file_extract(core: EditorCore, command: Clone, ends: Boundary) -> Source | None:
    """A part of a file's graph as a file of its own, made without importing it; None where it is imported for that.

    Args:
        core: The parts of the editor.
        command: The clone of the part into another graph.
        ends: The inputs and outputs of the part.
    """
    added = core.executor.plan_extract(command, ends)
    if added is None:
        return None
    index = apply_patch(build((), typing=core.target.index.typing, extras=core.target.index.extras), added)
    request = export_request(core, index=index).with_signatures(())
    message = tf_protos.MetaGraphDef.FromString(export.meta_graph_bytes(request, None))
    values = None if command.init == "none" else dict(added.values)
    trusted = core.source.trust.is_given
    source = open_message(message, core.source.title, "The part", OpenOptions(trusted=trusted), values=values)
    source.notices += added.preview.dropped if added.preview is not None else ()
    return source


def script_of(core: EditorCore, file: str) -> Script:
    """The script that makes the edits again, with large arrays in `file`.

    Args:
        core: The parts of the editor.
        file: The name of the file.
    """
    return script(core.source.reopen_code, core.entrance, core.executor.history.done, file)


class RunnableEnds(NamedTuple):
    """What the signatures of a part that can run are.

    Attributes:
        boundary: All inputs and all outputs.
        signatures: {name: (inputs, outputs)}.
    """

    boundary: tuple[list[str], list[str]]
    signatures: dict[str, tuple[dict[str, str], dict[str, str]]]


def ends_without_refused_ops(
    core: EditorCore, path: str | PathLike[str], inputs: object, outputs: object, signatures: object, *, frozen: bool
) -> RunnableEnds | None:
    """The ends of the part of a file that is to be written, if that can run and the whole file cannot.

    TensorFlow imports a file whole, with ops that it does not know or that are placed on other machines. What a frozen
    graph, a SavedModel or a converted model needs of the file may have none.

    Args:
        core: The parts of the editor.
        path: The file to write.
        inputs: As for `requested_signatures`.
        outputs: The same.
        signatures: The same.
        frozen: Whether variables become constants.

    Returns:
        The ends; None where the file can run, where the part cannot, or where the format needs the whole graph.
    """
    suffix = Path(path).suffix.lower()
    is_folder = not suffix or str(path).endswith("/")
    with suppress(OSError):  # of a name that no file can have
        is_folder |= Path(path).is_dir()
    is_part = frozen or is_folder or suffix in CONVERSIONS
    if is_folder and core.source.stored is not None and core.source.stored.folder() is not None:
        return None  # a SavedModel keeps its other files, and needs no run for that
    if not is_part or not core.target.is_file or not core.target.live_refusal or core.executor.in_function:
        return None
    ends = requested_signatures(core, inputs, outputs, signatures)
    input_tensors = [tensor for signature in ends for _, tensor in signature.inputs]
    output_tensors = [tensor for signature in ends for _, tensor in signature.outputs]
    index = core.index
    input_types = {index.types[index.op(tensor)] for tensor in input_tensors}
    if not output_tensors or not input_types <= REQUIRED_PLACEHOLDERS:
        return None
    needed = needed_ops(index, (), [*input_tensors, *output_tensors])
    node_defs = [index.nodes[op] for op in np.flatnonzero(needed).tolist()]
    devices = absent_devices((node.name, node.device) for node in node_defs)
    if any(pinned.elsewhere for pinned in devices) or any(index.typing.definition(n.op) is None for n in node_defs):
        return None
    return RunnableEnds(
        (list(dict.fromkeys(input_tensors)), list(dict.fromkeys(output_tensors))),
        {signature.name: (dict(signature.inputs), dict(signature.outputs)) for signature in ends},
    )


def requested_signatures(
    core: EditorCore, inputs: object, outputs: object, signatures: object
) -> tuple[Signature, ...]:
    """The signatures that are meant: those given, or the boundary, or those that the file was opened with.

    Args:
        core: The parts of the editor.
        inputs: Tensors, or {key: tensor}, or None.
        outputs: Tensors, or {key: tensor}, or None.
        signatures: {name: (inputs, outputs)}, or None.

    Returns:
        The signatures; empty without outputs.

    Raises:
        GraphEditError: Both forms are given, or a tensor cannot be an end of a signature.
        UnknownName: A name is not in the graph.
    """
    if signatures is not None and (inputs is not None or outputs is not None):
        raise GraphEditError(
            either("Give inputs= and outputs=, or signatures=,", "Give inputs and outputs, or signatures,")
            + " but not both."
        )
    if signatures is inputs is outputs is None:
        inputs, outputs = boundary = core.view.boundary
        own_signatures = core.executor.signatures if len(core.navigator.path) == 1 else ()
        is_chosen = export.is_chosen(boundary, core.index, core.source.signature, own_signatures)
        if own_signatures and (not is_chosen or _is_one_of(core, boundary, own_signatures)):
            signatures = own_signatures
    return export.parse_signatures(core.index, core.arguments.names, inputs, outputs, signatures)


def _is_one_of(core: EditorCore, boundary: Boundary, signatures: tuple[Signature, ...]) -> bool:
    """Whether a boundary is that of one of some signatures."""

    def tensors(signature: Signature) -> tuple[set[str], set[str]]:
        return {tensor for _, tensor in signature.inputs}, {tensor for _, tensor in signature.outputs}

    own = export.parse_signatures(core.index, core.arguments.names, *boundary, None)
    return any(tensors(own[0]) == tensors(signature) for signature in signatures) if own else False


def signature_or_apparent(core: EditorCore) -> Signature:
    """The signature of the current graph: of the boundary or of the file, or that of what the graph seems to be for.

    Args:
        core: The parts of the editor.

    Returns:
        The signature; of several the one by which the file was opened, or the first.

    Raises:
        GraphEditError: Nothing in the graph looks like a result.
    """
    signatures = requested_signatures(core, None, None, None)
    signature_of_source = core.source.signature
    own = [
        signature
        for signature in signatures
        if signature_of_source is not None and signature.name == signature_of_source.name
    ]
    return next(iter(own or signatures), None) or apparent_signature(core.index)


def page_input(core: EditorCore) -> export.PageInput:
    """The input of a page: the current graph, and the functions that can be entered.

    Args:
        core: The parts of the editor.
    """
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
        find_encodings=core.coloring.without_a_run,
        trust=core.source.trust,
    )


def _unedited_folder(core: EditorCore, *ends: object) -> Path | None:
    """The folder of the SavedModel that is shown, if it is to be saved as it was opened and nothing has changed."""
    stored_data, is_graph = core.source.stored, core.view.target is core.target
    if stored_data is None or stored_data.other_values() or any(end is not None for end in ends):
        return None
    if any(step.patch for step in core.executor.history.done):
        return None
    if not (is_graph or _is_on_the_way(core)):
        return None
    if is_graph and requested_signatures(core, None, None, None) != core.executor.signatures:
        return None
    if not core.target.is_unedited() or is_filled_in(core.target.first.nodes):  # then the file's own ops are others
        return None
    return stored_data.folder()


def _opened_saved_model(core: EditorCore) -> export.OpenedSavedModel | None:
    """The SavedModel of which the graph of the editor is one; None without the values of its variables."""
    stored = core.source.stored
    folder = None if stored is None else stored.folder()
    if stored is None or folder is None:
        return None
    return export.OpenedSavedModel(folder, stored, original_names(core))


def _edited_saved_model(
    core: EditorCore, request: export.ExportRequest, *ends: object
) -> export.EditedSavedModel | None:
    """The SavedModel that was opened, to be written with its signatures as edits have left them.

    None when other signatures are requested, and when the current graph is a function that was entered by the user.
    """
    source, target, is_graph = core.source, core.target, core.view.target is core.target
    if source.stored is None or request.opened_model is None or any(end is not None for end in ends):
        return None
    if not (is_graph or _is_on_the_way(core)):
        return None
    if is_graph and requested_signatures(core, None, None, None) != core.executor.signatures:
        return None
    graph = replace(
        request,
        index=target.index,
        envelope=target.envelope,
        nodes_as_in_file=target.as_in_file,
        find_signatures=lambda: core.executor.signatures,
        modules=None,
        read_only="",
    )
    lost = core.executor.lost_signatures
    return export.EditedSavedModel(request.opened_model, target.first, source.signatures, lost, graph, source.session)


def _functions(
    core: EditorCore, inputs: object, outputs: object, signatures: object
) -> Callable[[], dict[str, Module]]:
    """Return a function that makes tf.Modules by name: of the current function and its signatures, or of its parts."""

    def modules() -> dict[str, Module]:
        if inputs is outputs is signatures is None:
            return {export.DEFAULT: core.executor.edited_module("edited"), **core.executor.signature_modules()}
        arguments, returns = core.executor.function_ends()
        ends = (arguments if inputs is None else inputs, returns if outputs is None else outputs)
        parts = requested_signatures(core, *(ends if signatures is None else (None, None)), signatures)
        return {part.name: core.executor.part_module(part) for part in parts}

    return modules


def _file_part(
    core: EditorCore, ends: tuple[object, object, object], request: export.ExportRequest
) -> export.ExportRequest | None:
    """The request of a function of a file as a graph with variables; None where TensorFlow has to make it one."""
    if not core.target.is_file:
        return None
    arguments, returns = core.executor.function_ends()
    signatures = requested_signatures(core, *ends) if any(end is not None for end in ends) else ()
    if not signatures:
        keys = {} if core.source.signature is None else signature_ends(core.source.signature, core.view).inputs
        inputs = tuple((keys.get(name, split_tensor(name)[0]), name) for name in arguments)
        signatures = (Signature(export.DEFAULT, inputs, tuple(returns.items())),)
    outputs = tuple(dict.fromkeys(tensor for signature in signatures for _, tensor in signature.outputs))
    options = {"init": core.executor.default_init(), "graph": core.target}
    part = upstream(core.index, *outputs) | ops(core.index, *arguments)
    source = file_extract(core, core.arguments.clone(part, None, "", options), ((), outputs))
    if source is None:
        return None
    alone = export_request(EditorCore.of(source, core.show))
    return replace(
        alone.with_signatures(signatures),
        frozen=request.frozen,
        inline=request.inline,
        lower_control_flow=request.lower_control_flow,
        verify=request.verify,
        feeds=request.feeds,
        signature=request.signature,
        options=request.options,
        seconds=request.seconds,
        add_notice=request.add_notice,
    )


def _picture(core: EditorCore) -> tuple[scenes.Scene, scenes.Paint]:
    scene = core.view.scene()
    return scene, core.paint(scene)
