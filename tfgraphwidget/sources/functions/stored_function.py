"""A function that was written to a file: its graph, what it captured and how it is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from tfgraphwidget.graph import PLACEHOLDERS, Table, nodes_of_types
from tfgraphwidget.sentences import either, in_cell
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.container import OpenOptions
from tfgraphwidget.sources.files.opening import trust_of
from tfgraphwidget.sources.functions.call_structure import CallStructure
from tfgraphwidget.sources.functions.tables import make_table
from tfgraphwidget.sources.inference.dtypes import OpTypes
from tfgraphwidget.sources.live.shapes import dimensions, static_shape
from tfgraphwidget.sources.node_body import GraphDefLibrary, NodeBody
from tfgraphwidget.sources.node_repairs import readable_nodes
from tfgraphwidget.sources.source import Source
from tfgraphwidget.sources.variables import read_collections
from tfgraphwidget.tensorflow_modules import is_installed, tf
from tfgraphwidget.tf_types import MetaGraphDef

_PLAIN = (bool, int, float, str)
_TENSOR = {"tensor": None}
VALUES = ("key", "keys", "values")
"""The entries of a capture that are keys of values in the checkpoint."""


class NotStorable(Exception):
    """A structure that no file can hold; says in a few words what it is."""


class FileCaptures:
    """Variables and tensors of a function, made of values in a checkpoint when they are first used.

    Args:
        kinds: For each op that represents state: the key of its value, and of a variable its name
            and how it is used; of a table the keys of its keys and values, and whether it is
            mutable.
        values: The checkpoint.
        structure: How the function is called, as `write_structure` writes it.
    """

    def __init__(
        self,
        kinds: Mapping[str, Mapping[str, object]],
        values: Checkpoint | None,
        structure: object = None,
    ) -> None:
        self._kinds, self._values, self._structure = kinds, values, structure

    @property
    def names(self) -> frozenset[str]:
        """The ops that represent state."""
        return frozenset(self._kinds)

    @property
    def structure(self) -> object:
        """How the function is called, as it was written."""
        return self._structure

    def entries(
        self,
    ) -> Iterator[tuple[str, Mapping[str, object], Mapping[str, Callable[[], object]]]]:
        """(op, kind, entries that read it) as written, to write them again without TensorFlow."""
        for op, kind in self._kinds.items():
            yield op, kind, {key: partial(self._value, kind, key) for key in VALUES if key in kind}

    def live(self) -> Mapping[str, tf.Variable | tf.Tensor]:
        """The variables and tensors, by op; the same at each call."""
        return self._live

    @cached_property
    def _live(self) -> dict[str, tf.Variable | tf.Tensor]:
        with tf.init_scope():
            return {op: self._make(kind) for op, kind in self._kinds.items()}

    def _value(self, kind: Mapping[str, Any], key: str) -> np.ndarray | bytes:
        assert self._values is not None  # an archive that lacks them is refused
        return self._values.value(kind[key])

    def _make(self, kind: Mapping[str, Any]) -> tf.Variable | tf.Tensor:
        if "keys" in kind:
            content = Table(
                self._value(kind, "keys"), self._value(kind, "values"), kind["is_mutable"]
            )
            table = make_table(content)
            handle: tf.Tensor = table.resource_handle
            # which deletes what the handle is of when it goes itself
            vars(handle)["_table"] = table
            return handle
        value = tf.constant(self._value(kind, "key"))
        if "name" not in kind:
            return value
        return tf.Variable(
            value,
            trainable=kind["trainable"],
            name=kind["name"],
            shape=tf.TensorShape(kind["shape"]),
            synchronization=tf.VariableSynchronization(kind["synchronization"]),
            aggregation=tf.VariableAggregation(kind["aggregation"]),
        )


def open_function_message(
    meta: MetaGraphDef,
    function: Mapping[str, Any],
    values: Checkpoint | None,
    where: str,
    options: OpenOptions,
) -> Source:
    """Open a function's graph.

    Args:
        function: Its arguments, returns, captures and structure; see `editor.archive`.
        values: The checkpoint with the values of its captures.
        where: The file, as the subject of sentences about it.
    """
    library = GraphDefLibrary.of(meta.graph_def)
    nodes, filled_in = readable_nodes(
        meta.graph_def.node, "This function", OpTypes(library.function)
    )
    body = NodeBody(
        nodes,
        library,
        read_collections(meta, {node.name for node in nodes}),
        arguments=tuple(function["arguments"]),
        returns=dict(function["returns"]),
    )
    return Source(
        "",
        body,
        notices=filled_in,
        refusal=(
            "This is a function's graph, which no session runs: edits make a new function of it"
            + either(" (editor.to_module())", "")
            + "; "
            + in_cell(
                "for what needs a session save that: tf.saved_model.save(editor.to_module(), path)."
            )
        ),
        structure=_read_structure(function["structure"]) if is_installed() else None,
        captures=FileCaptures(function["captures"], values, function["structure"]),
        trust=trust_of(
            where,
            nodes,
            library,
            None,
            options,
            is_fed=not any(
                node.attr["dtype"].type == tf_protos.STRING
                for node in nodes_of_types(nodes, PLACEHOLDERS)
                if node.name in function["captures"] and "dtype" in node.attr
            ),
        ),
    )


def write_structure(structure: CallStructure) -> Any:
    """How a function is called, as JSON. Raises NotStorable for objects of Python."""
    return {
        "parameters": [
            {
                "name": parameter.name,
                "kind": parameter.kind.name,
                "spec": _write_spec(structure.specs[parameter.name]),
                **(
                    {}
                    if parameter.default is parameter.empty
                    else {"default": _write_spec(parameter.default)}
                ),
            }
            for parameter in structure.parameters
        ],
        "results": _write_spec(structure.results, anything=True),
    }


def _write_spec(value: Any, *, anything: bool = False) -> Any:
    """A nested structure of TensorSpecs and plain values; `anything`: tensors of any shape."""
    if isinstance(value, tf.TensorSpec) or (
        isinstance(value, tf.Tensor) and not hasattr(value, "numpy")
    ):
        if anything:
            return _TENSOR
        return {"spec": [dimensions(value.shape), value.dtype.name, getattr(value, "name", None)]}
    if value is None or type(value) in _PLAIN:
        return {"value": value}
    if type(value) in (tuple, list):
        return {type(value).__name__: [_write_spec(each, anything=anything) for each in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {
            "dict": [[key, _write_spec(each, anything=anything)] for key, each in value.items()]
        }
    raise NotStorable(f"a {type(value).__name__}")


def _read_structure(data: Any) -> CallStructure | None:
    if data is None:
        return None
    parameters, specs = [], {}
    for each in data["parameters"]:
        default = _read_spec(each["default"]) if "default" in each else inspect.Parameter.empty
        kind = getattr(inspect.Parameter, each["kind"])
        parameters.append(inspect.Parameter(each["name"], kind, default=default))
        specs[each["name"]] = _read_spec(each["spec"])
    return CallStructure(tuple(parameters), specs, _read_spec(data["results"]))


def _read_spec(data: Any) -> Any:
    ((kind, value),) = data.items()
    if kind == "tensor":
        return tf.TensorSpec(static_shape(None))
    if kind == "spec":
        shape, dtype, name = value
        return tf.TensorSpec(shape, tf.as_dtype(dtype), name)
    if kind == "dict":
        return {key: _read_spec(each) for key, each in value}
    if kind in ("tuple", "list"):
        return (tuple if kind == "tuple" else list)(map(_read_spec, value))
    return value
