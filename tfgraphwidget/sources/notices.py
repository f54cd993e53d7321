"""What of a graph can only be looked at, and why: one sentence each, with the way out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph.called_functions import doors
from tfgraphwidget.graph.variables import HANDLES
from tfgraphwidget.sources import devices
from tfgraphwidget.sources.assets import asset_files, outside
from tfgraphwidget.sources.body import Body
from tfgraphwidget.sources.bounds import Bounds, Excess
from tfgraphwidget.sources.checkpoints import Checkpoint
from tfgraphwidget.sources.dtypes import OpTypes
from tfgraphwidget.sources.nested import ITSELF, TOO_DEEP, stopped
from tfgraphwidget.sources.paths import shortened
from tfgraphwidget.sources.protos import ProtoBody
from tfgraphwidget.sources.restored import keys_by_handle, restored_names, variables_of


@dataclass(frozen=True)
class File:
    """A graph as data; `where` begins sentences about it.

    `meta` is an empty MetaGraphDef where only a GraphDef was given; `folder` is the directory of a SavedModel.
    """

    where: str
    graph_def: Any
    meta: Any
    body: ProtoBody
    checkpoint: Checkpoint | None = None
    folder: Path | None = None


class Obstacle(NamedTuple):
    """Why something cannot run; `stops` when nothing of the graph can, so that it cannot be edited live either."""

    why: str
    stops: bool
    ops: tuple[str, ...] = ()


def obstacles(file: File) -> list[Obstacle]:
    """All that stands in the way of running a file's graph, the gravest first."""
    body = file.body
    return [
        *_versions(file),
        *_unknown_ops(body),
        *_endless(body),
        *_excess(body),
        *_assets(file),
        *_pinned(file),
        *_checkpoint(file),
    ]


def _versions(file: File) -> Iterator[Obstacle]:
    versions, own = file.graph_def.versions, tf.version.GRAPH_DEF_VERSION
    if versions.min_consumer > own or own in versions.bad_consumers:
        wrote = file.meta.meta_info_def.tensorflow_version
        yield Obstacle(
            f"{file.where} was written for a newer TensorFlow{wrote and f', {wrote}'} (graph version "
            f"{max(versions.min_consumer, versions.producer)}; TensorFlow {tf.__version__} reads up to {own}), so it "
            "can be looked at only; install that release to run it.",
            stops=True,
        )


def _unknown_ops(body: ProtoBody) -> Iterator[Obstacle]:
    types = OpTypes(body.function)
    known: dict[str, bool] = {}
    unknown = []
    inside = ((name, node) for name in sorted(body.functions()) for node in body.function(name).node_def)
    for place, node in (*(("", node) for node in body.protos), *inside):
        if node.op not in known:
            known[node.op] = types.definition(node.op) is not None
        if not known[node.op]:
            unknown.append((place, node))
    if unknown:
        place, first = unknown[0]
        where = f" in function {place!r}" if place else ""
        others = f", as {_others(len(unknown) - 1)}" if len(unknown) > 1 else ""
        yield Obstacle(
            f"Op {first.name!r}{where} is of type {first.op!r}, which TensorFlow does not know{others}; call "
            "tf.load_op_library with the library that defines it, to run the graph.",
            stops=True,
            ops=() if place else (first.name,),
        )


def _endless(body: ProtoBody) -> Iterator[Obstacle]:
    """TensorFlow follows calls when it imports a graph, and the process ends where they do not."""
    library = {name: body.function(name) for name in body.functions()}
    called = {door.function: node.name for node in body.protos for door in doors(node, library)}
    for name, why in stopped(library, called).items():
        if why in (ITSELF, TOO_DEEP):
            yield Obstacle(
                f"Function {name!r} {why}, which TensorFlow cannot import; open the function to look at it, and save "
                "the graph with a loop in its place to run it.",
                stops=True,
                ops=(called[name],) if name in called else (),
            )
            return


def _assets(file: File) -> Iterator[Obstacle]:
    """TensorFlow opens whatever file an asset names, and a table that is filled from it is saved with what it holds."""
    names = [] if file.folder is None else [asset.filename for asset in asset_files(file.meta)]
    for name in names:
        if file.folder is not None and outside(file.folder, name):
            yield Obstacle(
                f"{file.where} names an asset {name[:200]!r}, which leads to a file outside of its folder 'assets', so "
                "it can be looked at only; put the file that it needs into that folder, under a name there, to run it.",
                stops=True,
            )
            return


