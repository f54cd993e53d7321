"""Which devices ops are pinned to, and whether there are such."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import tensorflow as tf


class Pinned(NamedTuple):
    """Ops pinned to a device that is not there; `elsewhere` when it is another machine's."""

    device: str
    first: str
    number: int
    elsewhere: bool


def absent(placed: Iterable[tuple[str, str]], session: tf.compat.v1.Session | None = None) -> list[Pinned]:
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
        spec = spec_of(device)
        if spec is None or _is_first_cpu(spec):
            continue
        there = present(session) if there is None else there
        if not any(covers(spec, other) for other in there):
            elsewhere = spec.job not in (None, "localhost") or bool(spec.task) or bool(spec.replica)
            found.append(Pinned(device, op, counts[device], elsewhere))
    return found


def spec_of(device: str) -> Any:
    """The parsed name; None for one that TensorFlow does not understand either."""
    try:
        return tf.DeviceSpec.from_string(device)
    except ValueError:
        return None


def _is_first_cpu(spec: Any) -> bool:
    here = spec.job in (None, "localhost") and not spec.task and not spec.replica
    return here and spec.device_type in (None, "CPU") and not spec.device_index


def present(session: tf.compat.v1.Session | None) -> list[Any]:
    """The devices of a session that is open, else of this machine, as DeviceSpecs."""
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


def covers(wanted: Any, there: Any) -> bool:
    """Whether what stands on the device `wanted`, which may leave parts of its name out, can stand on `there`."""
    pairs = (
        (wanted.job, there.job),
        (wanted.replica, there.replica),
        (wanted.task, there.task),
        (wanted.device_type, there.device_type),
        (wanted.device_index, there.device_index),
    )
    return all(a is None or a == b for a, b in pairs)
