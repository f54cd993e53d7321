"""A process beside the kernel in which TensorFlow runs what may crash, hang, or take all memory.

It starts on first use, which imports TensorFlow there, does one job after another, and ends when it
had none for some minutes, with the kernel, or when a job is interrupted or takes too long; the next
job starts another.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from tfgraphwidget.errors import GraphEditError, kind_and_reason, reason_of
from tfgraphwidget.sources import error_text

_ROOT = str(Path(__file__).parents[3])
_START = "from tfgraphwidget.runtime.sandbox.child_process import serve; serve()"
IDLE_LIMIT = 300.0  # seconds without a job until the process ends itself
PARENT_INTERVAL = 1.0  # seconds between two looks for the process that gives the jobs
# Bytes that a job may take on any machine: a model of some hundred megabytes, several times.
MEMORY_FLOOR = 2 << 30
MEMORY_SHARE = 0.6  # of the memory that is available when a job begins
LAST_WORDS = 400  # characters of what a process wrote before it crashed
_DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class JobFailed(Exception):
    """A job raised something that is not this package's.

    Attributes:
        why: What it was, as the end of a sentence: its class, and what it says.
        reason: What it says, alone.
        helps: What would help, as a sentence without its end; "" if that is unknown.
    """

    def __init__(self, why: str, reason: str = "", helps: str = "") -> None:
        super().__init__(why, reason, helps)
        self.why, self.reason, self.helps = why, reason or why, helps

    def __str__(self) -> str:
        return self.why


class ChildProcess:
    """Calls functions in a process of its own, one at a time.

    Args:
        subject: What it is for users, as the subject of sentences: "the converter".
        code: How the codes of its errors begin.
    """

    def __init__(self, subject: str = "the run", code: str = "run") -> None:
        self.subject, self.code = subject, code
        self.generation = 0  # which process it is: what an earlier one held is gone
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._lock = threading.RLock()

    def call(self, function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        """Return what a function of a module returns there; it goes by its name, its arguments and
        its result as bytes.

        The exceptions of this package come as they are; of others JobFailed is raised, and
        GraphEditError where the process ended before the function did.
        """
        job = pickle.dumps((function, arguments), protocol=5)
        with self._lock:
            process = self._running_process()
            stopped = threading.Event()

            def stop() -> None:
                stopped.set()
                process.kill()

            timer = threading.Timer(seconds, stop)
            timer.daemon = True
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(job)
                process.stdin.flush()
                result, error = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError) as end:
                raise self._describe_end(process, seconds if stopped.is_set() else 0) from end
            except BaseException:  # Ctrl-C, and what else leaves the process with half a job
                self.close()
                raise
            finally:
                timer.cancel()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        messages, self._messages = self._messages, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            process.wait()
        if messages is not None:
            messages.close()

    def _running_process(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self.generation += 1
        paths = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH", ""))))
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env={
                **os.environ,
                "PYTHONPATH": paths,
                "PYTHONSAFEPATH": "1",
                "CUDA_VISIBLE_DEVICES": "-1",
            },
            start_new_session=True,  # an interrupt of the kernel ends a job by `close`
        )
        return self._process

    def _describe_end(self, process: subprocess.Popen[bytes], seconds: float) -> GraphEditError:
        """The reason why a process ended; `seconds` is the limit that it reached, or 0."""
        messages, self._messages = self._messages, None
        self.close()
        if seconds:
            if messages is not None:
                messages.close()
            return GraphEditError(
                f"{self.subject} took longer than {seconds:g} seconds and was stopped",
                code=f"{self.code}-timeout",
            )
        end = f"{self.subject} crashed ({_end_text(process.returncode)}){_last_words(messages)}"
        return GraphEditError(end, code=f"{self.code}-crashed")


def _end_text(code: int) -> str:
    """How a process ended: "SIGSEGV", "exit code 3"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_words(messages: IO[bytes] | None) -> str:
    """The last line that a process wrote, after a colon; closes the file."""
    if messages is None:
        return ""
    with messages:
        messages.seek(0)
        lines = messages.read().decode("utf-8", "replace").strip().splitlines()
    text = next(
        # Where TensorFlow ends the process, the reason comes before the places in its code.
        (line for line in reversed(lines) if line.strip() and not line.startswith((" ", "***"))),
        "",
    )
    return f": {text.strip()[:LAST_WORDS]}" if text else ""