def _excess(body: ProtoBody) -> Iterator[Obstacle]:
    library = {name: body.function(name) for name in body.functions()}
    found = Bounds(OpTypes(body.function).definition).excess(body.protos, library)
    if found is not None:
        yield too_much(found)


def too_much(found: Excess) -> Obstacle:
    """The obstacle that an op is of which TensorFlow would make too much."""
    where = f" in function {found.function!r}" if found.function else ""
    return Obstacle(
        f"Op {shortened(found.op)}{where} {found.why}, so the graph can be looked at only; save it again without that "
        "op to run it.",
        stops=True,
        ops=() if found.function else (found.op,),
    )


def _others(count: int) -> str:
    return "one more op is" if count == 1 else f"{count} more ops are"


def _pinned(file: File) -> Iterator[Obstacle]:
    placed = ((node.name, node.device) for node in file.body.protos)
    at_root = {node.name for node in file.body.protos}
    for pinned in devices.absent(chain(placed, placed_inside(file.body))):
        ops = (pinned.first,) if pinned.first in at_root else ()
        yield Obstacle(pinned_text(pinned, soft=True), stops=pinned.elsewhere, ops=ops)


def placed_inside(body: Body) -> Iterator[tuple[str, str]]:
    """(where, device) of the ops in a body's functions that are pinned to one."""
    for name in sorted(body.functions()):
        for node in body.function(name).node_def:
            if node.device:
                yield f"{name}: {node.name}", node.device


def _place(first: str) -> str:
    function, inside, op = first.partition(": ")
    return f"{op!r} in function {function!r}" if inside else repr(first)


def is_soft(session: Any) -> bool:
    """Whether a session runs ops elsewhere where their device is absent; one without a config of its own does.

    See test_tensorflow_facts.py::test_a_session_without_a_config_places_ops_softly.
    """
    return bool(getattr(getattr(session, "_config", None), "allow_soft_placement", False))


def pinned_text(pinned: devices.Pinned, *, soft: bool) -> str:
    """The sentence about ops pinned to an absent device; `soft` placement has the CPU for a local one."""
    others = f" (and {pinned.number - 1} more)" if pinned.number > 1 else ""
    head = f"Op {_place(pinned.first)}{others} is pinned to {pinned.device!r}, a device this machine has not"
    if pinned.elsewhere:
        return (
            f"{head}; import the graph without devices to run it: "
            "tf.compat.v1.train.import_meta_graph(file, clear_devices=True)."
        )
    if soft:
        return f"{head}; it runs on the CPU instead."
    return f"{head}; open the session with tf.compat.v1.ConfigProto(allow_soft_placement=True) to run it on the CPU."


def _checkpoint(file: File) -> Iterator[Obstacle]:
    checkpoint = file.checkpoint
    if checkpoint is None or not any(node.op in HANDLES for node in file.body.protos):
        return
    if checkpoint.missing():
        alone = f"tgw.edit({str(file.folder / 'saved_model.pb')!r})" if file.folder else "leave checkpoint= out"
        yield Obstacle(
            f"{checkpoint.lack()}, or {alone} to edit the graph without values.{checkpoint.hint()}",
            stops=True,
        )
        return
    try:
        lacking = lacking_names(file, checkpoint)
    except GraphEditError as error:
        yield Obstacle(error.why, stops=True)
        return
    if lacking:
        others = f", nor of {len(lacking) - 1} more" if len(lacking) > 1 else ""
        yield Obstacle(
            f"Checkpoint {checkpoint.prefix!r} has no value of {lacking[0]!r}{others}; run the variable's initializer "
            "in the session to give it one.",
            stops=False,
        )


def lacking_names(file: File, checkpoint: Checkpoint) -> list[str]:
    """What the graph would read from a checkpoint that does not have it."""
    restore_op = file.meta.saver_def.restore_op_name
    names = restored_names(file.body.protos, file.body.library, restore_op) if restore_op else []
    if not names:
        names = list(keys_by_handle(file.body.protos, variables_of(file.body)).values())
    return [name for name in names if name not in checkpoint.shapes]
