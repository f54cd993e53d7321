"""Names of devices are read as TensorFlow reads them."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tfgraphwidget.sources.live.devices import available_devices, device_matches, parse_device

NAMES = (
    *(
        "",
        "/cpu:0",
        "/device:CPU:0",
        "/GPU:*",
        "gpu",
        "/device:GPU:*",
        "/job:worker/replica:0/task:1/device:TPU:3",
    ),
    *(
        "/job:localhost",
        "/task:2",
        "/device:XPU:1",
        "/device:xla_cpu:0",
        "//cpu:1",
        "/job:a/job:b",
        "/replica:3/cpu:0",
    ),
    *(
        "/cpu:0/gpu:0",
        "/device:CPU",
        "/nonsense",
        "/task:one",
        "/cpu:first",
        "/device:CPU:0/device:GPU:0",
        "cpu:0:1",
    ),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_the_parts_that_tensorflow_finds(name: str) -> None:
    try:
        spec = tf.DeviceSpec.from_string(name)
    except ValueError:
        assert parse_device(name) is None
        return
    expected = (spec.job, spec.replica, spec.task, spec.device_type, spec.device_index)
    device = parse_device(name)
    assert device == expected
    assert str(device) == spec.to_string()


def test_the_devices_of_this_machine_have_the_names_of_a_session() -> None:
    with tf.compat.v1.Session(graph=tf.Graph()) as session:
        devices = available_devices(session)
    assert devices == available_devices(None)
    assert any(device_matches(parse_device("/cpu:0"), device) for device in devices)
