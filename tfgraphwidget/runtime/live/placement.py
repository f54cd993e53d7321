"""Placing: whether a session has devices and kernels for ops, asked before they come; and a way on
when it has not.

A session places its whole graph whenever the graph has grown. One op that it cannot place, even if
it never runs, ends every run from then on, and TensorFlow cannot remove it
(test_tensorflow_facts.py:: test_one_op_that_cannot_be_placed_ends_every_run). So what comes to a
graph is checked before: the devices of ops are held against those of the session, and the dtypes of
ops against the kernels that are registered. Where a session has several devices, TensorFlow is
asked as well, since ops of one colocation group must agree: it places the new ops in a session of
their own with the same target and options.

What cannot be placed all the same, as an op that a user's function has made, is hidden when its
edit is taken back; `keep_running` takes its device and its colocation from it, and if that is not
enough renews the session, which then places only what it runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard
from weakref import WeakKeyDictionary

from tfgraphwidget.edits import NodeChange, Patch
from tfgraphwidget.errors import GraphEditError, SessionRefused
from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import as_input, colocated_with, names_text
from tfgraphwidget.runtime.live.edit_record import record_of
from tfgraphwidget.runtime.sandbox import preflight
from tfgraphwidget.runtime.session.renewal import renew
from tfgraphwidget.runtime.session.run import TimedSession, can_grow, no_answer
from tfgraphwidget.sentences import clone_with, either
from tfgraphwidget.sources import (
    FIRST_CPU,
    Device,
    absent_devices,
    available_devices,
    device_matches,
    dtype_name,
    error_text,
    is_soft_placement,
    parse_device,
    pinned_notices,
    tf_protos,
)
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_internals import (
    BaseSession,
    check_new_operations,
    check_placement,
    clear_attribute,
    find_operation,
    is_closed,
    operations_by_name,
    registered_kernels,
    session_config,
    set_device,
)
from tfgraphwidget.tf_types import AttrValue, NodeDef, Session

_WAY_OUT = "or no device" + either(
    ': device="" in clone and set_device, clear_devices=True in add, no tf.device in a function', ""
)
_EVERYWHERE = "DEFAULT"  # kernels of this device type run on every device
Kernel = tuple[str, str, tuple[tuple[str, frozenset[object]], ...]]
"""Device type, label, and for each attribute the values that the kernel takes: numbers of dtypes,
as a rule; texts such as the `data_format` of a DepthToSpace.
"""

_registered: dict[str, tuple[Kernel, ...]] = {}  # of the op types that have been asked for
_devices: WeakKeyDictionary[object, tuple[Device, ...]] = WeakKeyDictionary()  # of each session


@dataclass(frozen=True)
class Devices:
    """The devices that a session can place ops on.

    Attributes:
        specs: The devices.
        soft: Whether another device of the same task replaces one that is missing.
        kernels_known: Whether the kernels are those of this process; a server may have others.
    """

    specs: tuple[Device, ...]
    soft: bool
    kernels_known: bool

    @classmethod
    def of(cls, session: Session) -> Devices:
        """Return the devices of a session, on servers too."""
        if session not in _devices:
            if session.sess_str:
                TimedSession(session).ping()
            _devices[session] = tuple(available_devices(session) or ())
        return cls(
            _devices[session], session_config(session).allow_soft_placement, not session.sess_str
        )

    @classmethod
    def of_a_file(cls) -> Devices:
        """Return the devices of the session that a file will be opened in."""
        return cls(tuple(available_devices(None) or (FIRST_CPU,)), soft=True, kernels_known=True)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of all devices."""
        return frozenset(spec.device_type or "" for spec in self.specs)

    def for_device(self, device: str) -> frozenset[str]:
        """Return the types of the devices that an op pinned to `device` can be placed on."""
        if not device:
            return self.types
        pinned_spec = parse_device(device)
        if pinned_spec is None:
            return self.types  # no device at all: `preflight.check_devices` refuses it
        if self.soft:
            pinned_spec = pinned_spec._replace(device_type=None, device_index=None)
        return frozenset(
            spec.device_type or "" for spec in self.specs if device_matches(pinned_spec, spec)
        )

    def has(self, device: str) -> bool:
        """Return whether one of the devices is that of a name, whose parts may be left out; True
        for no name.
        """
        spec = parse_device(device)
        return spec is None or any(device_matches(spec, own) for own in self.specs)

    def check_devices(self, nodes: Sequence[NodeDef]) -> None:
        """Raise SessionRefused for NodeDefs whose device is missing."""
        missing = {
            device for device in {node.device for node in nodes} if not self.for_device(device)
        }
        if missing:
            unplaced = [node for node in nodes if node.device in missing]
            first, own = unplaced[0], [str(spec) for spec in self.specs]
            others = f" and {len(unplaced) - 1:,} more" if len(unplaced) > 1 else ""
            raise SessionRefused(
                f"Op {first.name!r}{others} would stand on {first.device!r}, which the session "
                f"does not have{'' if self.soft else ' (and allow_soft_placement is off)'}, so "
                "that it could run nothing any more; choose "
                f"{'one of ' * (len(own) > 1)}{names_text(own)}, " + _WAY_OUT + ".",
                [node.name for node in unplaced],
            )

    def without_kernel(self, nodes: Sequence[NodeDef]) -> NodeDef | None:
        """Return the first NodeDef without a kernel here on such devices; None if all have one."""
        types = {device: self.for_device(device) for device in {node.device for node in nodes}}
        kernels = _Kernels()
        return next((node for node in nodes if not kernels.has(node, types[node.device])), None)


