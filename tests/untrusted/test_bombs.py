"""A file that would compute without bounds crashes nothing, does not hang, and does not fill the
memory.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.untrusted.bombs import ALONE, BOMBS, CALLS, WRITES, Fuse, light, write_constant
from tests.untrusted.processes import run_apart

SECONDS = 400.0  # the sandbox stops a run after two minutes; a call may need several
# until what was saved is loaded and the loop runs, at the latest on a machine that is not busy
LOOP_SECONDS = 8.0
START_SECONDS = 60.0  # until a job has begun; some tenths of a second on a machine of one's own
CANCEL_SECONDS = 10.0  # a second, on a machine that is busy
QUICK = ("session", "fold_constants", "cost")


def wrong(fuses: list[Fuse]) -> list[str]:
    """What was wrong with calls, as lines."""
    results = run_apart(light, fuses, SECONDS)
    return [f"{fuse}: {what}" for fuse, what in zip(fuses, results, strict=True) if what]


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.sample(2)
def test_no_bomb_goes_off_as_a_graph_is_looked_at_folded_or_imported(bomb: str) -> None:
    assert wrong([Fuse(bomb, build, call) for build in WRITES for call in QUICK]) == []


@pytest.mark.parametrize("call", [call for call in CALLS if call not in QUICK])
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.slow
def test_no_bomb_goes_off_as_a_graph_is_saved_or_changed(bomb: str, call: str) -> None:
    assert wrong([Fuse(bomb, build, call) for build in WRITES]) == []


@pytest.mark.parametrize("build", ALONE)
@pytest.mark.sample(2)
def test_what_ends_a_process_of_tensorflow_does_not_end_the_one_that_asks(build: str) -> None:
    calls = ["session", "save SavedModel", "lint"]
    if (
        build != "calls"
    ):  # open: the time that folding takes grows with the cube of the depth of calls
        calls.append("fold_constants")
    assert wrong([Fuse("", build, call) for call in calls]) == []


CANCELED = """
import sys, tfgraphwidget as tgw
editor = tgw.edit(sys.argv[1])
try:
    print("began", flush=True)
    editor.save(sys.argv[1] + "_saved/", ["x:0"], ["y:0"])
    print("done")
except KeyboardInterrupt:
    print("canceled")
"""


def test_an_interrupt_ends_a_save_that_would_never_end(
    tmp_path: Path, warm_python: list[str]
) -> None:
    path = tmp_path / "bomb.pb"
    write_constant(path, "endless loop")
    command = [*warm_python, "-c", CANCELED, str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "began\n"
        time.sleep(LOOP_SECONDS)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.read() == "canceled\n"
        assert time.monotonic() - sent < CANCEL_SECONDS


JOB = """
import pathlib, time
pathlib.Path({begun!r}).touch()
time.sleep(600.0)
"""
KILLED = """
import runpy, sys, threading, time
from tfgraphwidget.runtime.sandbox.child_process import ChildProcess
child = ChildProcess()
threading.Thread(
    target=child.call, args=(runpy.run_path, sys.argv[1]), kwargs={"seconds": 900.0}, daemon=True
).start()
while child._process is None:
    time.sleep(0.01)
print(child._process.pid, flush=True)
time.sleep(600.0)
"""


def test_a_job_without_end_ends_with_the_process_that_asked_however_that_ends(
    tmp_path: Path,
) -> None:
    script, begun = tmp_path / "job.py", tmp_path / "begun"
    script.write_text(JOB.format(begun=str(begun)))
    command = [sys.executable, "-c", KILLED, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        job = Path("/proc", process.stdout.readline().strip())
        last = time.monotonic() + START_SECONDS
        while not begun.exists() and time.monotonic() < last:
            time.sleep(0.05)
        assert begun.exists()
        assert job.exists()
        process.kill()
    last = time.monotonic() + CANCEL_SECONDS
    while job.exists() and time.monotonic() < last:
        time.sleep(0.1)
    assert not job.exists()
