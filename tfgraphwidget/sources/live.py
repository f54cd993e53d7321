"""Where a graph comes from, and everything that is read from it through TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import func_graph

from tfgraphwidget.errors import NotAGraph, SessionRefused, UnknownName
from tfgraphwidget.graph.index import Member, VariableDef
from tfgraphwidget.names import did_you_mean

# Reading a few ops one by one is faster than asking for the whole graph again; 8 is where it turns (measured).
_WHOLE_GRAPH_IF_OVER = 1 / 8


@dataclass
class Source:
    """A live graph and, if there is one, the session that runs it."""

    graph: tf.Graph
    session: tf.compat.v1.Session | None
    _definitions: dict[int, tuple[tf.Variable, VariableDef]] = field(default_factory=dict, repr=False)

    def stamp(self) -> tuple[int, int]:
        """Changes whenever ops are added, or entries of collections added, removed or exchanged."""
        graph = self.graph
        held = (graph.get_collection_ref(key) for key in graph.get_all_collection_keys())
        return graph.version, hash(tuple(tuple(map(id, items)) for items in held))

    def nodes(self, known: int = 0) -> list[Any]:
        """The NodeDefs after the first `known` ones, in graph order."""
        ops = self.graph.get_operations()
        if len(ops) - known > len(ops) * _WHOLE_GRAPH_IF_OVER:
            return list(self.graph.as_graph_def().node)[known:]
        return [op.node_def for op in ops[known:]]

    def collections(self) -> tuple[dict[str, tuple[Member, ...]], tuple[VariableDef, ...]]:
        """Ops, tensors and variables in the graph's collections, and each variable once."""
        collections = {}
        definitions: dict[str, VariableDef] = {}
        for key in self.graph.get_all_collection_keys():
            members = []
            for item in self.graph.get_collection_ref(key):
                member = Member.of(item)
                if member and member.kind == "variable":
                    definition = self._definition(item)
                    definitions[definition.handle] = definition
                if member:
                    members.append(member)
            collections[key] = tuple(members)
        return collections, tuple(definitions.values())

    def _definition(self, variable: tf.Variable) -> VariableDef:
        """What the variable's own proto says; kept, since making protos takes most of the time."""
        known = self._definitions.get(id(variable))
        if known is None:
            with self.graph.as_default():
                proto = variable.to_proto()
            known = self._definitions[id(variable)] = (variable, _from_proto(proto, variable.constraint))
        return known[1]

    def element(self, name: str) -> tf.Tensor | tf.Operation:
        """The tensor "a:0" or the op "a"; UnknownName proposes the nearest."""
        try:
            return self.graph.as_graph_element(name)
        except (KeyError, ValueError) as error:
            known = [op.name for op in self.graph.get_operations()]
            raise UnknownName(f"This graph has no op or tensor {name!r}.{did_you_mean(name, known)}") from error


def _from_proto(proto: Any, constraint: Any) -> VariableDef:
    return VariableDef(
        handle=proto.variable_name.rpartition(":")[0],
        initial_value=proto.initial_value_name or None,
        initializer=proto.initializer_name or None,
        snapshot=proto.snapshot_name or None,
        resource=proto.is_resource,
        trainable=proto.trainable,
        synchronization=proto.synchronization,
        aggregation=proto.aggregation,
        slice_info=proto.save_slice_info_def if proto.HasField("save_slice_info_def") else None,
        constraint=constraint,
    )


def open_source(thing: object = None, session: tf.compat.v1.Session | None = None) -> Source:
    """The source of a graph, of a session's graph, or of the default graph when nothing is given."""
    if thing is None:
        thing = getattr(session, "graph", session) if session is not None else tf.compat.v1.get_default_graph()
    if isinstance(thing, tf.compat.v1.Session | tf.compat.v1.InteractiveSession):
        session, thing = session or thing, thing.graph
    if not isinstance(thing, tf.Graph) or isinstance(thing, func_graph.FuncGraph):
        raise NotAGraph(
            f"{type(thing).__name__} {str(thing)[:60]!r} is no graph that can be edited; give a tf.Graph, a "
            "tf.compat.v1.Session, or nothing for the default graph."
        )
    if session is not None and not (hasattr(session, "run") and isinstance(getattr(session, "graph", None), tf.Graph)):
        raise SessionRefused(f"{str(session)[:60]!r} is no session; give a tf.compat.v1.Session(graph=graph).")
    if session is None:
        default = tf.compat.v1.get_default_session()
        session = default if default is not None and default.graph is thing else None
    return Source(thing, session)


@dataclass(frozen=True)
class TensorFacts:
    """What TensorFlow knows of a tensor; `peers` are the names of the ops at its other end."""

    name: str
    dtype: str
    shape: str
    peers: tuple[str, ...]


@dataclass(frozen=True)
class OpFacts:
    """What TensorFlow knows of an op; attributes are (name, text) pairs in name order."""

    device: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    control_inputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]


def describe(op: tf.Operation) -> OpFacts:
    """Device, tensors and attributes of a live op."""
    return OpFacts(
        device=op.device,
        inputs=tuple(_tensor(t, [t.op.name]) for t in op.inputs),
        outputs=tuple(_tensor(t, [reader.name for reader in t.consumers()]) for t in op.outputs),
        control_inputs=tuple(c.name for c in op.control_inputs),
        attributes=tuple((name, _text(value)) for name, value in sorted(op.node_def.attr.items())),
    )


def _tensor(tensor: tf.Tensor, peers: list[str]) -> TensorFacts:
    shape = str(tensor.shape) if tensor.shape.rank is not None else "unknown"
    return TensorFacts(tensor.name, tensor.dtype.name, shape, tuple(peers))


def _text(value: Any) -> str:
    """An AttrValue as a person writes it, at most 200 characters."""
    kind = value.WhichOneof("value")
    if kind == "type":
        return str(tf.as_dtype(value.type).name)
    if kind == "shape":
        return str(tf.TensorShape(value.shape))
    if kind == "tensor":
        return _constant(value.tensor)
    if kind == "s":
        return repr(value.s.decode("utf-8", "backslashreplace"))[:200]
    if kind == "list":
        return _list(value.list)
    if kind == "func":
        return f"function {value.func.name}"
    return str(getattr(value, kind))[:200] if kind else ""


def _constant(proto: Any) -> str:
    shape, dtype = tf.TensorShape(proto.tensor_shape), tf.as_dtype(proto.dtype).name
    head = f"{dtype} {shape}"
    if (shape.num_elements() or 0) <= 16:
        return f"{head} {tf.make_ndarray(proto).tolist()}"[:200]
    return head


def _list(proto: Any) -> str:
    written: dict[str, Callable[[Any], str]] = {
        "type": lambda v: str(tf.as_dtype(v).name),
        "shape": lambda v: str(tf.TensorShape(v)),
        "s": lambda v: str(v.decode("utf-8", "backslashreplace")),
        "func": lambda v: str(v.name),
    }
    texts = [written.get(kind.name, str)(v) for kind, held in proto.ListFields() for v in held]
    return f"[{', '.join(texts)}]"[:200]
