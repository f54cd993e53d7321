"""Which devices ops are pinned to, and whether there are such."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tfgraphwidget.sources.source import Body


class PinnedOps(NamedTuple):
    """Ops pinned to a device that is not there; `elsewhere` when it is another machine's."""

    device: str
    first: str
    number: int
    elsewhere: bool


def absent_devices(placed: Iterable[tuple[str, str]], session: Any = None) -> list[PinnedOps]:
    """The absent devices among (op, device) pairs, in the order of first use.

    The devices of `session`, else of this machine; those are listed only when an op is pinned to another than a CPU.
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for op, device in placed:
        if device:
            first.setdefault(device, op)
            counts[device] = counts.get(device, 0) + 1
    found = []
    there: list[Any] | None = None
    for device, op in first.items():
        spec = parse_device(device)
        if spec is None or _is_first_cpu(spec):
            continue
        there = available_devices(session) if there is None else there
        if not any(device_matches(spec, other) for other in there):
            elsewhere = spec.job not in (None, "localhost") or bool(spec.task) or bool(spec.replica)
            found.append(PinnedOps(device, op, counts[device], elsewhere))
    return found


def parse_device(device: str) -> Any:
    """The parsed name; None for one that TensorFlow does not understand either."""
    import tensorflow as tf

    try:
        return tf.DeviceSpec.from_string(device)
    except ValueError:
        return None


def _is_first_cpu(spec: Any) -> bool:
    here = spec.job in (None, "localhost") and not spec.task and not spec.replica
    return here and spec.device_type in (None, "CPU") and not spec.device_index


def available_devices(session: Any) -> list[Any]:
    """The devices of a session that is open, else of this machine, as DeviceSpecs."""
    import tensorflow as tf

    if session is not None and not getattr(session, "_closed", False) and hasattr(session, "list_devices"):
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


def device_matches(wanted: Any, there: Any) -> bool:
    """Whether what stands on the device `wanted`, which may leave parts of its name out, can stand on `there`."""
    pairs = (
        (wanted.job, there.job),
        (wanted.replica, there.replica),
        (wanted.task, there.task),
        (wanted.device_type, there.device_type),
        (wanted.device_index, there.device_index),
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


def is_soft_placement(session: Any) -> bool:
    """Whether a session runs ops elsewhere where their device is absent; one without a config of its own does.

    See test_tensorflow_facts.py::test_a_session_without_a_config_places_ops_softly.
    """
    return bool(getattr(getattr(session, "_config", None), "allow_soft_placement", False))


def pinned_notice(pinned: PinnedOps, *, soft: bool) -> str:
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