def serve() -> None:
    """Do the jobs that come in, until there are no more: the main function of the process."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a job prints is not an answer
    jobs = sys.stdin.buffer
    while True:
        idle = threading.Timer(IDLE_LIMIT, os.kill, (os.getpid(), signal.SIGTERM))
        idle.daemon = True
        idle.start()
        try:
            function, arguments = pickle.load(jobs)
        except EOFError:
            return
        finally:
            idle.cancel()
        _limit_memory()
        answers.write(_pickle_answer(*_answer(function, arguments)))
        answers.flush()


def _pickle_answer(result: object, error: Exception | None) -> bytes:
    """A result and an exception as bytes, or why they cannot travel: the process goes on then."""
    if error is not None:
        # Some libraries (tblib) send what an exception was raised from, too: TensorFlow's ones hold
        # ops.
        error.__cause__ = error.__context__ = None
    try:
        return pickle.dumps((result, error), protocol=5)
    except Exception as failure:  # of whatever class of a job
        return pickle.dumps(
            (None, JobFailed(kind_and_reason(failure), reason_of(failure))), protocol=5
        )


def _end_with(parent: int) -> None:
    """End the process when its parent is gone, or a job without end would go on."""
    while os.getppid() == parent:
        time.sleep(PARENT_INTERVAL)
    os.kill(os.getpid(), signal.SIGTERM)


def _limit_memory() -> None:
    """Let the process have so much more memory and no more: an allocation beyond it fails, and the
    kernel's do not.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        # On Windows, and where there is no /proc.
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        available = next(
            int(line.split()[1]) << 10
            for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
            if line.startswith("MemAvailable:")
        )
        limit = pages * resource.getpagesize() + max(MEMORY_FLOOR, int(MEMORY_SHARE * available))
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))


def _answer(
    function: Callable[..., Any], arguments: tuple[object, ...]
) -> tuple[object, Exception | None]:
    """The result of a function, and what it raised."""
    try:
        return function(*arguments), None
    except Exception as error:  # what runs there raises what it pleases
        if _no_space := _without_space(str(error)):
            return None, _no_space
        is_own = type(error).__module__.startswith("tfgraphwidget.")
        return None, error if is_own else JobFailed(kind_and_reason(error), error_text(error))


def _without_space(text: str) -> JobFailed | None:
    """The failure that the text of an error means if the disk of the temporary files is full."""
    reason = next(
        (os.strerror(number) for number in _DISK_FULL if os.strerror(number) in text), None
    )
    if reason is None:
        return None
    return JobFailed(
        f"there is no space for temporary files in {tempfile.gettempdir()!r}: {reason}",
        helps="free some, or let the environment variable TMPDIR name another folder",
    )


# Context managers that stay open in the process between jobs

_numbers = itertools.count()
_opened: dict[int, tuple[AbstractContextManager[Callable[..., Any]], Callable[..., Any]]] = {}


def open_there(number: int, factory: Callable[..., Any], arguments: tuple[object, ...]) -> None:
    """Enter the context manager that `factory`, a function of a module, gives, and keep the
    function that it yields: a job of the process.
    """
    manager: AbstractContextManager[Callable[..., Any]] = factory(*arguments)
    _opened[number] = manager, manager.__enter__()


def call_there(number: int, arguments: tuple[object, ...]) -> object:
    """Call the function that a context manager has yielded: a job of the process."""
    return _opened[number][1](*arguments)


def close_there(number: int) -> None:
    """Leave a context manager: a job of the process."""
    manager, _ = _opened.pop(number)
    manager.__exit__(None, None, None)


class RemoteContext:
    """A context manager of a child process, which yields a function that is called there.

    What a process held that has crashed is opened again in the next one.

    Args:
        process: The process.
        seconds: How long opening it, and each call, may take.
        factory: A function of a module that gives a context manager, which yields a function.
        arguments: Those of the factory.
    """

    def __init__(
        self, process: ChildProcess, seconds: float, factory: Callable[..., Any], *arguments: object
    ) -> None:
        self._process, self._seconds = process, seconds
        self._factory, self._arguments = factory, arguments
        self._number, self._generation = next(_numbers), 0

    def __enter__(self) -> Callable[..., Any]:
        self._open()
        return self.__call__

    def _open(self) -> None:
        self._process.call(
            open_there, self._number, self._factory, self._arguments, seconds=self._seconds
        )
        self._generation = self._process.generation

    def __call__(self, *arguments: object) -> Any:
        """Call the function."""
        if self._generation != self._process.generation:
            self._open()
        return self._process.call(call_there, self._number, arguments, seconds=self._seconds)

    def __exit__(self, *_: object) -> None:
        if self._generation == self._process.generation:
            with contextlib.suppress(GraphEditError, JobFailed):
                self._process.call(close_there, self._number, seconds=self._seconds)


RUNS = ChildProcess()
"""The process that runs what files hold, and what made-up values are fed to."""
atexit.register(RUNS.close)
