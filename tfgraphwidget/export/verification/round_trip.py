"""Loads back what was written, runs it, and compares what it gives with what the editor's graph gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export.verification.reference import Tried
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.sandbox import exact_config
from tfgraphwidget.runtime.session import error_text
from tfgraphwidget.sources import Signature
from tfgraphwidget.tf_internals import eager_mode

v1 = tf.compat.v1
Run = Callable[[Signature, dict[str, Any]], dict[str, Any]]
"""What a signature of the written file gives by key, for feeds by key."""


class Original(Protocol):
    """What the file that was written must give."""

    def tried(self) -> list[Tried]:
        """Each signature that runs on some feeds, with these and with what comes out, in order."""

    def again(self, tried: Sequence[Tried]) -> list[Tried]:
        """The same once more, from the beginning."""


_ANYWAY = "verify=False writes it all the same"
# Relative to the largest number of an output: the same kernels give the same bits, fused ones nearly the same.
_TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5}
_COARSE = 2e-2


def check(original: Original, kind: str, loaded: Sequence[tuple[str, Callable[[], Any]]]) -> None:
    """Raise GraphEditError unless what was written gives what the original gives.

    `loaded` are the ways to load it, each a name and what opens a context in which a `Run` can run.
    """
    tried = original.tried()
    for way, opened in loaded:
        tell(f"Proving what is saved: {way}")
        try:
            with opened() as run:
                got = [run(signature, feeds) for signature, feeds, _ in tried]
        except GraphEditError:
            raise
        except Exception as error:  # whatever TensorFlow finds wrong
            raise GraphEditError(
                f"{kind} cannot be loaded and run through {way}: {first_line(error)}; nothing was written. {_ANYWAY}."
            ) from error
        _compare(original, kind, way, tried, got)


def first_line(error: Exception) -> str:
    """What is the matter, in one line."""
    if isinstance(error, tf.errors.OpError):
        return error_text(error)
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(". ")


def _compare(original: Original, kind: str, way: str, tried: Sequence[Tried], got: Sequence[dict[str, Any]]) -> None:
    once_more: list[Tried] = []
    for k, (signature, _, wanted) in enumerate(tried):
        for key, tensor in signature.outputs:
            why = difference(wanted[key], got[k][key])
            if why and same_kind(wanted[key], got[k][key]):
                # Random numbers that nobody has seeded differ from run to run; the original's do too then.
                once_more = once_more or original.again(tried)
                why = "" if difference(wanted[key], once_more[k][2][key]) else why
            if why:
                raise GraphEditError(
                    f"{kind} gives something else than the graph does: output {key!r} of signature {signature.name!r} "
                    f"{why} (through {way}); nothing was written. {_ANYWAY}.",
                    [split_tensor(tensor)[0]],
                )


def same_kind(a: Any, b: Any) -> bool:
    """Whether two arrays have one dtype and shape."""
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape)


def difference(wanted: Any, got: Any) -> str:
    """How an array differs from the one that is wanted, as the end of a sentence; "" when it does not."""
    wanted, got = np.asarray(wanted), np.asarray(got)
    if not same_kind(wanted, got):
        return f"is {got.dtype} of shape {got.shape} in place of {wanted.dtype} of shape {wanted.shape}"
    if np.array_equal(wanted, got) or wanted.size == 0:
        return ""
    if not np.issubdtype(wanted.dtype, np.inexact) and wanted.dtype.name != "bfloat16":
        count = int(np.count_nonzero(wanted != got))
        return f"differs in {count} of {wanted.size} elements"
    wide = np.complex128 if np.iscomplexobj(wanted) else np.float64
    a, b = wanted.astype(wide), got.astype(wide)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "has its infinite numbers, or those that are none, in other places"
    largest = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    scale = float(np.max(np.abs(a[finite]), initial=0.0))
    return (
        f"differs by {largest:.3g}" if largest > _TOLERANCE.get(wanted.dtype.name, _COARSE) * max(scale, 1e-30) else ""
    )


def check_saved_model(path: Path, original: Original) -> None:
    """Try a SavedModel as both loaders load it."""
    ways = (
        ("tf.compat.v1.saved_model.load", lambda: _in_session(path)),
        ("tf.saved_model.load", lambda: _eagerly(path)),
    )
    check(original, "The SavedModel", ways)


@contextmanager
def _in_session(path: Path) -> Iterator[Run]:
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=exact_config()) as session:
        meta = v1.saved_model.load(session, ["serve"], str(path))

        def run(signature: Signature, feeds: dict[str, Any]) -> dict[str, Any]:
            proto = meta.signature_def[signature.name]
            fetches = {key: proto.outputs[key].name for key, _ in signature.outputs}
            got: dict[str, Any] = session.run(fetches, {proto.inputs[key].name: v for key, v in feeds.items()})
            return got

        yield run


@contextmanager
def _eagerly(path: Path) -> Iterator[Run]:
    with eager_mode(), unoptimised():
        loaded = tf.saved_model.load(str(path))
        dtypes = {name: f.structured_input_signature[1] for name, f in loaded.signatures.items()}

        def run(signature: Signature, feeds: dict[str, Any]) -> dict[str, Any]:
            specs = dtypes[signature.name]
            given = {key: tf.constant(value, specs[key].dtype) for key, value in feeds.items()}
            return {key: tensor.numpy() for key, tensor in loaded.signatures[signature.name](**given).items()}

        yield run


@contextmanager
def unoptimised() -> Iterator[None]:
    """With TensorFlow's graph optimisers off, which change the last bits of the numbers."""
    key = "disable_meta_optimizer"
    before = bool(tf.config.optimizer.get_experimental_options().get(key, False))
    tf.config.optimizer.set_experimental_options({key: True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({key: before})
