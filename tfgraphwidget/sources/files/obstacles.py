"""Reasons why a file's graph cannot run: one sentence each, with a suggested fix."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import (
    EXIT,
    HANDLES,
    NEXT,
    TRUSTED,
    Contexts,
    Effects,
    NodesByName,
    Trust,
    build,
    called_functions,
    devices_of,
    names_of,
    nodes_of_types,
    ops_outside_loops,
    types_of,
)
from tfgraphwidget.naming import split_input
from tfgraphwidget.readable import why_unreadable
from tfgraphwidget.sentences import either, in_cell, leave_out
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.assets import asset_files, is_outside_assets
from tfgraphwidget.sources.files.checkpoint import Checkpoint, value_type
from tfgraphwidget.sources.files.checkpoint_keys import (
    checkpoint_keys,
    graph_variables,
    restored_names,
)
from tfgraphwidget.sources.files.table_contents import TableContents, table_contents
from tfgraphwidget.sources.functions.library import function_nodes
from tfgraphwidget.sources.inference.bounds import FATAL_SHAPES, Bounds, Excess, why_fatal
from tfgraphwidget.sources.inference.call_depth import why_endless
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.live.devices import absent_devices, function_devices, pinned_notices
from tfgraphwidget.sources.node_body import NodeBody
from tfgraphwidget.sources.paths import shorten
from tfgraphwidget.tf_types import MetaGraphDef


@dataclass(frozen=True)
class FileGraph:
    """A graph as data; `where` begins sentences about it.

    `meta` is an empty MetaGraphDef where only a GraphDef was given; `folder` is the directory of a
    SavedModel. `values` read the values of variables, by their handle ops, where no checkpoint has
    them; a session initializes the others. `fills_tables` is False where what the tables held is
    loaded afterwards. `table_folder` is the directory of the files that tables may be filled from:
    an untrusted graph may name any file, and what a table holds is saved with it. `trust` says
    whether ops that do more than compute may run. `filled_later` are tables whose contents are
    loaded once the graph is imported.
    """

    where: str
    meta: MetaGraphDef
    body: NodeBody
    checkpoint: Checkpoint | None = None
    folder: Path | None = None
    values: Mapping[str, Callable[[], object]] | None = None
    fills_tables: bool = True
    table_folder: Path | None = None
    trust: Trust = TRUSTED
    filled_later: Collection[str] = ()

    @cached_property
    def effects(self) -> Effects:
        """What finds the ops that do more than compute."""
        body = self.body
        return Effects(
            NodesByName(body.protos),
            body.function,
            body.functions(),
            self.trust.may_read,
            body.typing,
            restores_texts=self.trust.restores_texts,
        )

    @property
    def table_contents(self) -> TableContents:
        """How its tables are filled in a session."""
        if not self.fills_tables:
            return TableContents()
        checkpoint, restore_op = self.checkpoint, self.meta.saver_def.restore_op_name
        return table_contents(
            self.body,
            self.meta,
            self.table_folder,
            self.trust,
            is_loaded=self.folder is not None,
            is_restored=bool(restore_op)
            and checkpoint is not None
            and not missing_checkpoint_names(self, checkpoint),
            filled_later=self.filled_later,
        )


class Obstacle(NamedTuple):
    """Why ops cannot run; `stops` when the whole graph cannot, nor be imported and edited."""

    why: str
    stops: bool
    ops: tuple[str, ...] = ()


def find_obstacles(file: FileGraph) -> list[Obstacle]:
    """All reasons why a file's graph cannot run, the most serious first."""
    body = file.body
    return [
        *_versions(file),
        *_unknown_ops(body),
        *_run_by_import(file),
        *_endless(body),
        *_excess(body),
        *_fatal_shapes(body),
        *_loop_parts(body),
        *_assets(file),
        *_absent_devices(file),
        *_checkpoint(file),
        *_tables(file),
    ]


def _versions(file: FileGraph) -> Iterator[Obstacle]:
    versions, own = file.body.versions(), tf_protos.graph_def_version()
    if versions.min_consumer > own or own in versions.bad_consumers:
        wrote = file.meta.meta_info_def.tensorflow_version
        yield Obstacle(
            f"{file.where} was written for a newer TensorFlow{wrote and f', {wrote}'} (graph "
            f"version {max(versions.min_consumer, versions.producer)}; TensorFlow "
            f"{tf_protos.tensorflow_version()} reads up to {own}), so it can be looked at only; "
            "install that release to run it.",
            stops=True,
        )


