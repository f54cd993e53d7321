"""Devices that ops are pinned to, and whether they exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tfgraphwidget.naming import names_text
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tensorflow_modules import tf
from tfgraphwidget.tf_types import Session


class PinnedOps(NamedTuple):
    """Ops pinned to a device that does not exist here; `elsewhere` when it belongs to another machine."""

    device: str
    first: str
    number: int
    elsewhere: bool


def absent_devices(placed: Iterable[tuple[str, str]], session: Session | None = None) -> list[PinnedOps]:
    """The absent devices among (op, device) pairs, in the order of first use.

    The devices of `session`, else of this machine; those are listed only when an op is pinned to another than a CPU.

    Args:
        placed: (op name, device) pairs; "" for an op that is not pinned.
        session: The session whose devices count; without one, those of this machine.
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for op, device in placed:
        if device:
            first.setdefault(device, op)
            counts[device] = counts.get(device, 0) + 1
    absent = []
    available: list[object] | None = None
    for device, op in first.items():
        spec = parse_device(device)
        if spec is None or _is_first_cpu(spec):
            continue
        available = available_devices(session) if available is None else available
        if not any(device_matches(spec, device_spec) for device_spec in available):
            elsewhere = spec.job not in (None, "localhost") or bool(spec.task) or bool(spec.replica)
            absent.append(PinnedOps(device, op, counts[device], elsewhere))
    return absent


def parse_device(device: str) -> Any:
    """The DeviceSpec of a device name; None when TensorFlow cannot parse it.

    Args:
        device: The name, "/device:GPU:0".
    """
    try:
        return tf.DeviceSpec.from_string(device)
    except ValueError:
        return None


def _is_first_cpu(spec: Any) -> bool:
    here = spec.job in (None, "localhost") and not spec.task and not spec.replica
    return here and spec.device_type in (None, "CPU") and not spec.device_index


def available_devices(session: Session | None) -> list[Any]:
    """The devices of an open session, or without one of this machine, as DeviceSpecs.

    Args:
        session: The session, or None.
    """
    from tfgraphwidget.tf_internals import is_closed

    if session is not None and not is_closed(session) and hasattr(session, "list_devices"):
        return [tf.DeviceSpec.from_string(device.name) for device in session.list_devices()]
    numbers: dict[str, int] = {}
    specs = []
    for device in tf.config.list_physical_devices():
        number = numbers.get(device.device_type, 0)
        numbers[device.device_type] = number + 1
        specs.append(
            tf.DeviceSpec(job="localhost", replica=0, task=0, device_type=device.device_type, device_index=number)
        )
    return specs


def device_matches(spec: Any, device: Any) -> bool:
    """Whether an op pinned to `spec`, a DeviceSpec that can omit fields, can run on the device `device`."""
    pairs = (
        (spec.job, device.job),
        (spec.replica, device.replica),
        (spec.task, device.task),
        (spec.device_type, device.device_type),
        (spec.device_index, device.device_index),
    )
    return all(a is None or a == b for a, b in pairs)


def function_devices(body: Body) -> Iterator[tuple[str, str]]:
    """(where, device) of the ops in a body's functions that are pinned to one."""
    for name in sorted(body.functions()):
        for node in body.function(name).node_def:
            if node.device:
                yield f"{name}: {node.name}", node.device


def _place(first: str) -> str:
    function, inside, op = first.partition(": ")
    return f"{op!r} in function {function!r}" if inside else repr(first)


def is_soft_placement(session: Session | None) -> bool:
    """Whether a session places ops on other devices if theirs is absent; a session without a config does.

    See test_tensorflow_facts.py::test_a_session_without_a_config_places_ops_softly.

    Args:
        session: A `tf.compat.v1.Session`, or None.
    """
    from tfgraphwidget.tf_internals import session_config

    return bool(getattr(session_config(session), "allow_soft_placement", False))


def pinned_notices(pinned: Iterable[PinnedOps], *, soft: bool) -> tuple[str, ...]:
    """One sentence about all ops pinned to absent local devices, and one about those of other machines.

    Args:
        pinned: The ops by device.
        soft: Whether the session places ops softly.
    """
    sides: dict[bool, list[PinnedOps]] = {}
    for each in pinned:
        sides.setdefault(each.elsewhere, []).append(each)
    return tuple(_notice(side, soft=soft) for side in sides.values())


def _notice(pinned: Sequence[PinnedOps], *, soft: bool) -> str:
    """The sentence about ops pinned to absent devices; with `soft` placement, a local device's ops run on the CPU."""
    first, ops = pinned[0], sum(each.number for each in pinned)
    if len(pinned) > 1:
        devices = names_text([each.device for each in pinned])
        head = f"{ops:,} ops are pinned to devices that are not available on this machine, {devices}"
    else:
        others = f" (and {ops - 1} more)" if ops > 1 else ""
        head = f"Op {_place(first.first)}{others} is pinned to {first.device!r}, which is not available on this machine"
    if first.elsewhere:
        return (
            f"{head}; import the graph without devices to run it: "
            "tf.compat.v1.train.import_meta_graph(file, clear_devices=True)."
        )
    if soft:
        return f"{head}; {'they run' if len(pinned) > 1 else 'it runs'} on CPU."
    return f"{head}; open the session with tf.compat.v1.ConfigProto(allow_soft_placement=True) to run it on the CPU."