class _Kernels:
    """Finds whether ops have kernels. Each op type with its dtypes is looked up once."""

    def __init__(self) -> None:
        self._cache: dict[object, bool] = {}
        self._constrained: dict[str, tuple[str, ...]] = {}

    def has(self, node: NodeDef, types: frozenset[str]) -> bool:
        """Whether a NodeDef has a kernel on a device of one of these types."""
        names = self._constrained.get(node.op)
        if names is None:
            names = self._constrained[node.op] = _constrained_attributes(node.op)
        attributes = node.attr
        key = (
            node.op,
            types,
            "_kernel" in attributes,
            *[_values_of(attributes, name) for name in names],
        )
        cached = self._cache.get(key)
        if cached is None:
            cached = self._cache[key] = has_kernel(node.op, attributes, types)
        return cached


def has_kernel(op_type: str, attributes: Mapping[str, AttrValue], types: Collection[str]) -> bool:
    """Return whether there is a kernel for an op on one of the device types."""
    kernels = _kernels(op_type)
    if not kernels and tf_protos.registered_op(op_type) is None:
        return True  # the type is the name of a function
    label = attributes["_kernel"].s.decode() if "_kernel" in attributes else ""
    return any(
        (device in types or device == _EVERYWHERE)
        and kernel_label == label
        and all(allowed.issuperset(_values_of(attributes, name)) for name, allowed in constraints)
        for device, kernel_label, constraints in kernels
    )


def _kernels(op_type: str) -> tuple[Kernel, ...]:
    kernels = _registered.get(op_type)
    if not kernels:  # a library of ops may be loaded later
        kernels = _registered[op_type] = tuple(
            (
                k.device_type,
                k.label,
                tuple((c.name, frozenset(_values(c.allowed_values))) for c in k.constraint),
            )
            for k in registered_kernels(op_type)
        )
    return kernels


def _constrained_attributes(op_type: str) -> tuple[str, ...]:
    """Return the attributes that determine whether there is a kernel."""
    return tuple({name: None for _, _, constraints in _kernels(op_type) for name, _ in constraints})


def _values_of(attributes: Mapping[str, AttrValue], name: str) -> tuple[object, ...]:
    """Return the values of an attribute, the numbers of dtypes; none if it is missing."""
    return _values(attributes[name]) if name in attributes else ()