def _unknown_ops(body: NodeBody) -> Iterator[Obstacle]:
    definitions = OpTypes(body.function)
    places = [
        ("", body.protos),
        *((name, body.function(name).node_def) for name in sorted(body.functions())),
    ]
    op_types = set(chain.from_iterable(types_of(nodes) for _, nodes in places))
    unknown_types = {op_type for op_type in op_types if definitions.definition(op_type) is None}
    if unknown_types:
        unknown = [
            (place, node) for place, nodes in places for node in nodes if node.op in unknown_types
        ]
        place, first = unknown[0]
        where = f" in function {place!r}" if place else ""
        others = f", as {_others(len(unknown) - 1)}" if len(unknown) > 1 else ""
        yield Obstacle(
            f"Op {first.name!r}{where} is of type {first.op!r}, which TensorFlow does not "
            f"know{others}; "
            + in_cell(
                "call tf.load_op_library with the library that defines it, to run the graph."
            ),
            stops=True,
            ops=() if place else (first.name,),
        )


def _run_by_import(file: FileGraph) -> Iterator[Obstacle]:
    """TensorFlow evaluates stateless ops for static shapes at import, whatever else they do."""
    if file.trust.is_given:
        return
    first = next(file.effects.at_import(), None)
    if first is not None:
        outcome = (
            "the graph can be looked at only, since TensorFlow may run the op while it imports the "
            "graph"
        )
        yield Obstacle(file.trust.sentence(first, outcome), stops=True, ops=(first.root,))


def _endless(body: NodeBody) -> Iterator[Obstacle]:
    """TensorFlow follows calls when it imports a graph; endless recursion would end the process."""
    library = {name: body.function(name) for name in body.functions()}
    if not library:
        return
    callers = {
        called.function: node.name
        for node in body.protos
        for called in called_functions(node, library)
    }
    name, why = why_endless(library, callers)
    if why:
        yield Obstacle(
            f"Function {name!r} {why}, which TensorFlow cannot import; open the function to "
            "look at it, and save the graph with a loop in its place to run it.",
            stops=True,
            ops=(callers[name],) if name in callers else (),
        )


def _assets(file: FileGraph) -> Iterator[Obstacle]:
    """TensorFlow opens any file that an asset names, and saves a table filled from it."""
    names = [] if file.folder is None else [asset.filename for asset in asset_files(file.meta)]
    for name in names:
        if file.folder is not None and is_outside_assets(file.folder, name):
            yield Obstacle(
                f"{file.where} names an asset {name[:200]!r}, which leads to a file outside of its "
                "folder 'assets', so it can be looked at only; put the file that it needs into "
                "that folder, under a name there, to run it.",
                stops=True,
            )
            return
    for name in names:  # which TensorFlow would wait for
        why = "" if file.folder is None else why_unreadable(file.folder / "assets" / name)
        if why:
            yield Obstacle(f"{file.where} cannot be run: its asset {why}", stops=True)


def _excess(body: NodeBody) -> Iterator[Obstacle]:
    library = {name: body.function(name) for name in body.functions()}
    excess = Bounds(OpTypes(body.function).definition).excess(body.protos, library)
    if excess is not None:
        yield excess_obstacle(excess)


def _fatal_shapes(body: NodeBody) -> Iterator[Obstacle]:
    """TensorFlow infers the shape of each op that it imports."""
    for node in nodes_of_types(body.protos, FATAL_SHAPES):
        sources = [end for end in map(split_input, node.input) if end[1] >= 0]
        why = why_fatal(node.op, [body.typing.shape(*end) for end in sources])
        if why:
            yield excess_obstacle(Excess(node.name, "", why))
            return


def excess_obstacle(excess: Excess) -> Obstacle:
    """The obstacle for an op that exceeds `Bounds`."""
    where = f" in function {excess.function!r}" if excess.function else ""
    return Obstacle(
        f"Op {shorten(excess.op)}{where} {excess.why}, so the graph can be looked at only; save it "
        "again without that op to run it.",
        stops=True,
        ops=() if excess.function else (excess.op,),
    )


