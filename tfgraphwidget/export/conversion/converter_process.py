"""The process in which converters run: an op on which one crashes ends that process, and not the kernel.

It starts on first use, which imports TensorFlow there, does one job after another, and ends when it had none for some
minutes, with the kernel, or when a job is interrupted or takes too long; the next job starts another.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tfgraphwidget.errors import GraphEditError, kind_and_reason

_ROOT = str(Path(__file__).parents[3])
_START = "from tfgraphwidget.export.conversion.converter_process import serve; serve()"
_MOST_IDLE = 300.0  # seconds without a job until the process ends itself
_DISK_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_LAST_WORDS = 400  # characters of what a process wrote before it crashed


class ConversionRefused(Exception):
    """A converter does not take a graph.

    Attributes:
        why: The reason, as the end of a sentence.
        ops: The names of the ops that it names.
        op_types: Their types, where it names types alone.
        helps: What would help, as a sentence without its end; "" if that is unknown.
    """

    def __init__(self, why: str, ops: tuple[str, ...] = (), op_types: tuple[str, ...] = (), helps: str = "") -> None:
        super().__init__(why, ops, op_types, helps)
        self.why, self.ops, self.op_types, self.helps = why, ops, op_types, helps

    def __str__(self) -> str:
        return self.why


class ConverterProcess:
    """Calls functions in a process of its own, one at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._lock = threading.Lock()

    def call(self, function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        """Return what a function of a module returns there.

        Args:
            function: The function; it goes by its name, its arguments and its result as bytes.
            arguments: Its arguments.
            seconds: How long it may take.

        Raises:
            ConversionRefused: The function refuses, or fails.
            GraphEditError: The process ended before the function did.
        """
        job = pickle.dumps((function, arguments))
        with self._lock:
            process = self._running_process()
            stopped = threading.Event()

            def stop() -> None:
                stopped.set()
                process.kill()

            timer = threading.Timer(seconds, stop)
            timer.start()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(job)
                process.stdin.flush()
                result, refusal = pickle.load(process.stdout)
            except (EOFError, OSError, pickle.UnpicklingError) as error:
                raise self._describe_end(process, seconds if stopped.is_set() else 0) from error
            except BaseException:  # Ctrl-C, and what else leaves the process with half a job
                self.close()
                raise
            finally:
                timer.cancel()
        if refusal is not None:
            raise refusal
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
        paths = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH", ""))))
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "CUDA_VISIBLE_DEVICES": "-1"},
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
                f"the converter took longer than {seconds:g} seconds and was stopped; give a larger timeout=",
                code="converter-timeout",
            )
        return GraphEditError(
            f"the converter crashed ({_end_text(process.returncode)}){_last_words(messages)}", code="converter-crashed"
        )


def _end_text(code: int) -> str:
    """How a process ended: "SIGSEGV", "exit code 3"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _last_words(messages: IO[bytes] | None) -> str:
    """The last line that a process wrote, behind a colon; closes the file."""
    if messages is None:
        return ""
    with messages:
        messages.seek(0)
        lines = messages.read().decode("utf-8", "replace").strip().splitlines()
    text = next((line.strip() for line in reversed(lines) if line.strip() and not line.startswith(" ")), "")
    return f": {text[:_LAST_WORDS]}" if text else ""


def serve() -> None:
    """Do the jobs that come in, until there are no more: the main function of the process."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what converters print is no answer
    jobs = sys.stdin.buffer
    while True:
        idle = threading.Timer(_MOST_IDLE, os.kill, (os.getpid(), signal.SIGTERM))
        idle.daemon = True
        idle.start()
        try:
            function, arguments = pickle.load(jobs)
        except EOFError:
            return
        finally:
            idle.cancel()
        pickle.dump(_answer(function, arguments), answers)
        answers.flush()


def _answer(function: Callable[..., Any], arguments: tuple[object, ...]) -> tuple[object, ConversionRefused | None]:
    """The result of a function, and its refusal."""
    try:
        return function(*arguments), None
    except ConversionRefused as refusal:
        return None, _without_space(refusal.why) or refusal
    except Exception as error:  # converters raise what they please
        return None, _without_space(str(error)) or ConversionRefused(kind_and_reason(error))


def _without_space(text: str) -> ConversionRefused | None:
    """The refusal that the text of an error means if the disk of the converter's temporary files is full."""
    reason = next((os.strerror(number) for number in _DISK_FULL if os.strerror(number) in text), None)
    if reason is None:
        return None
    return ConversionRefused(
        f"there is no space for temporary files in {tempfile.gettempdir()!r}: {reason}",
        helps="free some, or let the environment variable TMPDIR name another folder",
    )


CONVERTERS = ConverterProcess()
"""The process that all saves use."""
atexit.register(CONVERTERS.close)
