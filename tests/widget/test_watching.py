"""What a widget does beside answering: it looks now and then whether its graph has grown."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
import tensorflow as tf

import tfgraphwidget as tgw
from tfgraphwidget.widget import widget as module

SECOND = 0.01  # a second of the test
_Result = TypeVar("_Result")


def run(work: Coroutine[Any, Any, _Result]) -> _Result:
    """What a coroutine returns, in a thread of its own: a browser's test may have a loop running in
    this one.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def looks(widget: module.GraphWidget, number: int) -> list[float]:
    """When the widget looked so many times at a graph that cannot be read."""
    loop, times = asyncio.get_running_loop(), list[float]()

    def fail() -> None:
        times.append(loop.time())
        raise ValueError("The file is half written.")

    widget.catch_up = fail
    task = loop.create_task(module._watch(lambda: widget))
    while len(times) < number:
        await asyncio.sleep(SECOND)
    task.cancel()
    return times


def test_what_cannot_be_read_is_looked_at_less_and_less_often_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LOOKS", SECOND)
    monkeypatch.setattr(module, "_MOST_SECONDS_BETWEEN_LOOKS", 16 * SECOND)
    widget = tgw.edit(tf.Graph()).view.widget
    monkeypatch.setattr(type(widget), "comm", object())
    widget.log = logging.getLogger("looks")
    with caplog.at_level(logging.ERROR, logger="looks"):
        times = run(looks(widget, 7))
    waits = [(later - earlier) / SECOND for earlier, later in itertools.pairwise(times)]
    assert all(wait > 0.9 * least for wait, least in zip(waits, (2, 4, 8, 16, 16, 16), strict=True))
    assert len(caplog.records) == 1
    assert "The file is half written." in str(caplog.records[0].exc_info)


def test_a_widget_looks_twice_a_second_again_once_it_can_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SECONDS_BETWEEN_LOOKS", SECOND)
    graph = tf.Graph()
    widget = tgw.edit(graph).view.widget
    monkeypatch.setattr(type(widget), "comm", object())
    calls, catch_up = list[bool](), widget.catch_up

    def fail_first() -> None:
        calls.append(True)
        if len(calls) < 3:
            raise ValueError("The file is half written.")
        catch_up()

    async def grow() -> None:
        widget.catch_up = fail_first
        task = asyncio.get_running_loop().create_task(module._watch(lambda: widget))
        with graph.as_default():
            tf.constant(1.0)
        before = widget.revision
        while widget.revision == before:
            await asyncio.sleep(SECOND)
        seen = len(calls)
        while len(calls) < seen + 2:
            await asyncio.sleep(SECOND)
        task.cancel()

    run(asyncio.wait_for(grow(), 60))
    assert len(calls) >= 5


def test_a_question_that_reads_what_was_added_lets_the_views_draw_it() -> None:
    graph = tf.Graph()
    widget = tgw.edit(graph).view.widget
    before = widget.revision
    with graph.as_default():
        tf.constant(1.0, name="late")
    widget._pane.answer(1, {"id": 1, "type": "describe_model", "batch": 0, "large": False})
    assert widget.revision == before + 1
