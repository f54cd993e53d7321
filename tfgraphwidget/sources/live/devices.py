"""Devices that ops are pinned to, and whether they exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tfgraphwidget.naming import names_text
from tfgraphwidget.sentences import either
from tfgraphwidget.sources.source import Body
from tfgraphwidget.tensorflow_modules import is_loaded, tf
from tfgraphwidget.tf_types import Session

_TYPES = frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"})  # that can be written without "device:"


class PinnedOps(NamedTuple):
    """Ops pinned to a device that does not exist here; `elsewhere` for another machine's."""

    device: str
    first: str
    number: int
    elsewhere: bool


def absent_devices(
    devices_of_ops: Iterable[tuple[str, str]], session: Session | None = None
) -> list[PinnedOps]:
    """The absent devices among (op, device) pairs, "" for an op that is not pinned, in the order of
    first use.

    The devices of `session`, else of this machine; those are listed only when an op is pinned to
    another than a CPU. As long as TensorFlow is not imported, only devices of other machines are
    known to be absent.
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for op, device in devices_of_ops:
        if device:
            first.setdefault(device, op)
            counts[device] = counts.get(device, 0) + 1
    absent = []
    available, listed = None, False
    for device, op in first.items():
        spec = parse_device(device)
        if spec is None or _is_first_cpu(spec):
            continue
        if not listed:
            available, listed = available_devices(session), True
        elsewhere = spec.job not in (None, "localhost") or bool(spec.task) or bool(spec.replica)
        if available is None:
            is_absent = elsewhere
        else:
            is_absent = not any(device_matches(spec, device) for device in available)
        if is_absent:
            absent.append(PinnedOps(device, op, counts[device], elsewhere))
    return absent


class Device(NamedTuple):
    """A device, or what an op is pinned to: as `tf.DeviceSpec`, without TensorFlow."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def __str__(self) -> str:
        """The name as TensorFlow writes it, "/job:localhost/replica:0/task:0/device:CPU:0"."""
        places = (("job", self.job), ("replica", self.replica), ("task", self.task))
        text = "".join(f"/{key}:{value}" for key, value in places if value is not None)
        index = "*" if self.device_index is None else self.device_index
        return text if self.device_type is None else f"{text}/device:{self.device_type}:{index}"


FIRST_CPU = Device("localhost", 0, 0, "CPU", 0)
"""A device that every machine has."""


def parse_device(device: str) -> Device | None:
    """The parts of a device's name; None when it is not written as TensorFlow writes one.

    Example:
        >>> parse_device("/job:worker/task:1/gpu:0")
        Device(job='worker', replica=None, task=1, device_type='GPU', device_index=0)
    """
    fields: dict[str, Any] = {}
    for part in device.split("/"):
        key, *values = part.split(":")
        is_type = key == "device" and len(values) == 2
        if key in ("job", "replica", "task") and len(values) == 1:
            fields[key] = values[0]
        elif (
            is_type or (key.upper() in _TYPES and len(values) < 2)
        ) and "device_type" not in fields:
            fields["device_type"] = values[0] if is_type else key.upper()
            fields["device_index"] = values[-1] if values and values[-1] != "*" else None
        elif key:
            return None
    try:
        numbers = {
            key: int(fields[key])
            for key in ("replica", "task", "device_index")
            if fields.get(key) is not None
        }
    except ValueError:
        return None
    return Device(**{**fields, **numbers})


def _is_first_cpu(spec: Device) -> bool:
    here = spec.job in (None, "localhost") and not spec.task and not spec.replica
    return here and spec.device_type in (None, "CPU") and not spec.device_index


def available_devices(session: Session | None) -> list[Device] | None:
    """The devices of an open session, or of this machine; None until TensorFlow is imported."""
    if not is_loaded():
        return None
    from tfgraphwidget.tf_internals import is_closed

    if session is not None and not is_closed(session) and hasattr(session, "list_devices"):
        names = [parse_device(device.name) for device in session.list_devices()]
        return [device for device in names if device is not None]
    numbers: dict[str, int] = {}
    devices = []
    for device in tf.config.list_physical_devices():
        number = numbers.get(device.device_type, 0)
        numbers[device.device_type] = number + 1
        devices.append(Device("localhost", 0, 0, device.device_type, number))
    return devices


def device_matches(spec: Device, device: Device) -> bool:
    """Whether an op pinned to `spec`, which can omit fields, can run on the device `device`."""
    return all(field is None or field == own for field, own in zip(spec, device, strict=True))


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
    """Whether a session places ops on other devices if theirs is absent; a session without a config
    does.

    See test_tensorflow_facts.py::test_a_session_without_a_config_places_ops_softly.
    """
    from tfgraphwidget.tf_internals import session_config

    return bool(getattr(session_config(session), "allow_soft_placement", False))


def pinned_notices(pinned: Iterable[PinnedOps], *, soft: bool) -> tuple[str, ...]:
    """One sentence on all ops pinned to absent local devices, and one on other machines'."""
    sides: dict[bool, list[PinnedOps]] = {}
    for each in pinned:
        sides.setdefault(each.elsewhere, []).append(each)
    return tuple(_notice(side, soft=soft) for side in sides.values())


def _notice(pinned: Sequence[PinnedOps], *, soft: bool) -> str:
    """The sentence on ops pinned to absent devices; with `soft` the CPU runs local ones."""
    first, ops = pinned[0], sum(each.number for each in pinned)
    it = "it" if ops == 1 else "them"
    if len(pinned) > 1:
        devices = names_text([each.device for each in pinned])
        head = (
            f"{ops:,} ops are pinned to devices that are not available on this machine, {devices}"
        )
    else:
        others = f" (and {ops - 1} more)" if ops > 1 else ""
        head = (
            f"Op {_place(first.first)}{others} is pinned to {first.device!r}, which is not "
            "available on this machine"
        )
    if first.elsewhere:
        return f"{head}; import the graph without devices " + either(
            f"to run {it}: tf.compat.v1.train.import_meta_graph(file, clear_devices=True).",
            f"in a cell to run {it}.",
        )
    if soft:
        return f"{head}; {'they run' if len(pinned) > 1 else 'it runs'} on CPU."
    soft_session = either(
        "tf.compat.v1.ConfigProto(allow_soft_placement=True)", "soft placement in a cell"
    )
    return f"{head}; open the session with " + soft_session + f" to run {it} on the CPU."
