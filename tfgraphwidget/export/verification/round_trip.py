"""Loads a written file, runs it, and compares its outputs with those of the editor's graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tfgraphwidget.errors import GraphEditError, NotTrusted
from tfgraphwidget.export.verification.reference import ReferenceRun
from tfgraphwidget.graph import Effects, NodesByName, Signature, Trust
from tfgraphwidget.naming import split_tensor
from tfgraphwidget.progress import tell
from tfgraphwidget.runtime.sandbox import PATIENCE, RUNS, JobFailed, RemoteContext, exact_config
from tfgraphwidget.sentences import in_cell
from tfgraphwidget.sources import (
    bound_arguments,
    error_text,
    open_session,
    tensor_names,
    tf_protos,
)
from tfgraphwidget.tensorflow_modules import tf, v1
from tfgraphwidget.tf_internals import eager_mode
from tfgraphwidget.tf_types import Tensor, TensorCompatible

Run = Callable[[Signature, Mapping[str, TensorCompatible]], dict[str, np.ndarray]]
"""Runs a signature of the written file: outputs by key for feeds by key."""


class Reference(Protocol):
    """Gives the outputs that the written file must have."""

    @property
    def is_remote(self) -> bool:
        """Whether the written file runs in a process of its own."""

    def is_refused(self) -> bool:
        """Whether the written file may not even be loaded, which a notice says."""

    @property
    def notices(self) -> list[str]:
        """Gets a sentence for the user on each thing that was not checked."""

    def run_all(self) -> list[ReferenceRun]:
        """The signatures that run, each with feeds and outputs."""

    def rerun(self, run_all: Sequence[ReferenceRun], *, moved: bool = False) -> list[ReferenceRun]:
        """Run again on the same feeds, from the initial state; `moved`: with `next_numbers`."""


_ANYWAY = in_cell("verify=False writes it all the same")
# Relative to the largest number of an output: the same kernels give the same bits, fused ones
# nearly the same.
_TOLERANCE = {"float64": 1e-10, "complex128": 1e-10, "float32": 1e-5, "complex64": 1e-5}
_COARSE = 2e-2
# how much more than the rounding of its inputs the rounding inside of a graph can change its
# outputs
_SPREAD = 8


def check(
    reference: Reference,
    kind: str,
    loaders: Sequence[tuple[str, Callable[[], AbstractContextManager[Run]]]],
    is_excused: Callable[[str, Sequence[ReferenceRun]], bool] = lambda *_: False,
    tolerance: float | None = None,
) -> float | None:
    """Check that a written file computes what the editor's graph computes.

    Args:
        loaders: The functions that load the file: the name of each, and a context manager that
            gives a `Run`.
        is_excused: Whether a loader that fails is passed over, from its name and the runs that were
            tried.
        tolerance: How much outputs may differ, relative to the largest number of an output; None
            for what the same kernels differ by.

    Returns:
        The largest difference of an element of an output; None if nothing was run.

    Raises:
        GraphEditError: If the file cannot be loaded or has other outputs.
    """
    if reference.is_refused():
        return None
    expected = reference.run_all()
    largest: list[float] = []
    for loader, load in loaders:
        tell(f"Proving what is saved: {loader}")
        try:
            with load() as run:
                results = [run(signature, feeds) for signature, feeds, _ in expected]
        except NotTrusted as refusal:
            reference.notices.append(f"What was written was not run by {loader}: " + refusal.why)
            continue
        except Exception as error:  # TensorFlow raises many kinds for a damaged file
            if isinstance(error, GraphEditError) and not error.code.startswith(f"{RUNS.code}-"):
                raise
            if is_excused(loader, expected):
                continue
            why = error.reason if isinstance(error, JobFailed) else error_text(error)
            raise GraphEditError(
                f"{kind} cannot be loaded and run through {loader}: {why}; nothing "
                "was written, and " + _ANYWAY + "."
            ) from error
        _compare(reference, kind, loader, expected, results, tolerance)
        largest = [
            largest_difference(values[key], result[key])
            for (_, _, values), result in zip(expected, results, strict=True)
            for key in values
        ]
    return max(largest, default=None)


def _compare(
    reference: Reference,
    kind: str,
    loader: str,
    expected: Sequence[ReferenceRun],
    results: Sequence[dict[str, np.ndarray]],
    tolerance: float | None,
) -> None:
    once_more: list[ReferenceRun] = []
    moved: list[ReferenceRun] = []
    for k, (signature, _, expected_values) in enumerate(expected):
        for key, tensor in signature.outputs:
            why = describe_difference(expected_values[key], results[k][key], tolerance)
            if why and same_dtype_and_shape(expected_values[key], results[k][key]):
                # Unseeded random numbers differ from run to run; those of the reference do too
                # then.
                once_more = once_more or reference.rerun(expected)
                if describe_difference(expected_values[key], once_more[k][2][key], tolerance):
                    why = ""
                # a deep model that was not trained can turn the last bit of a number into the first
                if why:
                    moved = moved or reference.rerun(expected, moved=True)
                    if is_rounding(expected_values[key], results[k][key], moved[k][2][key]):
                        why = ""
            if why:
                raise GraphEditError(
                    f"{kind} gives something else than the graph does: output {key!r} of signature "
                    f"{signature.name!r} "
                    f"{why} (through {loader}); nothing was written, and " + _ANYWAY + ".",
                    [split_tensor(tensor)[0]],
                )


def same_dtype_and_shape(a: npt.ArrayLike, b: npt.ArrayLike) -> bool:
    """Whether two arrays have the same dtype and shape."""
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape)


def largest_difference(expected: npt.ArrayLike, actual: npt.ArrayLike) -> float:
    """The largest difference of two elements of arrays of one shape; 0 for what are not numbers."""
    a, b = np.asarray(expected), np.asarray(actual)
    if not np.issubdtype(a.dtype, np.number) and a.dtype.name != "bfloat16":
        return 0.0
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    differences = np.abs(a.astype(wide) - b.astype(wide))
    return float(np.max(differences[np.isfinite(differences)], initial=0.0))


def describe_difference(
    expected: npt.ArrayLike, actual: npt.ArrayLike, tolerance: float | None = None
) -> str:
    """How an array differs from the expected one by more than a tolerance, relative to the largest
    number, or that of the dtype, as the end of a sentence; "" if it does not.
    """
    expected_array, actual_array = np.asarray(expected), np.asarray(actual)
    if not same_dtype_and_shape(expected_array, actual_array):
        return (
            f"is {actual_array.dtype} of shape {actual_array.shape} in place of "
            f"{expected_array.dtype} of shape {expected_array.shape}"
        )
    if np.array_equal(expected_array, actual_array) or expected_array.size == 0:
        return ""
    if (
        not np.issubdtype(expected_array.dtype, np.inexact)
        and expected_array.dtype.name != "bfloat16"
    ):
        count = int(np.count_nonzero(expected_array != actual_array))
        return f"differs in {count} of {expected_array.size} elements"
    wide = np.complex128 if np.iscomplexobj(expected_array) else np.float64
    a, b = expected_array.astype(wide), actual_array.astype(wide)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return "has its infinite numbers, or those that are none, in other places"
    largest = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    scale = float(np.max(np.abs(a[finite]), initial=0.0))
    allowed = _TOLERANCE.get(expected_array.dtype.name, _COARSE) if tolerance is None else tolerance
    return f"differs by {largest:.3g}" if largest > allowed * max(scale, 1e-30) else ""


def is_rounding(expected: npt.ArrayLike, actual: npt.ArrayLike, moved: npt.ArrayLike) -> bool:
    """Whether an output differs from the expected one by no more than rounding can change it;
    `moved` is that of the graph for inputs and variables that are one bit larger.
    """
    a, b, c = (np.asarray(values) for values in (expected, actual, moved))
    if not np.issubdtype(a.dtype, np.inexact) or not (
        same_dtype_and_shape(a, b) and same_dtype_and_shape(a, c)
    ):
        return False
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    a, b, c = (values.astype(wide) for values in (a, b, c))
    if not all(np.isfinite(values).all() for values in (a, b, c)):
        return False
    return bool(np.max(np.abs(a - b), initial=0.0) <= _SPREAD * np.max(np.abs(a - c), initial=0.0))


def check_saved_model(
    path: Path,
    reference: Reference,
    trust: Trust,
    tags: Sequence[str] = ("serve",),
    opened: Path | None = None,
) -> tuple[str, ...]:
    """Check a SavedModel of one graph with both of TensorFlow's loaders.

    A Keras model that `tf.saved_model.save` wrote runs through one of them alone: the checkpoint
    has the values of variables that no signature reads.

    Args:
        trust: Whether ops may run that do more than compute; what runs when a model is loaded may
            be none else.
        opened: The folder of the SavedModel that was edited; a loader that cannot run it need not
            run the new one.

    Returns:
        The names of the loaders that can run neither.

    Raises:
        GraphEditError: The model cannot be loaded, or has other outputs.
    """
    loaders: dict[str, Callable[[Path], AbstractContextManager[Run]]] = {
        "tf.compat.v1.saved_model.load": lambda at: opened_by(
            reference, _load_in_session, at, tuple(tags), trust
        ),
        "tf.saved_model.load": lambda at: opened_by(reference, load_eagerly, at, tuple(tags)),
    }
    if not trust.is_given and _functions_have_effects(path, trust):
        del loaders["tf.saved_model.load"]  # it runs the functions that initialize and restore
    excused: list[str] = []

    def is_excused(loader: str, tried: Sequence[ReferenceRun]) -> bool:
        if opened is None or _runs(lambda: loaders[loader](opened), tried):
            return False
        excused.append(loader)
        return len(excused) < len(loaders)

    check(
        reference,
        "The SavedModel",
        [(name, partial(load, path)) for name, load in loaders.items()],
        is_excused,
    )
    return tuple(excused)


def _runs(load: Callable[[], AbstractContextManager[Run]], tried: Sequence[ReferenceRun]) -> bool:
    """Whether a loader can run a file."""
    try:
        with load() as run:
            for signature, feeds, _ in tried:
                run(signature, feeds)
    except Exception:  # the kinds that `check` has sentences for
        return False
    return True


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep TensorFlow from warnings of how the check loads a model."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(max(level, logging.ERROR))
    try:
        yield
    finally:
        logger.setLevel(level)


def opened_by(
    reference: Reference, load: Callable[..., AbstractContextManager[Run]], *arguments: object
) -> AbstractContextManager[Run]:
    """What loads a file, by a function of a module that gives a context manager, which yields a
    `Run`, in a process of its own if the reference runs in one.
    """
    return (
        RemoteContext(RUNS, PATIENCE, load, *arguments) if reference.is_remote else load(*arguments)
    )


def _functions_have_effects(path: Path, trust: Trust) -> bool:
    """Whether an op or a function of a SavedModel does more than compute."""
    model = tf_protos.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    beside = Trust(trust.origin, folders=(*trust.folders, path))
    for meta in model.meta_graphs:
        functions = {
            function.signature.name: function for function in meta.graph_def.library.function
        }
        nodes = NodesByName(meta.graph_def.node)
        effects = Effects(nodes, functions.__getitem__, functions.keys(), beside.may_read)
        bound = bound_arguments(meta, path)
        if next(chain(effects.of_graph(), effects.of_library(bound)), None) is not None:
            return True
    return False


@contextmanager
def _load_in_session(path: Path, tags: Sequence[str], trust: Trust) -> Iterator[Run]:
    beside = replace(trust, folders=(*trust.folders, path))
    with tf.Graph().as_default() as graph, open_session(graph, beside, exact_config()) as session:
        with _without_warnings():
            meta = v1.saved_model.load(session, list(tags), str(path))

        def run(
            signature: Signature, feeds: Mapping[str, TensorCompatible]
        ) -> dict[str, np.ndarray]:
            proto = meta.signature_def[signature.name]
            inputs, outputs = dict(tensor_names(proto.inputs)), dict(tensor_names(proto.outputs))
            fetches = {key: outputs[key] for key, _ in signature.outputs}
            values: dict[str, np.ndarray] = session.run(
                fetches, {inputs[key]: value for key, value in feeds.items()}
            )
            return values

        yield run


@contextmanager
def load_eagerly(path: Path, tags: Sequence[str] | None = None) -> Iterator[Run]:
    """Load a SavedModel, or its graph with these tags; it yields what runs its signatures."""
    with eager_mode(), optimizers_off():
        with _without_warnings():
            loaded = tf.saved_model.load(str(path), None if tags is None else list(tags))
        dtypes = {name: f.structured_input_signature[1] for name, f in loaded.signatures.items()}

        def run(
            signature: Signature, feeds: Mapping[str, TensorCompatible]
        ) -> dict[str, np.ndarray]:
            specs = dtypes[signature.name]
            # This loader takes the parts of a sparse value, "key/values", as arguments
            # "key_values".
            feeds_by_key = {
                key if key in specs else key.replace("/", "_"): value
                for key, value in feeds.items()
            }
            tensors = {
                key: tf.constant(value, specs[key].dtype) for key, value in feeds_by_key.items()
            }
            outputs = loaded.signatures[signature.name](**tensors)
            return {key: _output(key, outputs).numpy() for key, _ in signature.outputs}

        yield run


def _output(key: str, outputs: Mapping[str, Tensor]) -> Tensor:
    name, _, part = key.rpartition("/")
    return outputs[key] if key in outputs else getattr(outputs[name], part)


@contextmanager
def optimizers_off() -> Iterator[None]:
    """A context without TensorFlow's graph optimizers, which change results' last bits."""
    key = "disable_meta_optimizer"
    before = bool(tf.config.optimizer.get_experimental_options().get(key, False))
    tf.config.optimizer.set_experimental_options({key: True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({key: before})
