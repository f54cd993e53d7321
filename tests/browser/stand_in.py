"""Is a kernel to the program that starts it, while warm.py's process has forked the real one; it
says why and how.

It runs in a bare Python, and imports little, so that a kernel does not wait for it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def stand_in(address: str, *arguments: str) -> int:
    """Stand in until the kernel has ended; its exit code. Dies of the signal that the kernel died
    of.
    """
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    socket.send_fds(line, [b"!"], [0, 1, 2])
    order = [arguments, os.getcwd(), dict(os.environ)]  # noqa: PTH109
    line.sendall(json.dumps(order).encode() + b"\n")
    for number in PASSED_ON:
        signal.signal(number, lambda number, _frame: line.sendall(bytes([number])))
    status = line.recv(4)
    code = os.waitstatus_to_exitcode(int.from_bytes(status, "big")) if status else -signal.SIGKILL
    if -code in PASSED_ON:
        signal.signal(-code, signal.SIG_DFL)
    if code < 0:
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(stand_in(*sys.argv[1:]))