def _loop_parts(body: NodeBody) -> Iterator[Obstacle]:
    """TensorFlow's executor ends the process where a v1 loop's end runs outside of loops."""
    places = [
        ("", body.protos),
        *((name, body.function(name).node_def) for name in sorted(body.functions())),
    ]
    for place, nodes in places:
        if (EXIT | NEXT).isdisjoint(types_of(nodes)):
            continue
        with suppress(GraphEditError):  # of a damaged function, which TensorFlow refuses to import
            graph = build(
                function_nodes(body.function(place), OpTypes(body.function), {}).nodes
                if place
                else nodes
            )
            outside = ops_outside_loops(Contexts(graph))
            if outside:
                name, kind = graph.names[outside[0]], graph.types[outside[0]]
                where = f" in function {place!r}" if place else ""
                yield Obstacle(
                    f"Op {shorten(name)}{where} is of type {kind} and in no while loop, and "
                    "TensorFlow ends the process when it runs that, so the graph can be looked at "
                    "only; save it again with the whole loop to run it.",
                    stops=True,
                    ops=() if place else (name,),
                )
                return


def _others(count: int) -> str:
    return "one more op is" if count == 1 else f"{count} more ops are"


def _absent_devices(file: FileGraph) -> Iterator[Obstacle]:
    absent = absent_devices(chain(devices_of(file.body.protos), function_devices(file.body)))
    at_root = set(names_of(file.body.protos)) if absent else set()
    for elsewhere in (True, False):
        side = [pinned for pinned in absent if pinned.elsewhere == elsewhere]
        ops = tuple(pinned.first for pinned in side if pinned.first in at_root)
        yield from (
            Obstacle(notice, stops=elsewhere, ops=ops) for notice in pinned_notices(side, soft=True)
        )


def _checkpoint(file: FileGraph) -> Iterator[Obstacle]:
    checkpoint = file.checkpoint
    if checkpoint is None or HANDLES.isdisjoint(types_of(file.body.protos)):
        return
    if checkpoint.missing():
        alone = leave_out("checkpoint")
        if file.folder:
            path = str(file.folder / "saved_model.pb")
            alone = either(f"tgw.edit({path!r})", f"open {path!r}")
        yield Obstacle(
            checkpoint.lack()
            + ", or "
            + alone
            + " to edit the graph without values"
            + checkpoint.hint(),
            stops=True,
        )
        return
    try:
        unlike = _unlike(file, checkpoint)
        if unlike:
            yield Obstacle(unlike, stops=True)
            return
        lacking = missing_checkpoint_names(file, checkpoint)
    except GraphEditError as error:
        yield Obstacle(error.why, stops=True)
        return
    if lacking:
        others = f", nor of {len(lacking) - 1} more" if len(lacking) > 1 else ""
        yield Obstacle(
            f"Checkpoint {checkpoint.prefix!r} has no value of {lacking[0]!r}{others}; run the "
            "variable's initializer in the session to give it one.",
            stops=False,
        )


def _tables(file: FileGraph) -> Iterator[Obstacle]:
    with suppress(GraphEditError):  # of a checkpoint, which `_checkpoint` finds
        for notice in file.table_contents.notices:
            yield Obstacle(notice, stops=False)


def _unlike(file: FileGraph, checkpoint: Checkpoint) -> str:
    """A sentence on a variable whose saved value has another shape or dtype; "" if none."""
    handles = {node.name: node for node in nodes_of_types(file.body.protos, HANDLES)}
    variables = [
        v for v in graph_variables(file.body) if v.slice_info is None and v.handle in handles
    ]
    keys = checkpoint_keys(file.body.protos, variables)
    for variable in variables:
        key, node = keys[variable.handle], handles[variable.handle]
        shape = node.attr["shape"].shape
        if (
            key not in checkpoint.shapes
            or shape.unknown_rank
            or any(dim.size < 0 for dim in shape.dim)
        ):
            continue
        # References are 100 more.
        dtype = tf_protos.dtype_names().get(node.attr["dtype"].type % 100, "")
        declared, actual = f"{dtype} {[dim.size for dim in shape.dim]}", value_type(checkpoint, key)
        if declared != actual:
            return (
                either(f"checkpoint={shorten(checkpoint.prefix)}: variable", "Variable")
                + f" {variable.handle!r} is {declared}, and the checkpoint has {actual} under "
                f"{key!r}; give a "
                "checkpoint of this graph, or "
                + leave_out("checkpoint")
                + " to edit the graph without values."
            )
    return ""


def missing_checkpoint_names(file: FileGraph, checkpoint: Checkpoint) -> list[str]:
    """The names that the graph would read from a checkpoint and that it does not have."""
    restore_op = file.meta.saver_def.restore_op_name
    names = restored_names(file.body.protos, file.body.library, restore_op) if restore_op else []
    if not names:
        names = list(checkpoint_keys(file.body.protos, graph_variables(file.body)).values())
    return [name for name in names if name not in checkpoint.shapes]
