"""Kernels, and programs of tests, that have TensorFlow loaded already: forked from one process that
imported it once.

A fresh kernel spends 6 s of CPU on `import tensorflow`, over a hundred times in one run of the
tests. Here one process imports it, with ipykernel and what else tfgraphwidget needs, executes
nothing, and forks for each kernel. That is sound: after these imports its only other threads are
OpenBLAS's, which ends them before a fork, and there is no session, no eager context and no event
loop yet that could be shared. A kernel has for itself what any has: process, group, environment,
folder, streams, random numbers, `__main__`. Only modules of others are loaded sooner: who looks at
that, or measures it, takes the environment's own python3, as tests/jupyterlab/test_comm_handler.py
does. What a test would start by `python -c CODE` or `python FILE` is had in the same way: see
`WarmKernels.python`.

Jupyter watches the process that it starts; that is stand_in.py. It hands all that it was given to
the forking process over a socket, passes signals on, and ends as the kernel ends. When the stand-in
goes, its kernel goes; when the forking process goes, all go; and that one goes with pytest.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WARM = b"warm\n"
# What tfgraphwidget imports, and not itself: a test says that nothing of ours is loaded until it is
# used.
LOADED = ("ipykernel.kernelapp", "tensorflow", "anywidget")
STAND_IN = Path(__file__).with_name("stand_in.py")


class WarmKernels:
    """The process that kernels are forked from, as tests see it; it is warm some seconds after it
    was made.
    """

    def __init__(self) -> None:
        from ipykernel.kernelspec import get_kernel_dict

        # Pytest's own folders have too long a path for a socket.
        self.folder = tempfile.TemporaryDirectory(prefix="warm-", ignore_cleanup_errors=True)
        address = str(Path(self.folder.name, "socket"))
        self.python = [sys.executable, "-I", "-S", str(STAND_IN), address]
        kernelspec = {**get_kernel_dict(), "argv": [*self.python, "-f", "{connection_file}"]}
        place = Path(self.folder.name, "kernels", "python3")
        place.mkdir(parents=True)
        (place / "kernel.json").write_text(json.dumps(kernelspec))
        self.process = subprocess.Popen(
            [sys.executable, __file__, address],
            stdin=subprocess.PIPE,  # ends when pytest ends, however that is
            stdout=subprocess.PIPE,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
            start_new_session=True,  # Ctrl-C is for pytest
        )

    @property
    def jupyter_path(self) -> str:
        """The JUPYTER_PATH of a program whose kernels of the name python3 come from here."""
        return os.pathsep.join(filter(None, [self.folder.name, os.environ.get("JUPYTER_PATH")]))

    def await_warm(self) -> None:
        """Wait until kernels can be had."""
        assert self.process.stdout
        if self.process.stdout.readline() != WARM:
            raise RuntimeError(
                f"There are no warm kernels: {__file__} ended with {self.process.wait()}."
            )

    def stop(self) -> None:
        """End the process, and the kernels that are left."""
        self.process.communicate()
        self.folder.cleanup()


@dataclass
class Order:
    """What a stand-in was given: all that makes its kernel another than the one before."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]


class Forking:
    """The other side: the process that has imported everything, and the stand-in of each kernel
    that it forked.
    """

    def __init__(self, address: str) -> None:
        self.kernels: dict[socket.socket, int] = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        self.ended, self.wake = socket.socketpair()
        self.wake.setblocking(False)
        signal.set_wakeup_fd(self.wake.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def fork(self) -> Order | None:
        """Fork until pytest is gone, then give None; in each kernel, give what its stand-in was
        given.
        """
        while sys.stdin not in (ready := self.ready()):
            if self.ended in ready:
                self.ended.recv(1)
                self.bury()
            for line in self.kernels.keys() & ready:
                report = line.recv(1)
                os.killpg(self.kernels[line], report[0] if report else signal.SIGKILL)
            if self.listener in ready:
                line, _ = self.listener.accept()
                if (order := taken(line)) and self.is_kernel(line, order):
                    return order
        for kernel in self.kernels.values():
            os.killpg(kernel, signal.SIGKILL)
        return None

    def ready(self) -> list[Any]:
        """Wait for pytest's end, the end of a kernel, a new stand-in, a word from an old one; which
        of them it is.
        """
        return select.select([sys.stdin, self.ended, self.listener, *self.kernels], [], [])[0]

    def is_kernel(self, line: socket.socket, order: Order) -> bool:
        """Fork; whether this is the new kernel."""
        self.kernels[line] = os.fork()
        if self.kernels[line]:
            os.setpgid(self.kernels[line], 0)
            for stream in order.streams:
                os.close(stream)
            return False
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Which a shell's background job does not have.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for held in (self.listener, self.ended, self.wake, *self.kernels):
            held.close()
        return True

    def bury(self) -> None:
        """Tell the stand-in of each kernel that has ended how it ended."""
        for line, kernel in list(self.kernels.items()):
            process, status = os.waitpid(kernel, os.WNOHANG)
            if process:
                del self.kernels[line]
                with line, suppress(OSError):  # the stand-in may be gone as well
                    line.sendall(status.to_bytes(4, "big"))


def taken(line: socket.socket) -> Order | None:
    """What a stand-in was given; None when it is gone already."""
    _, streams, *_ = socket.recv_fds(line, 1, 3)
    with line.makefile("rb", buffering=0) as report:  # takes none of the signals that come after
        given = report.readline()
    if not given.endswith(b"\n"):
        return None
    arguments, folder, environment = json.loads(given)
    return Order(arguments, folder, environment, streams)


def be_program(order: Order, cache: Path) -> None:
    """Be what `python -c CODE`, `python FILE` or `python -m ipykernel_launcher` would be, until it
    ends.
    """
    import numpy as np

    for number, stream in enumerate(order.streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    if sys.dont_write_bytecode:  # then tfgraphwidget would be compiled in each kernel: 1 s
        sys.pycache_prefix = str(cache)
        sys.dont_write_bytecode = False
    # Python's own random numbers begin anew after a fork by themselves; NumPy's global ones do not.
    np.random.seed()  # noqa: NPY002
    run(*order.arguments)
    # Ended as Python ends, but for the taking apart of all modules: 1.4 s of CPU for TensorFlow's.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def run(first: str, *others: str) -> None:
    """Run what the arguments of a Python name: code, a file, or else a kernel."""
    if first == "-c":
        code, *rest = others
        sys.argv = ["-c", *rest]
        sys.path.insert(0, "")
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    elif first == "-f":
        import ipykernel_launcher
        import ipywidgets
        from ipykernel.kernelapp import launch_new_instance

        # Its import does this only where IPython runs already. Without it a second page asks for
        # each widget by itself.
        ipywidgets.register_comm_target()
        sys.argv = [ipykernel_launcher.__file__, first, *others]
        launch_new_instance()
    else:
        sys.argv = [first, *others]
        runpy.run_path(first, run_name="__main__")


def fork(address: str) -> None:
    """Import, and fork until pytest is gone; returns in each kernel, too, when it ends."""
    sys.path.pop(0)  # this folder
    # Ipykernel reads it while it is imported; with us, kernels end.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for module in LOADED:
        importlib.import_module(module)
    gc.freeze()  # no collection in a kernel goes through TensorFlow again
    forking = Forking(address)
    os.write(1, WARM)
    if order := forking.fork():
        be_program(order, Path(address).with_name("bytecode"))


if __name__ == "__main__":
    fork(sys.argv[1])
