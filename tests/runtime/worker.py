"""One server of a cluster: `worker.py '["127.0.0.1:1", "127.0.0.1:2"]' 0`. It ends when its
standard input does.

When it is ready it prints the id of its process, which is not the one that was started: see
tests/browser/warm.py.
"""

from __future__ import annotations

import json
import os
import sys
import threading

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf


def end_with_parent() -> None:
    """So that nothing is left, however the tests end."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    addresses, task = json.loads(sys.argv[1]), int(sys.argv[2])
    server = tf.distribute.Server({"worker": addresses}, job_name="worker", task_index=task)
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    server.join()
