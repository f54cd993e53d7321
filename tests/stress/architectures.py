"""Forty architectures: each opened and drawn; its middle third cloned, run, saved, loaded; all of
it converted.

    make architectures
    python -m tests.stress.architectures --list
    python -m tests.stress.architectures ResNet50 "U-Net"

The first writes docs/explanation/architectures.md; the last replaces the rows of these alone.

All families of `keras.applications`, with random weights and small pictures; other networks as
Keras models; graphs of TensorFlow 1 with a session. What a clone returns is compared with the
tensors of the original, for the same values.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import onnxruntime
import tensorflow as tf

import tfgraphwidget as tgw
from tests.graphs import v1
from tests.models import written
from tests.stress import networks
from tests.stress.real_models import application, of_keras, shake
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.graph import traversal

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "architectures.md"
TOLERANCE = 1e-4
"""Of the largest number: additions in another order."""
_OTHER_KERNELS = 1e-3
"""The same where other kernels add: random weights of a deep network make much of the last bit."""
_COLUMNS = (
    "ops",
    "open",
    "draw",
    "part",
    "clone",
    "equal",
    "separate",
    "save",
    "loaded",
    "TFLite",
    "ONNX",
)
_PATIENCE = 1800  # seconds for one, in a process of its own
_HEAD = """# Tested architectures

