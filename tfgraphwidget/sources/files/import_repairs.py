"""What TensorFlow refuses of a file though its graph imports is left out of the copy that is
imported, with a notice.

These are the notes of other releases and tools about a graph, which no op needs: static shapes that
today's shape functions contradict, ops to be placed beside ops that are gone, entries of
collections for such ops, the version text of a TensorFlow that its builder named himself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tfgraphwidget.graph import OUTPUT_SHAPES
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import colocation, names_text, split_tensor
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.tf_types import GraphDef, MetaGraphDef, NodeDef

_MOST_NAMES = 3  # in a notice
_NUMBERS = re.compile(r"\d+(\.\d+)*")
_BEFORE_TRAINABLE = 26  # the version of graphs that TensorFlow 1.8 wrote


@dataclass
class ImportRepairs:
    """What was left out of a copy of a file's graph.

    Attributes:
        nodes: The NodeDefs that were changed, as they are imported, by name.
        notices: A sentence on each kind.
    """

    nodes: dict[str, NodeDef] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def repair(self, meta: MetaGraphDef, *, takes_version: bool) -> None:
        """Leave out what TensorFlow never imports of a copy of the file's MetaGraphDef, which is
        changed; of the text for its version, unless TensorFlow takes that for one.
        """
        version = meta.meta_info_def.tensorflow_version
        if not takes_version:
            meta.meta_info_def.tensorflow_version = _similar_version(
                version, meta.graph_def.versions.producer
            )
            self.notices.append(
                f"The file says that TensorFlow {version[:80]!r} wrote it, which is not a version "
                "that TensorFlow reads; that is left out."
            )
        there = {node.name for node in meta.graph_def.node}
        self._leave_out_colocations(meta.graph_def, there)
        self._leave_out_members(meta, there)

    def leave_out_shapes(self, graph_def: GraphDef) -> bool:
        """Leave out the static shapes that ops of a file's copy note; whether there were any."""
        nodes = [node for node in graph_def.node if OUTPUT_SHAPES in node.attr]
        for node in nodes:
            del node.attr[OUTPUT_SHAPES]
            self._keep(node)
        if nodes:
            self.notices.append(
                f"The static shapes that the file notes of {len(nodes):,} ops are left out, some "
                "of which the shape functions of this TensorFlow contradict."
            )
        return bool(nodes)

    def _leave_out_colocations(self, graph_def: GraphDef, there: Collection[str]) -> None:
        """Remove the ops that are gone from those that others are to be placed beside."""
        changed, missing_names = list[str](), dict[str, None]()
        for node in graph_def.node:
            values = list(node.attr["_class"].list.s) if "_class" in node.attr else []
            entries = [
                value for value in values if not colocation(value) or colocation(value) in there
            ]
            if len(entries) == len(values):
                continue
            missing_names |= dict.fromkeys(
                colocation(value) for value in values if value not in entries
            )
            node.attr["_class"].list.s[:] = entries
            if not entries:
                del node.attr["_class"]
            self._keep(node)
            changed.append(node.name)
        if changed:
            self.notices.append(
                f"{_ops_text(changed)} is to be placed beside {_ops_text(list(missing_names))}, "
                "which the graph does not have; that is left out."
            )

    def _leave_out_members(self, meta: MetaGraphDef, there: Collection[str]) -> None:
        """Remove the entries of collections that name ops which the graph does not have."""
        for key in sorted(meta.collection_def):
            collection, missing_names = meta.collection_def[key], list[str]()
            names = [
                name for name in collection.node_list.value if split_tensor(name)[0] not in there
            ]
            if names:
                members = [name for name in collection.node_list.value if name not in names]
                collection.node_list.value[:] = members
                missing_names += names
            if (
                collection.WhichOneof("kind") == "bytes_list"
                and tf_protos.collection_message(key) is not None
            ):
                entries = [
                    (data, list(_missing_ops(key, data, there)))
                    for data in collection.bytes_list.value
                ]
                if any(missing for _, missing in entries):
                    collection.bytes_list.value[:] = [
                        data for data, missing in entries if not missing
                    ]
                    missing_names += [missing[0] for _, missing in entries if missing]
            if missing_names:
                self.notices.append(
                    f"Collection {key!r} names {_ops_text(missing_names)}, which the graph does "
                    "not have; that is left out."
                )

    def _keep(self, node: NodeDef) -> None:
        copy = copy_of(node)
        self.nodes[node.name] = copy


def _similar_version(text: str, producer: int) -> str:
    """A version that TensorFlow reads, for one that it does not; "" for one that is not known.

    TensorFlow asks whether it is older than 1.9: then the collections say which variables are
    trainable.
    """
    numbers = _NUMBERS.match(text)
    if numbers is not None:
        return numbers[0]
    return "1.0" if producer <= _BEFORE_TRAINABLE else ""


def _missing_ops(key: str, data: bytes, there: Collection[str]) -> Iterator[str]:
    """The names in an entry of a collection of messages that no op of the graph has."""
    kind = tf_protos.collection_message(key)
    assert kind is not None
    try:
        message = kind.FromString(data)
    except Exception:
        # Protobuf's own exception has no public name; the import says that the entry is damaged.
        return
    fields = {
        "VariableDef": ("variable_name", "initializer_name", "snapshot_name"),
        "QueueRunnerDef": ("queue_name", "close_op_name", "cancel_op_name"),
        "WhileContextDef": ("pivot_name",),
        "CondContextDef": ("pivot_name", "pred_name"),
    }.get(message.DESCRIPTOR.name, ())
    for name in fields:
        text = str(getattr(message, name))
        if text and split_tensor(text)[0] not in there:
            yield text


def _ops_text(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return names_text([name[:80] for name in names[:_MOST_NAMES]]) + more
