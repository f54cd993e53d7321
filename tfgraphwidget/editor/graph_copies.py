"""Copies of ops from one graph into another, or within one: what they begin with, and what the user
gets of them.

A copy between files is made of NodeDefs, with readers of the values of its variables; TensorFlow
imports neither file. All other copies are made in TensorFlow's graph, where a session has the
values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from tfgraphwidget import runtime
from tfgraphwidget.editor import clone_values
from tfgraphwidget.graph import GraphIndex, effects_of_nodes
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.runtime import live
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import Variable

if TYPE_CHECKING:
    from tfgraphwidget.editor.places import OpenedGraph
    from tfgraphwidget.edits import Patch, Preview  # noqa: TC004  # a string at run time

_Item = TypeVar("_Item")
_Planner = Callable[[GraphIndex, GraphIndex], "Patch"]
_Readers = Mapping[str, Callable[[], object]]


def _nothing() -> None:
    """Load nothing: the copies in a file have readers of their values."""


@dataclass(frozen=True)
class GraphCopies:
    """Copies that were planned: the originals, the patch, and what loads the values.

    `pairs` are the names of (original, copy); the patch of copies out of another file does not have
    them.
    """

    origin: clone_values.GraphSession
    patch: Patch
    pairs: tuple[tuple[str, str], ...]
    load: Callable[[], None]


def plan_copies(
    plan: _Planner,
    origin: OpenedGraph,
    target: OpenedGraph,
    readers: Callable[[], _Readers],
    *,
    reseed: bool = False,
) -> GraphCopies:
    """Plan copies of ops of one graph into another, or into itself.

    What is refused is refused before a file is imported.

    Args:
        readers: Gives readers of the values of a file's variables, by their handle ops.
        reseed: Whether new initial values of a function's variables are drawn with other seeds.

    Raises:
        GraphEditError: The ops cannot be copied; NotClonable, NotTrusted, SessionRefused and others
            say why.
    """
    own = origin.present_graph()
    there = own.index if origin is target else target.index
    patch = plan(own.index, there)
    if stays_in_file(patch, own.index, origin, target):
        check_copied(patch, origin, target)
        pairs = patch.add.copies
        try:
            patch = _with_values(patch, own, target, readers())
            preview = with_notices(patch, target)
            return GraphCopies(own, _with_preview(patch, preview), pairs, _nothing)
        except clone_values.NoValueInFile:
            if not _may_find_values(origin):
                raise
    if origin.place.needs_import or target.place.needs_import:
        target.check_placed(patch, origin)  # else it is when the patch is applied
    source = origin.graph_session()
    destination = source if origin is target else target.graph_session()
    source = replace(source, fresh=origin.source.fresh_values(reseed=reseed))
    if source.index is not own.index or destination.index is not there:  # a file was imported
        patch = plan(source.index, destination.index)
    check_copied(patch, origin, target)
    patch = _with_preview(patch, with_notices(patch, target))
    load = clone_values.value_loader(patch, source, destination)
    return GraphCopies(source, patch, patch.add.copies, load)


def check_copies(
    patch: Patch, origin: OpenedGraph, target: OpenedGraph, readers: Callable[[], _Readers]
) -> None:
    """Raise what `plan_copies` and `apply` would, as far as it is known without a run: nothing is
    imported, and no value is read.
    """
    target.check_placed(patch, origin)
    check_copied(patch, origin, target)
    own = origin.present_graph()
    if origin.place.needs_import or target.place.needs_import:
        if origin.place.needs_import:
            try:
                clone_values.check_file_values(patch, own, readers())
            except clone_values.NoValueInFile:
                if not _may_find_values(origin):
                    raise
        return
    destination = own if origin is target else target.present_graph()
    clone_values.check_values(patch, own, destination)
    target.check(patch, origin)


def _may_find_values(origin: OpenedGraph) -> bool:
    """Whether what a file runs when it is loaded may give variables values."""
    return origin.source.has_values and tf_protos.is_tensorflow_installed()


def stays_in_file(
    patch: Patch, index: GraphIndex, origin: OpenedGraph, target: OpenedGraph
) -> bool:
    """Whether a copy of ops of files is made of NodeDefs, without importing them."""
    is_held = not (tf_protos.is_tensorflow_installed() and clone_values.needs_session(patch, index))
    return is_held and origin.place.needs_import and target.place.needs_import


def check_copied(patch: Patch, source: OpenedGraph, target: OpenedGraph) -> None:
    """Raise NotTrusted if a trusted graph would get unsafe ops of one that is not."""
    if target.source.trust.is_given:
        effects = effects_of_nodes(patch.add.nodes, patch.add.functions, source.source.trust)
        source.source.trust.check(effects, "it was not added to a graph that is")


def with_notices(patch: Patch, target: OpenedGraph) -> Preview:
    """The preview of copies, with a notice for each device that is missing."""
    preview = patch.report.preview
    assert preview is not None  # every clone has one
    return replace(preview, dropped=(*preview.dropped, *target.placing_notices(patch)))


def _with_values(
    patch: Patch, origin: clone_values.GraphSession, target: OpenedGraph, readers: _Readers
) -> Patch:
    """The patch of a copy in a file with the static shapes of the new ops, and readers of the
    values of new variables.

    It does not have the originals of a copy out of another file, whose names are not of this graph.
    Raises SessionRefused if a variable has no value in the file, or a device is missing.
    """
    target.check_placed(patch, target)
    copies = patch.add.copies
    of_another = origin.index is not target.index
    inferred = runtime.infer_patch_shapes(
        target.index, _with_pairs(patch, ()) if of_another else patch
    )
    return replace(
        inferred, values=clone_values.file_values(_with_pairs(inferred, copies), origin, readers)
    )


def _with_preview(patch: Patch, preview: Preview) -> Patch:
    return replace(patch, report=replace(patch.report, preview=preview))


def _with_pairs(patch: Patch, copies: tuple[tuple[str, str], ...]) -> Patch:
    return replace(patch, add=replace(patch.add, copies=copies))


def results(copies: GraphCopies, target: OpenedGraph) -> Iterator[live.Copy]:
    """The Copy of each scope, once the patch is applied; all have equally many ops."""
    patch = _with_pairs(copies.patch, copies.pairs)
    origin = copies.origin
    preview = copies.patch.report.preview
    assert preview is not None  # every clone has one
    count = len(preview.scopes)

    @cache
    def in_graph() -> tuple[tuple[Variable, ...], tuple[runtime.sync.Model, runtime.sync.Model]]:
        """The new variables and the graphs; a file that is not imported is imported now."""
        copied = runtime.sync.Model(target.graph(), target.source.session)
        original = origin if origin.graph is not None else origin.imported()
        assert original.graph is not None
        return target.variables(patch), (
            runtime.sync.Model(original.graph, original.session),
            copied,
        )

    if origin.graph is not None:
        in_graph()

    def share(items: tuple[_Item, ...], k: int) -> tuple[_Item, ...]:
        return items[k * len(items) // count : (k + 1) * len(items) // count]

    def parts_of(k: int) -> live.CopyInGraph:
        variables, models = in_graph()
        return live.CopyInGraph(share(variables, k), models)

    for k, scope in enumerate(preview.scopes):
        yield live.Copy(
            scope=scope,
            ops=tuple(node.name for node in share(patch.add.nodes, k)),
            outside=preview.inputs + preview.control_inputs,
            shared=tuple(state.name for state in preview.shared),
            report=preview,
            _names=_names_of_copy(
                (*share(copies.pairs, k), *preview.replaced), origin.named_tensors
            ),
            _keys=partial(clone_values.checkpoint_keys, patch, origin),
            _pairs=partial(lambda k: share(clone_values.variable_pairs(patch, origin), k), k),
            _in_graph=partial(parts_of, k),
            _variable_count=len(share(patch.add.variables, k)),
        )


def _names_of_copy(
    pairs: Iterable[tuple[str, str]], named_tensors: Mapping[str, str]
) -> dict[str, str]:
    """The copy's name for each of the original's, also for arguments, which no op has."""
    names = dict(pairs)
    for key, tensor in named_tensors.items():
        op, port = split_tensor(tensor)
        new_name = names.get(tensor) or (f"{names[op]}:{port or 0}" if op in names else "")
        if new_name:
            names.setdefault(key, new_name)
    return names
