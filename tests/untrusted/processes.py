"""Processes that have TensorFlow loaded already: a hostile op may end one, or never end."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.untrusted.cells"])  # imports TensorFlow, and runs nothing
SECONDS = 120.0  # that one job may take on a busy machine; none needs more than some


class Ended(NamedTuple):
    """The process ended, or was ended, with a job half done."""

    how: str


def run_apart(
    function: Callable[[Any], Any],
    jobs: Sequence[Any],
    seconds: float = SECONDS,
    *,
    alone: bool = False,
) -> Iterator[Any]:
    """Give the results of a function of a module, for one job after another, in a process that is
    not this one.

    Args:
        function: The function of a job.
        jobs: The jobs. One that ends the process is followed by the next one in another process.
        seconds: How long one job may take.
        alone: Whether each job has a process of its own, since what it begins may go on.

    Yields:
        The result of each job, or Ended.
    """
    waiting = list(jobs)
    while waiting:
        receiver, sender = _context.Pipe(duplex=False)
        batch = waiting[: 1 if alone else None]
        process = _context.Process(target=_serve, args=(function, batch, sender), daemon=True)
        process.start()
        sender.close()
        try:
            for _ in batch:
                waiting.pop(0)
                if not receiver.poll(seconds):
                    yield Ended(f"took longer than {seconds:g} seconds")
                    break
                yield receiver.recv()
        except EOFError:
            process.join()
            yield Ended(f"ended with {process.exitcode}")
        finally:
            process.kill()
            process.join()
            receiver.close()


def _serve(function: Callable[[Any], Any], jobs: Sequence[Any], sender: Connection) -> None:
    """Do the jobs, and send the results."""
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    for job in jobs:
        sender.send(function(job))
