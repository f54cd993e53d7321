"""The canary: a folder, a port and a Python function that notice when an op of a file has touched
them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
SECRET = b"secret-of-the-canary\tsecond-column\n"
# seconds since 1970; Linux notes a read of a file whose last one is older than its last write
LONG_AGO = 1_000_000_000
READS, WRITES, NETWORK, PYTHON = "reads files", "writes files", "network", "Python"


class Canary:
    """What ops of a hostile file reach for.

    Args:
        folder: An empty folder.

    Attributes:
        model: The folder that the hostile file lies in.
        saved: The folder that the user saves to; what is written there is asked for.
        secret: A text file beside them.
        checkpoint: The prefix of a checkpoint with one tensor "a" of shape (1, 1).
        listed: A folder with one file.
        written: A folder that is there for ops that make no folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model, self.saved = folder / "model", folder / "saved"
        self.private, self.listed, self.written = (
            folder / "private",
            folder / "listed",
            folder / "written",
        )
        self.secret, self.checkpoint = self.private / "secret.txt", self.private / "kept"
        self.calls = self.connections = 0
        self._checkpoint_files = self._written_checkpoint()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        with tf.Graph().as_default():
            # TensorFlow keeps the function as long as the op.
            self._called = tf.numpy_function(self._call, [], tf.float32)
        self.token: bytes = self._called.op.get_attr("token")
        self.reset()

    def reset(self) -> None:
        """Put everything back as it was."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.model, self.saved, self.private, self.listed, self.written):
            folder.mkdir(parents=True)
        self.secret.write_bytes(SECRET)
        (self.listed / "file.txt").write_text("listed\n")
        for name, data in self._checkpoint_files.items():
            (self.private / name).write_bytes(data)
        self.calls = self.connections = 0

    def watch(self) -> None:
        """Begin to watch: what the test itself has written until now is what there is."""
        for path in self._watched_for_reads():
            os.utime(path, (LONG_AGO, path.stat().st_mtime))
        self._before = dict(self._files())

    def effects(self) -> set[str]:
        """What has been done since `watch`."""
        found = {READS for path in self._watched_for_reads() if not _is_unread(path)}
        if dict(self._files()) != self._before:
            found.add(WRITES)
        if self.connections:
            found.add(NETWORK)
        if self.calls:
            found.add(PYTHON)
        return found

    def leaks(self) -> list[str]:
        """The files that the user has saved and that hold the secret."""
        return [
            str(path.relative_to(self.saved))
            for path in self.saved.rglob("*")
            if _holds_secret(path)
        ]

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """The files outside of `saved`, with size and time of the last write. Folders are not
        listed to watch reads.
        """
        for folder in (self.folder, self.model, self.private, self.written):
            if folder.exists():
                for path in (
                    folder.iterdir() if folder in (self.folder, self.private) else folder.rglob("*")
                ):
                    if path.is_file() or path.parent == self.folder:
                        facts = path.stat()
                        yield (
                            str(path),
                            (facts.st_size, facts.st_mtime_ns) if path.is_file() else (0, 0),
                        )

    def _watched_for_reads(self) -> list[Path]:
        files = [self.private / name for name in self._checkpoint_files]
        return [
            path
            for path in (self.secret, *files, self.listed, self.listed / "file.txt")
            if path.exists()
        ]

    def _call(self) -> np.float32:
        self.calls += 1
        return np.float32(1)

    def _accept(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                connection, _ = self._listener.accept()
                self.connections += 1
                connection.close()

    def _written_checkpoint(self) -> dict[str, bytes]:
        """The files of a checkpoint by name."""
        shutil.rmtree(self.private, ignore_errors=True)
        self.private.mkdir(parents=True)
        with tf.Graph().as_default(), v1.Session() as session:
            session.run(
                tf.raw_ops.SaveV2(
                    prefix=str(self.checkpoint),
                    tensor_names=["a"],
                    shape_and_slices=[""],
                    tensors=[tf.ones([1, 1])],
                )
            )
        return {path.name: path.read_bytes() for path in self.private.iterdir()}


def _is_unread(path: Path) -> bool:
    return int(path.stat().st_atime) == LONG_AGO


def _holds_secret(path: Path) -> bool:
    word = SECRET.split(b"\t")[0]
    if not path.is_file():
        return False
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return any(word in archive.read(name) for name in archive.namelist())
    return word in path.read_bytes()