`make architectures` writes this table, with a process of its own for each row. The graph is opened
and drawn. Of the ops between its inputs and outputs, the middle third in topological order is
cloned with its own variables. Original and clone run on the same values (**equal**: the largest
difference, as a share of the largest number). The variables of the clone are changed, and the
original must not change (**separate**; - without variables in that part). The model with the clone,
or the clone itself where it is a `tf.Module`, is saved, loaded by TensorFlow, run and compared
(**loaded**). The whole network, from its inputs to its outputs, is saved as **TFLite** and as
**ONNX**, run by LiteRT and onnxruntime, and compared with the graph in the same way. *TF Select,
not run*: it keeps ops of TensorFlow (`select_tf_ops=True`), which the LiteRT that TensorFlow brings
does not have. *no*: what the refusal says. Times are seconds on a shared core, pictures are small,
weights random.
"""

APPLICATIONS = {
    "Xception": 72, "VGG16": 32, "VGG19": 32, "ResNet50": 32, "ResNet101V2": 32, "InceptionV3": 76,
    "InceptionResNetV2": 76, "MobileNet": 32, "MobileNetV2": 32, "MobileNetV3Small": 32,
    "MobileNetV3Large": 32, "DenseNet121": 32, "NASNetMobile": 32, "EfficientNetB0": 32,
    "EfficientNetV2B0": 32, "ConvNeXtTiny": 32,
}  # fmt: skip
"""One or two of each family, with the size of the pictures."""

_FILES = {
    "slim Inception v3 (.meta)": ("inception", ["net/InceptionV3/Predictions/Softmax:0"]),
    "slim ResNet v2 50, training (.meta)": ("resnet", None),
    "seq2seq with attention, training (.meta)": ("seq2seq", ["logits:0"]),
    "deep Q-network, training (.meta)": ("dqn", None),
}


@dataclass
class Subject:
    """An editor with values for its inputs, the tensors that it is for, and how they are computed
    without a clone.
    """

    editor: GraphEditor
    feeds: dict[str, Any]
    outputs: list[str]
    run: Callable[[Sequence[str], dict[str, Any]], list[np.ndarray]]
    is_function: bool


def of_model(build: Callable[[], tuple[Any, Sequence[Any]]]) -> Callable[[Path], Subject]:
    """A Keras model."""

    def opened(folder: Path) -> Subject:
        subject = of_keras(build)(folder)
        editor = tgw.edit(subject.source)
        leaves = tf.nest.flatten(subject.arguments)
        arguments, results = editor._core.executor.inputs_and_outputs
        feeds = {name: np.asarray(leaf) for name, leaf in zip(arguments, leaves, strict=True)}
        outputs = list(results.values())

        def run(tensors: Sequence[str], given: dict[str, Any]) -> list[np.ndarray]:
            found = editor.probe(list(tensors), given)
            return [np.asarray(found[name].value) for name in tensors]

        return Subject(editor, feeds, outputs, run, is_function=True)

    return opened


def of_session(build: Callable[[], Sequence[Any]]) -> Callable[[Path], Subject]:
    """A graph of TensorFlow 1 that a function makes; it returns the outputs."""

    def opened(_: Path) -> Subject:
        v1.disable_control_flow_v2()
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(1)
            outputs = [tensor.name for tensor in build()]
            session = v1.Session(graph=graph)
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        return _with_session(graph, session, outputs)

    return opened


def of_file(name: str, outputs: list[str] | None) -> Callable[[Path], Subject]:
    """A `.meta` file of TensorFlow 1, with initial values."""

    def opened(folder: Path) -> Subject:
        v1.disable_control_flow_v2()
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(1)
            v1.train.import_meta_graph(str(written(name, folder)))
            session = v1.Session(graph=graph)
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        found = outputs or [_last_of(graph)]
        return _with_session(graph, session, found)

    return opened


def _last_of(graph: tf.Graph) -> str:
    """The output of a forward pass: a softmax, or the last product outside of gradients."""
    for kinds in (("Softmax",), ("BiasAdd", "MatMul", "Conv2D")):
        found = [
            op for op in graph.get_operations() if op.type in kinds and "gradients" not in op.name
        ]
        if found:
            return str(found[-1].outputs[0].name)
    raise LookupError("no output")


def _with_session(graph: tf.Graph, session: Any, outputs: list[str]) -> Subject:
    editor = tgw.edit(graph, session=session)
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            tensor = op.outputs[0]
            sizes = [
                3 if size is None else size
                for size in (tensor.shape.as_list() if tensor.shape.rank else [])
            ]
            feeds[tensor.name] = _value(tensor.dtype, sizes)

    def run(tensors: Sequence[str], given: dict[str, Any]) -> list[np.ndarray]:
        return [np.asarray(value) for value in session.run(list(tensors), given)]

    return Subject(editor, feeds, outputs, run, is_function=False)


def _value(dtype: Any, sizes: Sequence[int]) -> Any:
    chance = np.random.default_rng(0)
    if dtype.is_floating:
        return chance.uniform(-1, 1, sizes).astype(dtype.as_numpy_dtype)
    return (
        np.full(sizes, b"a", object) if dtype == tf.string else np.ones(sizes, dtype.as_numpy_dtype)
    )


ARCHITECTURES: dict[str, Callable[[Path], Subject]] = {
    **{name: of_model(application(name, size)) for name, size in APPLICATIONS.items()},
    **{name: of_model(build) for name, build in networks.KERAS.items()},
    **{name: of_session(build) for name, build in networks.SESSIONS.items()},
    **{name: of_file(file, outputs) for name, (file, outputs) in _FILES.items()},
}


# The steps


def check(name: str) -> dict[str, str]:
    """Take an architecture through all steps; the cells of its row.

    Args:
        name: Its name in ARCHITECTURES.

    Raises:
        AssertionError: Two results differ.
        GraphEditError: A step is refused.
    """
    cells: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        keras.utils.set_random_seed(0)
        begin = time.perf_counter()
        subject = ARCHITECTURES[name](Path(folder))
        editor = subject.editor
        begin = time.perf_counter()
        again = tgw.edit(editor._core.source.graph) if not subject.is_function else editor
        cells["ops"] = f"{len(again._core.index.names):,}"
        cells["open"] = f"{time.perf_counter() - begin:.1f}"
        begin = time.perf_counter()
        assert editor.view.to_svg().endswith("</svg>\n") or "</svg>" in editor.view.to_svg()
        cells["draw"] = f"{time.perf_counter() - begin:.1f}"
        _check_clone(subject, Path(folder), cells)
        for kind in ("TFLite", "ONNX"):
            cells[kind] = _check_converted(subject, Path(folder) / f"model.{kind.lower()}")
    return cells


def _check_clone(subject: Subject, folder: Path, cells: dict[str, str]) -> None:
    editor = subject.editor
    begin = time.perf_counter()
    inputs, outputs, copy = _clone_middle(subject)
    cells["clone"] = f"{time.perf_counter() - begin:.1f}"
    cells["part"] = f"{len(editor.between(inputs, outputs)):,}"
    given = dict(zip(inputs, subject.run(inputs, subject.feeds), strict=True))
    original = subject.run(outputs, subject.feeds)
    cells["equal"] = _share(_run_copy(subject, copy, given, outputs), original)
    cells["separate"] = _check_separate(subject, copy, given, outputs, original)
    begin = time.perf_counter()
    loaded = _save_and_load(subject, copy, folder, given, outputs)
    cells["save"] = f"{time.perf_counter() - begin:.1f}"
    cells["loaded"] = _share(loaded, original)


def _clone_middle(subject: Subject) -> tuple[list[str], list[str], Any]:
    """Clone the middle third; where a cut is in a loop, the cuts move on."""
    editor = subject.editor
    refusal: GraphEditError | None = None
    shifts = (0, 0.04, -0.04, 0.08, -0.08, 0.15, -0.15, 0.2, 0.25, 0.3)
    for earlier, later in sorted(
        product(shifts, shifts), key=lambda pair: abs(pair[0]) + abs(pair[1])
    ):
        inputs, outputs = _cuts(
            editor, [*subject.feeds], subject.outputs, 1 / 3 - earlier, 2 / 3 + later
        )
        if not inputs or not outputs or not _can_be_fetched(subject, [*inputs, *outputs]):
            continue
        try:
            return inputs, outputs, editor.clone(inputs, outputs, into="copy")
        except GraphEditError as error:
            refusal = error
    raise refusal or GraphEditError("There is no middle third.")


def _can_be_fetched(subject: Subject, tensors: Iterable[str]) -> bool:
    """Whether each has a value: none is a handle, a list of tensors, or in a branch or a loop of
    TensorFlow 1.

    A number that an op of a TensorArray reads may be its flow, which represents what is in the
    array.
    """
    index, graph = subject.editor._core.index, subject.editor._core.source.graph
    in_loops = _ops_in_loops(subject.editor)
    by_arrays = {
        text for node in index.nodes if node.op.startswith("TensorArray") for text in node.input
    }
    for name in tensors:
        op, _, port = name.partition(":")
        if index.dtypes(index.op(op))[int(port)] in ("variant", "resource") or op in in_loops:
            return False
        if index.types[index.op(op)] == "Exit" and op in by_arrays:
            return False
        if not subject.is_function and not graph.is_fetchable(graph.as_graph_element(name)):
            return False
    return True


def _ops_in_loops(editor: GraphEditor) -> set[str]:
    """The ops in a loop of TensorFlow 1 whose outputs have no one value."""
    types = dict(zip(editor._core.index.names, editor._core.index.types, strict=True))
    return {
        op
        for loop in editor.find("is:loop").loops().values()
        for op in loop.ops
        if types[op] != "Exit"
    }


def _cuts(
    editor: GraphEditor, feeds: Iterable[str], outputs: Iterable[str], first: float, last: float
) -> tuple[list[str], list[str]]:
    """The tensors that cross two positions of the topological order, among the ops between feeds
    and outputs.

    The feeds come first in this order, so that none is in the middle: a clone could not compute an
    argument. A loop is wholly before a position or wholly after.
    """
    index = editor._core.index
    sources = [
        index.op(name.partition(":")[0]) for name in feeds if name.partition(":")[0] in index.ids
    ]
    ends = [index.op(name.partition(":")[0]) for name in outputs]
    between = traversal.forward(index, sources) & traversal.backward(index, ends)
    units = _units_in_order(editor, sources, ends, between)
    ops = [op for unit in units for op in unit]
    positions = [int(len(ops) * min(max(share, 0.02), 0.98)) for share in (first, last)]

    def before(position: int) -> set[int]:
        found = set[int]()
        for unit in units:
            if len(found) >= position:
                break
            found.update(unit)
        return found

    def crossing(made: set[int], begun: set[int]) -> list[str]:
        found = []
        for op in (op for op in ops if op not in begun):
            for text in index.nodes[op].input:
                name, _, port = text.partition(":")
                if text[:1] != "^" and index.ids.get(name) in made:
                    found.append(f"{name}:{port or 0}")
        return list(dict.fromkeys(found))

    first_part, both = (before(position) for position in positions)
    return crossing(first_part, first_part), crossing(both - first_part, both)


def _units_in_order(
    editor: GraphEditor, sources: Iterable[int], ends: Iterable[int], between: Any
) -> list[tuple[int, ...]]:
    """The ops in a topological order, a loop as one unit; the sources first."""
    index = editor._core.index
    units = {op: (op,) for op in np.flatnonzero(between).tolist()}
    for loop in sorted(editor.find("is:loop").loops().values(), key=lambda loop: len(loop.ops)):
        unit = tuple(op for name in loop.ops if (op := index.op(name)) in units)
        units |= dict.fromkeys(unit, unit)
    found = {units[op]: None for op in sources if op in units}
    seen, waiting = set(found), [(units[op], False) for op in ends if op in units]
    while waiting:
        unit, is_done = waiting.pop()
        if is_done:
            found[unit] = None
        elif unit not in seen:
            seen.add(unit)
            names = (
                text.lstrip("^").partition(":")[0] for op in unit for text in index.nodes[op].input
            )
            read = (index.ids.get(name, -1) for name in names)
            waiting += [(unit, True), *((units[op], False) for op in read if op in units)]
    return [*found]


def _run_copy(
    subject: Subject, copy: Any, given: dict[str, Any], outputs: Sequence[str]
) -> list[np.ndarray]:
    if not subject.is_function:
        return subject.run([copy[name].name for name in outputs], {**subject.feeds, **given})
    return _flat(copy(*(tf.constant(given[name]) for name in copy.inputs)))


def _flat(structure: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in tf.nest.flatten(structure)]


def _share(
    found: Sequence[np.ndarray], expected: Sequence[np.ndarray], tolerance: float = TOLERANCE
) -> str:
    """The largest difference as a share of the largest number, in words; raises for more than
    rounding.
    """
    shares = [0.0]
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape, f"shapes {one.shape} and {other.shape}"
        if one.dtype.kind == "f":
            assert np.array_equal(np.isfinite(one), np.isfinite(other))
            size = np.abs(other[np.isfinite(other)]).max(initial=0.0)
            difference = np.abs(one - other)
            shares.append(float(difference[np.isfinite(other)].max(initial=0.0) / max(size, 1e-30)))
        else:
            assert np.array_equal(one, other), "integers or texts differ"
    assert max(shares) < tolerance, f"differs by {max(shares):.1e}"
    return "0" if max(shares) == 0 else f"{max(shares):.0e}"


def _check_separate(
    subject: Subject,
    copy: Any,
    given: dict[str, Any],
    outputs: Sequence[str],
    original: Sequence[np.ndarray],
) -> str:
    """Change a variable of the clone: the original stays, the variable itself comes back."""
    floating = [v for v in copy.variables if tf.as_dtype(v.dtype).base_dtype.is_floating]
    if not floating:
        return "-"
    if subject.is_function:
        values = [variable.numpy() for variable in floating]
        shake(floating)
        changed = _run_copy(subject, copy, given, outputs)
        unchanged = subject.run(outputs, subject.feeds)
        for variable, value in zip(floating, values, strict=True):
            variable.assign(value)
    else:
        session = subject.editor.session
        assert session is not None
        values = session.run(floating)
        with subject.editor.graph.as_default():
            for variable, value in zip(floating, values, strict=True):
                variable.load(value * 1.5 + 0.01, session)
            changed = _run_copy(subject, copy, given, outputs)
            unchanged = subject.run(outputs, subject.feeds)
            for variable, value in zip(floating, values, strict=True):
                variable.load(value, session)
    assert _share(unchanged, original) == "0" or subject.is_function
    assert any(
        one.dtype.kind == "f" and not np.array_equal(one, other)
        for one, other in zip(changed, original, strict=True)
    )
    return "✓"


def _save_and_load(
    subject: Subject, copy: Any, folder: Path, given: dict[str, Any], outputs: Sequence[str]
) -> list[np.ndarray]:
    """What TensorFlow computes of the saved clone."""
    path = folder / "saved"
    if subject.is_function:
        tf.saved_model.save(copy, str(path))
        return _flat(
            tf.saved_model.load(str(path))(*(tf.constant(given[name]) for name in copy.inputs))
        )
    names = [copy[name].name for name in outputs]
    keys = [f"input_{k}" for k in range(len(given))], [f"output_{k}" for k in range(len(names))]
    subject.editor.save(
        path,
        inputs=dict(zip(keys[0], given, strict=True)),
        outputs=dict(zip(keys[1], names, strict=True)),
    )
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        meta = v1.saved_model.load(session, [v1.saved_model.tag_constants.SERVING], str(path))
        signature = meta.signature_def["serving_default"]
        values = dict(zip(keys[0], given.values(), strict=True))
        feeds = {tensor.name: values[key] for key, tensor in signature.inputs.items()}
        return [
            np.asarray(value)
            for value in session.run([signature.outputs[key].name for key in keys[1]], feeds)
        ]


def _check_converted(subject: Subject, path: Path) -> str:
    """Save the network for another runtime and run it there: the difference, or what the refusal
    says.

    What goes wrong otherwise is raised: a converter that crashes or never ends, and a file that
    gives something else.
    """
    editor = subject.editor
    needed = editor.upstream(*subject.outputs).ops
    feeds = {
        name: value for name, value in subject.feeds.items() if name.partition(":")[0] in needed
    }
    inputs = {f"input_{k}": name for k, name in enumerate(feeds)}
    outputs = {f"output_{k}": name for k, name in enumerate(subject.outputs)}
    refusal = _refusal_of_save(editor, path, inputs, outputs)
    _check_lint(editor, path.suffix.removeprefix("."), inputs, outputs, refusal)
    if (
        refusal is not None
        and "select_tf_ops" in str(refusal)
        and _refusal_of_save(editor, path, inputs, outputs, select_tf_ops=True) is None
    ):
        return "TF Select, not run"
    if refusal is not None:
        return f"no: {_reason(refusal)}"
    given = dict(zip(inputs, feeds.values(), strict=True))
    found = (
        _run_tflite(path, given)
        if path.suffix == ".tflite"
        else _run_onnx(path, given, list(outputs))
    )
    expected = subject.run(subject.outputs, subject.feeds)
    # A batch of one may come without its axis.
    values = [
        found[key].reshape(np.shape(each)) for key, each in zip(outputs, expected, strict=True)
    ]
    return _share(values, expected, _OTHER_KERNELS)


def _check_lint(
    editor: GraphEditor,
    target: Any,
    inputs: dict[str, str],
    outputs: dict[str, str],
    refusal: GraphEditError | None,
) -> None:
    """Check that `lint` says an error of the part between the same ends exactly if saving it was
    refused.
    """
    editor.mark(list(inputs.values()), list(outputs.values()))
    errors = [
        finding for finding in editor.lint(target, only="no-kernel") if finding.severity == "error"
    ]
    editor.mark()
    assert bool(errors) == (refusal is not None), (
        f"lint({target!r}) says {errors}, and save says {refusal}"
    )


def _refusal_of_save(
    editor: GraphEditor, path: Path, *ends: dict[str, str], **options: bool
) -> GraphEditError | None:
    """Save, and return what a refusal says."""
    try:
        editor.save(path, *ends, **options)  # type: ignore[arg-type]  # options are for its keywords
    except GraphEditError as error:
        if error.code in ("converter-crashed", "converter-timeout"):
            raise
        return error
    return None


def _reason(refusal: GraphEditError) -> str:
    """The middle of a refusal: without what was to be done, and without what would help."""
    text = re.sub(
        r"^(save\(.*?\): )?(The graph cannot be converted to \w+: )?",
        "",
        str(refusal).partition("; ")[0],
    )
    return text.replace("|", "/").replace("\n", " ")


def _run_tflite(path: Path, given: dict[str, Any]) -> dict[str, np.ndarray]:
    """The outputs by key; the converter of TensorFlow 1, which takes its loops, knows only their
    order.
    """
    interpreter = tf.lite.Interpreter(str(path))
    if interpreter.get_signature_list():
        values: dict[str, np.ndarray] = interpreter.get_signature_runner()(**given)
        return values
    for details, value in zip(interpreter.get_input_details(), given.values(), strict=True):
        interpreter.resize_tensor_input(details["index"], np.shape(value))
    interpreter.allocate_tensors()
    for details, value in zip(interpreter.get_input_details(), given.values(), strict=True):
        interpreter.set_tensor(details["index"], value)
    interpreter.invoke()
    results = (
        interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()
    )
    return {f"output_{k}": value for k, value in enumerate(results)}


def _run_onnx(path: Path, given: dict[str, Any], outputs: list[str]) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, given), strict=True))


# The page


def rows_of(page: str) -> dict[str, str]:
    """The rows of a page, by the name of the architecture."""
    return {
        found[1]: found[0]
        for found in re.finditer(r"^\| ([^|]+?) \| .*$", page, re.MULTILINE)
        if found[1] != ""
    }


def page_with(rows: dict[str, str]) -> str:
    """The page."""
    order = [name for name in ARCHITECTURES if name in rows]
    missing = [name for name in ARCHITECTURES if name not in rows]
    head = ["| | " + " | ".join(_COLUMNS) + " |", "|---|" + "---|" * len(_COLUMNS)]
    note = [f"\nNot run yet: {', '.join(missing)}."] if missing else []
    return "\n".join([_HEAD, *head, *(rows[name] for name in order), *note]) + "\n"


def main(names: Sequence[str]) -> int:
    """Check the architectures, each in a process of its own, and write the page; how many
    failed.
    """
    if "--one" in names:
        cells = check(names[1])
        sys.stdout.write(json.dumps(cells) + "\n")
        return 0
    if "--list" in names:
        sys.stdout.write("\n".join(ARCHITECTURES) + "\n")
        return 0
    rows = {
        name: row + " |" * (len(_COLUMNS) + 2 - row.count("|"))  # of a page that had fewer columns
        for name, row in rows_of(PAGE.read_text() if PAGE.exists() else "").items()
        if name in ARCHITECTURES
    }
    failures = 0
    for name in names or ARCHITECTURES:
        command = [sys.executable, "-m", "tests.stress.architectures", "--one", name]
        # A row that fails, not the end of the table.
        done = subprocess.run(
            ["timeout", str(_PATIENCE), *command], capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["no message"])[-1]
            sys.stdout.write(f"{done.stderr[-2000:]}\n{name}: FAILED: {why}\n")
            rows[name] = f"| {name} | FAILED: {why[:200]} |" + " |" * (len(_COLUMNS) - 1)
            failures += 1
        else:
            cells = json.loads(done.stdout.strip().splitlines()[-1])
            rows[name] = f"| {name} | " + " | ".join(cells[key] for key in _COLUMNS) + " |"
            sys.stdout.write(rows[name] + "\n")
        sys.stdout.flush()
        PAGE.write_text(page_with(rows))
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