def _values(value: AttrValue) -> tuple[object, ...]:
    """Return the value of an AttrValue, or those of a list."""
    kind = value.WhichOneof("value")
    if kind == "list":
        return (*value.list.type, *value.list.s, *value.list.i, *value.list.b)
    return () if kind is None else (getattr(value, kind),)


def _no_kernel(
    name: str, op_type: str, attributes: Mapping[str, AttrValue], types: Iterable[str]
) -> SessionRefused:
    values = [attributes[attr] for attr in _constrained_attributes(op_type) if attr in attributes]
    dtypes = [number for value in values for number in (value.type, *value.list.type) if number]
    texts = [dtype_name(number) for number in dtypes]
    texts += [value.s.decode(errors="replace") for value in values if value.s]
    of = f" of {names_text(list(dict.fromkeys(texts)))}" if texts else ""
    return SessionRefused(
        f"Op {name!r} is a {op_type}{of}, for which TensorFlow has no kernel on "
        f"{names_text(sorted(types))}, so that the session could run nothing any more; leave it "
        "out, or let an op that runs there take its place.",
        [name],
    )


def check_patch_placement(
    session: Session | None, graph: tf.Graph, patch: Patch, origin: tf.Graph | None = None
) -> None:
    """Raise unless a session can place the ops that a patch adds or changes.

    Sessions that are closed, of another graph, or that place only what they run are not checked.

    Args:
        origin: The graph of the originals of copies. If it is `graph`, copies have the kernels of
            their originals.

    Raises:
        SessionRefused: The session cannot place an op.
    """
    nodes = _unplaced_nodes(graph, patch)
    if not nodes or not _places_all(session, graph):
        return
    there = Devices.of(session)
    try:
        there.check_devices(nodes)
    except SessionRefused as error:
        if not any(not there.for_device(device) for device in _devices_of_others(graph, nodes)):
            raise
        # A graph that was placed for other machines runs nothing here, so there is nothing to
        # protect; but new variables would get their values by a run.
        if patch.init == "none" or not patch.add.variables:
            return
        raise SessionRefused(
            error.sentence.clause + ", or " + clone_with("init", "none") + ".", error.ops
        ) from None
    copies = {copy for _, copy in patch.add.copies} if origin is graph else ()
    missing = there.without_kernel(
        [node for node in nodes if node.name not in copies] if copies else nodes
    )
    if missing is not None and there.kernels_known:
        raise _no_kernel(missing.name, missing.op, missing.attr, there.for_device(missing.device))
    if missing is not None or (len(there.specs) > 1 and any(node.device for node in nodes)):
        _try_placement(session, graph, nodes, patch)


def _devices_of_others(graph: tf.Graph, nodes: Iterable[NodeDef]) -> set[str]:
    """Return the devices of the ops that no edit has hidden, without those of NodeDefs."""
    left_out = record_of(graph).hidden.union(node.name for node in nodes)
    return {op.device for op in graph.get_operations() if op.device and op.name not in left_out}


def _places_all(session: Session | None, graph: tf.Graph) -> TypeGuard[Session]:
    """Return whether a session places the whole graph before it runs anything."""
    return (
        isinstance(session, BaseSession)
        and not is_closed(session)
        and session.graph is graph
        # Servers place the whole graph whatever the option says (tests/runtime/test_cluster.py).
        and not (session_config(session).graph_options.place_pruned_graph and not session.sess_str)
    )


def _unplaced_nodes(graph: tf.Graph, patch: Patch) -> list[NodeDef]:
    """Return the NodeDefs of a patch that no session has placed yet."""
    hidden = record_of(graph).hidden
    if hidden:
        added = [node for node in patch.add.nodes if node.name not in hidden]
    else:
        added = list(patch.add.nodes)
    return added + [edited.after for edited in patch.changed if _changes_more_than_inputs(edited)]


def _changes_more_than_inputs(edited: NodeChange) -> bool:
    """Return whether an edit changes more of an op than its inputs."""
    read = copy_of(edited.before)
    del read.input[:]
    read.input.extend(edited.after.input)
    return bool(read != edited.after)


def _try_placement(
    session: Session, graph: tf.Graph, nodes: Sequence[NodeDef], patch: Patch
) -> None:
    """Let TensorFlow place ops in a new session like `session`. Raises SessionRefused."""
    names, there = {node.name for node in nodes}, operations_by_name(graph)
    colocated = {name for node in nodes for name in colocated_with(node) if name in there} - names
    devices = {name: find_operation(graph, name).device for name in sorted(colocated)}
    neighbors = tf.compat.v1.GraphDef(
        node=[
            tf.compat.v1.NodeDef(name=name, op="NoOp", device=device)
            for name, device in devices.items()
        ],
        versions=graph.graph_def_versions,
    )
    sandbox = preflight.sandbox_graph(graph, nodes, patch.add.functions, patch.add.gradients)
    preflight.run_import(
        sandbox, preflight.ValidatedNodes((), neighbors.SerializeToString(), ()), {}
    )
    try:
        check_placement(session, sandbox)
    except (
        tf.errors.UnavailableError,
        tf.errors.DeadlineExceededError,
        tf.errors.AbortedError,
    ) as error:
        raise no_answer("A server of this session", error) from error
    except tf.errors.OpError as error:
        why = error_text(error)
        raise SessionRefused(
            f"The session could run nothing any more, since it cannot place the new ops: {why}; "
            "let ops that stand beside each other have one device, " + _WAY_OUT + ".",
            [node.name for node in nodes if f"{{{node.name}}}" in why],
        ) from error


def check_file_devices(patch: Patch) -> None:
    """Check devices as above, for a file before its import and its future session."""
    Devices.of_a_file().check_devices(patch.add.nodes)


def device_notices(
    session: Session | None, graph: tf.Graph | None, patch: Patch
) -> tuple[str, ...]:
    """Return a sentence for each missing device that new ops are pinned to."""
    nodes = patch.add.nodes if graph is None else _unplaced_nodes(graph, patch)
    soft = graph is None or is_soft_placement(session)
    pinned = absent_devices(
        ((node.name, device) for node in nodes if (device := node.device)), session
    )
    return pinned_notices(pinned, soft=soft)


@contextmanager
def refuse_ops_without_kernel(session: Session | None, graph: tf.Graph) -> Iterator[None]:
    """Meanwhile Python code cannot add an op without a kernel in the session: SessionRefused."""
    if not _places_all(session, graph):
        yield
        return
    there = Devices.of(session)

    def check(
        op_type: str, inputs: Sequence[tf.Tensor], attributes: Mapping[str, AttrValue], name: str
    ) -> None:
        if has_kernel(op_type, attributes, there.types):
            return
        name = (name or op_type).rstrip("/")
        if there.kernels_known:
            raise _no_kernel(name, op_type, attributes, there.types)
        input_texts = [as_input(tensor.op.name, tensor.value_index) for tensor in inputs]
        _try_placement(
            session,
            graph,
            [tf.compat.v1.NodeDef(name=name, op=op_type, input=input_texts, attr=attributes)],
            Patch(),
        )

    with check_new_operations(graph, check):
        yield


def keep_running(session: Session | None, graph: tf.Graph, names: Iterable[str]) -> None:
    """Make a session able to run again, after an edit that was rolled back has left ops that it
    cannot place.

    The ops lose device and colocation. If that is not enough, the session is renewed and places
    only what it runs.
    """
    if not _places_all(session, graph):
        return
    with suppress(GraphEditError, tf.errors.OpError):
        if session.sess_str:
            TimedSession(session).ping()
        if can_grow(session):
            return
        failed, there = record_of(graph).failed, operations_by_name(graph)
        for op in [there[name] for name in names if name in there]:
            set_device(op, "")
            clear_attribute(op, "_class")
            if op.name in failed:
                failed[op.name] = op.node_def
        if not can_grow(session):
            renew(session)
