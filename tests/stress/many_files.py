"""Damaged files by the hundred thousand: opened, drawn and edited where TensorFlow is not
installed.

    python -m tests.stress.many_files 200000 7          so many, of this seed
    python -m tests.stress.many_files --one 7/1234      the one with this number, with its traceback
    python -m tests.stress.many_files 200000 7 opened   so many, only opened, from bytes
    python -m tests.stress.many_files --one opened/7/12 one of these

Those that are only opened are of five graphs of at most eleven ops, as GraphDef, MetaGraphDef, text
and `.tgw`: this covers how a kind is found, parsed, checked and refused, or opened, and neither
folders, checkpoints nor what is done with a graph.

The files are opened in a process with bounded memory. Another one goes on after a file that ends
it, or takes over ten seconds of the processor. `damage.py` damages fewer files, and does with them
what needs TensorFlow.
"""

from __future__ import annotations

import io
import json
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from google.protobuf import text_format

import tfgraphwidget as tgw
from tests.no_tensorflow import environment_without_tensorflow
from tests.stress.flaws import (
    damaged_bytes,
    damaged_fields,
    damaged_graph,
    damaged_json,
    damaged_meta,
    damaged_text,
)
from tests.stress.sentences import Broken, refusal_of
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.sources import tf_protos
from tfgraphwidget.sources.files import tensor_bundle
from tfgraphwidget.sources.files.checkpoint import Checkpoint
from tfgraphwidget.sources.files.formats import describe_file

_GRAPHS = Path(__file__).parents[1] / "corpus" / "graph_editor" / "graphs"
_NAMES = (
    "toy_abc", "toy_select", "strings", "colocation", "functions_defun", "hash_table",
    "queue_runner", "dataset_iter", "cf_v2", "tricky_names", "while_simple", "cond_v1",
    "multi_output",
)  # fmt: skip
_MEMORY = 1 << 30  # bytes beyond what the process takes before the first file
_CPU = 10  # seconds for one file
_PATIENCE = 300  # seconds for one file on a busy machine
_BATCH = 2_000  # files for one process
_OPENED = "opened/"  # before a seed: only opened, ten times as many for one process


# What is damaged


@cache
def metas() -> list[bytes]:
    """Small graphs of the corpus, and one with a variable, as MetaGraphDefs."""
    parsed = [
        text_format.Parse((_GRAPHS / f"{name}.meta.pbtxt").read_text(), tf_protos.MetaGraphDef())
        for name in _NAMES
    ]
    parsed.append(_with_variable())
    for meta in parsed:
        for node in meta.graph_def.node:  # so that all can be drawn without TensorFlow
            node.attr["_output_shapes"].list.shape.add(unknown_rank=True)
    return [meta.SerializeToString(deterministic=True) for meta in parsed]


def _with_variable() -> Any:
    """relu(x @ w), where w has an initializer."""
    meta = tf_protos.MetaGraphDef()
    for name, op, attr, *inputs in (
        ("x", "Placeholder", "dtype"), ("net/w", "VarHandleOp", "dtype"),
        ("net/ones", "Const", "dtype"),
        ("net/w/Assign", "AssignVariableOp", "dtype", "net/w", "net/ones"),
        ("net/w/Read", "ReadVariableOp", "dtype", "net/w"),
        ("net/MatMul", "MatMul", "T", "x", "net/w/Read"), ("net/Relu", "Relu", "T", "net/MatMul"),
        ("y", "Identity", "T", "net/Relu"),
    ):  # fmt: skip
        node = meta.graph_def.node.add(name=name, op=op, input=inputs)
        node.attr[attr].type = 1
        if op == "VarHandleOp":
            node.attr["shape"].shape.dim.add(size=3)
            node.attr["shape"].shape.dim.add(size=4)
            node.attr["shared_name"].s = name.encode()
        elif op == "Const":
            node.attr["value"].tensor.dtype = 1
            node.attr["value"].tensor.float_val.append(1)
            node.attr["value"].tensor.tensor_shape.CopyFrom(
                meta.graph_def.node[1].attr["shape"].shape
            )
    variable = tf_protos.VariableDef(
        variable_name="net/w:0", initializer_name="net/w/Assign", snapshot_name="net/w/Read:0",
        is_resource=True,
        initial_value_name="net/ones:0", trainable=True,
    )  # fmt: skip
    for key in ("variables", "trainable_variables"):
        meta.collection_def[key].bytes_list.value.append(variable.SerializeToString())
    for key, ends, name in (("x", "inputs", "x:0"), ("y", "outputs", "y:0")):
        getattr(meta.signature_def["serving_default"], ends)[key].name = name
    return meta


@cache
def texts() -> list[str]:
    """The same as text, half of them as GraphDefs."""
    parsed = [tf_protos.MetaGraphDef.FromString(data) for data in metas()]
    return [str(meta.graph_def if k % 2 else meta) for k, meta in enumerate(parsed)]


@cache
def saved_model() -> bytes:
    """A SavedModel of one of the graphs."""
    model = tf_protos.SavedModel()
    model.saved_model_schema_version = 1
    meta = model.meta_graphs.add()
    meta.MergeFromString(metas()[-1])
    meta.meta_info_def.tags.append("serve")
    return model.SerializeToString(deterministic=True)


@cache
def values() -> tuple[bytes, bytes]:
    """The index and the data of a checkpoint that has values for the variables of that graph, and
    other kinds.
    """
    import numpy as np

    stored = [
        tensor_bundle.StoredTensor(node.name, partial(np.ones, (3, 4), np.float32))
        for node in tf_protos.MetaGraphDef.FromString(metas()[-1]).graph_def.node
        if node.op == "VarHandleOp"
    ]
    stored += [
        tensor_bundle.StoredTensor("texts", lambda: np.array([b"a", b"", b"long" * 40], object)),
        tensor_bundle.StoredTensor("parts", lambda: np.ones((2, 2), np.float32), (4, 2), (0, 0)),
        tensor_bundle.StoredTensor("parts", lambda: np.ones((2, 2), np.float32), (4, 2), (2, 0)),
    ]
    data = io.BytesIO()
    return tensor_bundle.write_shard(data, stored), data.getvalue()


@cache
def edited() -> bytes:
    """An editor on that graph, as a .tgw file."""
    editor = tgw.edit(metas()[-1])
    _edit(editor)
    return bytes(editor)


@cache
def edits() -> str:
    """The edits of such an editor, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        editor = tgw.edit(metas()[-1])
        _edit(editor)
        return editor.save(Path(folder) / "edits.json").read_text()


def _edit(editor: GraphEditor) -> None:
    editor.bypass("net/Relu")
    editor.rename("net/MatMul", "net/product")
    editor.clone("x:0", "y:0", into="copy", init="none")


# A file


def damaged_meta_graph(chance: random.Random) -> bytes:
    """A MetaGraphDef of which bytes, fields or messages are damaged."""
    data = chance.choice(metas())
    match chance.randrange(4):
        case 0:
            return damaged_bytes(data, chance)
        case 1:
            meta = tf_protos.MetaGraphDef.FromString(data)
            damaged_meta(meta, chance)
            return meta.SerializeToString(deterministic=True)
        case _:
            for _ in range(chance.choice((1, 1, 2, 4))):
                data = damaged_fields(data, chance, chance.choice(metas()))
            return data


def damaged_file(chance: random.Random, folder: Path) -> tuple[str, Callable[[], Any]]:
    """A file that is damaged: what it is, and a call that opens it and gives an editor or
    nothing.
    """
    kind = chance.choice([*_KINDS])
    return kind, _KINDS[kind](chance, folder)


def _meta(chance: random.Random, folder: Path) -> Callable[[], Any]:
    return partial(tgw.edit, _file(folder, "a.meta", damaged_meta_graph(chance)))


def _graph(chance: random.Random, folder: Path) -> Callable[[], Any]:
    graph = tf_protos.MetaGraphDef.FromString(chance.choice(metas())).graph_def
    if chance.random() < 0.5:
        damaged_graph(graph, chance)
        return partial(
            tgw.edit,
            graph if chance.random() < 0.2 else graph.SerializeToString(deterministic=True),
        )
    data = graph.SerializeToString(deterministic=True)
    return partial(tgw.edit, damaged_fields(data, chance, chance.choice(metas())))


def _text(chance: random.Random, folder: Path) -> Callable[[], Any]:
    text = chance.choice(texts()[:7])  # the larger ones take long to parse
    data = (
        damaged_bytes(text.encode(), chance)
        if chance.random() < 0.3
        else damaged_text(text, chance).encode(errors="surrogatepass")
    )
    return partial(tgw.edit, _file(folder, "a.pbtxt", data))


def _described(chance: random.Random, folder: Path) -> Callable[[], Any]:
    path = _file(folder, chance.choice(("a.meta", "a.pb")), damaged_meta_graph(chance))
    return lambda: describe_file(path) and None


def _saved_model(chance: random.Random, folder: Path) -> Callable[[], Any]:
    _write_values(chance, folder / "variables", "variables", is_damaged=chance.random() < 0.3)
    data = saved_model()
    _file(folder, "saved_model.pb", damaged_fields(data, chance, chance.choice(metas())))
    return partial(tgw.edit, folder)


def _checkpoint(chance: random.Random, folder: Path) -> Callable[[], Any]:
    """Three in ten are opened as the values of a graph; of the others all values are read."""
    _write_values(chance, folder, "a", is_damaged=True)
    path = _file(folder, "a.meta", metas()[-1])

    def read() -> None:
        checkpoint = Checkpoint(str(folder / "a"))
        for name in checkpoint.shapes:
            refusal_of(partial(checkpoint.value, name))

    return partial(tgw.edit, path, checkpoint=folder / "a") if chance.random() < 0.3 else read


class _Agreeable(int):
    """A checksum that is always the right one, so that what is after it is read."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


class _Raw:
    """A message by its bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def SerializeToString(self, *, deterministic: bool = False) -> bytes:  # noqa: N802
        """The bytes."""
        return self.data


def _write_values(chance: random.Random, folder: Path, name: str, *, is_damaged: bool) -> None:
    """Write a checkpoint. One that is damaged has an odd entry, odd bytes, or odd bytes without odd
    checksums.
    """
    index, data = values()
    if is_damaged and chance.random() < 0.5:
        entries = dict(tensor_bundle._table_entries(index))
        key = chance.choice([*entries])
        entries[key] = damaged_fields(entries[key], chance)
        if chance.random() < 0.1:
            entries[chance.choice((b"", b"\xff", b"a/b"))] = entries.pop(key)
        index = tensor_bundle._table({key: _Raw(value) for key, value in entries.items()})  # type: ignore[misc]
    elif is_damaged and chance.random() < 0.7:
        index = damaged_bytes(index, chance)
    elif is_damaged:
        data = damaged_bytes(data, chance)
    _file(folder, f"{name}.index", index)
    _file(folder, f"{name}.data-00000-of-00001", data)
    if chance.random() < 0.1:
        text = f'model_checkpoint_path: "{name}"\nall_model_checkpoint_paths: "{name}"\n'
        _file(folder, "checkpoint", damaged_bytes(text.encode(), chance))


def _archive(chance: random.Random, folder: Path) -> Callable[[], Any]:
    data = edited()
    data = damaged_bytes(data, chance) if chance.random() < 0.3 else _rezipped(data, chance)
    return partial(tgw.edit, _file(folder, "a.tgw", data) if chance.random() < 0.5 else data)


def _rezipped(data: bytes, chance: random.Random) -> bytes:
    """An archive with one entry damaged, which checksums do not show."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    place = chance.randrange(len(entries))
    name, content = entries[place]
    if name.endswith(".json"):
        loaded = json.loads(content)
        content = (
            json.dumps(damaged_json(loaded, chance)).encode()
            if chance.random() < 0.7
            else damaged_text(json.dumps(loaded, indent=1), chance).encode(errors="surrogatepass")
        )
    else:
        content = damaged_fields(content, chance)
    entries[place] = (name, content)
    if chance.random() < 0.1:
        entries.append(
            (
                chance.choice(
                    ("../a", "/a", "a/../../b", "a\\b", "graph.meta", "edits.json", "a/")
                ),
                b"a",
            )
        )
    if chance.random() < 0.1:
        del entries[chance.randrange(len(entries))]
    with warnings.catch_warnings(), zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        warnings.simplefilter("ignore")  # about two entries of a name
        for name, content in entries:
            archive.writestr(name, content, chance.choice((0, 0, 0, 0, 0, 0, 0, 8)))
    return file.getvalue()


def _replayed(chance: random.Random, folder: Path) -> Callable[[], Any]:
    text = edits()
    text = (
        damaged_text(text, chance)
        if chance.random() < 0.3
        else json.dumps(damaged_json(json.loads(text), chance))
    )
    path = _file(folder, "edits.json", text.encode(errors="surrogatepass"))

    def replayed() -> GraphEditor:
        editor = tgw.edit(metas()[-1])
        editor.history.replay(path)
        return editor

    return replayed


_KINDS: dict[str, Callable[[random.Random, Path], Callable[[], Any]]] = {
    ".meta": _meta, ".pb": _graph, ".pbtxt": _text, "info": _described, "SavedModel": _saved_model,
    "checkpoint": _checkpoint, ".tgw": _archive, "edits.json": _replayed,
}  # fmt: skip


def _file(folder: Path, name: str, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    return path


# What is done with it


def uses(editor: GraphEditor, chance: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is done with an editor; each may be refused, and nothing more."""
    if chance.random() < 0.5:
        yield "scene()", editor.view.scene
    names = editor._core.index.names
    scopes = [name for name in editor._core.index.scopes.names if name]
    query = chance.choice(("type:Const", "dtype:float32", "shape:?x3", "is:variable"))
    others: list[tuple[str, Callable[[], Any]]] = [
        ("svg()", editor.view.to_svg),
        ("table()", editor.table),
        ("table(batch=1)", lambda: editor.table(batch=1)),
        ("bytes()", editor.__bytes__),
        (f"find({query!r})", lambda: editor.find(query)),
    ]
    if names:
        op = chance.choice(names)
        others += [
            (f"inspect({op[:60]!r})", lambda: repr(editor.inspect(op))),
            (f"upstream({op[:60]!r})", lambda: editor.upstream(op)),
            (f"bypass({op[:60]!r})", lambda: (editor.bypass(op), editor.diff(), editor.undo())),
            (
                f"clone(…, {op[:60]!r})",
                lambda: (editor.clone([], [op], into="copy", init="none"), editor.undo()),
            ),
            (
                f"enter({op[:60]!r})",
                lambda: (editor.view.enter(op), editor.view.scene(), editor.view.leave(0)),
            ),
        ]
    if scopes:
        scope = chance.choice(scopes)
        others.append(
            (f"open({scope[:60]!r})", lambda: (editor.view.expand(scope), editor.view.scene()))
        )
    yield chance.choice(others)


def damaged_data(chance: random.Random) -> tuple[str, bytes]:
    """What is opened from bytes."""
    graph = chance.choice((0, 2, 3, 4, -1))
    match chance.randrange(8):
        case 0:
            return ".tgw", damaged_bytes(edited(), chance) if chance.random() < 0.5 else _rezipped(
                edited(), chance
            )
        case 1:
            return "text", damaged_bytes(texts()[graph].encode(), chance)
        case 2 | 3 | 4:
            kind, data = "GraphDef", graph_defs()[graph]
        case _:
            kind, data = "MetaGraphDef", metas()[graph]
    if chance.random() < 0.4:
        return kind, damaged_bytes(data, chance)
    return kind, damaged_fields(data, chance, chance.choice(metas()))


@cache
def graph_defs() -> list[bytes]:
    """The GraphDefs of `metas`."""
    parsed = [tf_protos.MetaGraphDef.FromString(data) for data in metas()]
    return [meta.graph_def.SerializeToString(deterministic=True) for meta in parsed]


def check_opening(
    seed: str, say: Callable[[BaseException], object] = lambda _: None
) -> tuple[str, str]:
    """The same as `check` of what is opened from bytes and left alone."""
    what, data = damaged_data(random.Random(seed))
    try:
        is_refused = refusal_of(partial(tgw.edit, data)) is not None
    except BaseException as error:
        say(error)
        return what, f"opening {error}" if isinstance(error, Broken) else f"opening: {error!r:.300}"
    return f"{what}, refused" if is_refused else what, ""


def check(
    seed: str, folder: Path, say: Callable[[BaseException], object] = lambda _: None
) -> tuple[str, str]:
    """What is damaged by this seed, and what goes wrong with it: "" for nothing. `say` gets the
    exception.
    """
    chance = random.Random(seed)
    folder.mkdir(exist_ok=True)
    what, opening = damaged_file(chance, folder)
    real = tensor_bundle.masked_crc32c
    if chance.random() < 0.5:
        tensor_bundle.masked_crc32c = lambda *_: _Agreeable()  # type: ignore[assignment,return-value]
    doing = "opening"
    editors: list[Any] = []
    try:
        if refusal_of(lambda: editors.append(opening())) is None and editors[0] is not None:
            for name, use in uses(editors[0], chance):
                doing = name
                refusal_of(use)
    except BaseException as error:
        say(error)
        return what, f"{doing} {error}" if isinstance(error, Broken) else f"{doing}: {error!r:.300}"
    finally:
        tensor_bundle.masked_crc32c = real
    return what, ""


def serve(seed: str, first: int, count: int, root: Path) -> None:
    """Damage files number `first` and on; print each number, and what goes wrong."""
    import shutil

    warnings.simplefilter("ignore")
    for make in (metas, texts, saved_model, values, edited, edits):
        make()
    check("warm", root / "warm")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    for number in range(first, first + count):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_PROF, _CPU)
        is_opened = seed.startswith(_OPENED)
        what, wrong = (
            check_opening(f"{seed}/{number}")
            if is_opened
            else check(f"{seed}/{number}", root / "file")
        )
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.write(json.dumps([what, wrong]) + "\n")
        if not is_opened:
            shutil.rmtree(root / "file", ignore_errors=True)


# The process that watches


def run(
    count: int, seed: int | str, report: Callable[[str], object] = lambda _: None
) -> tuple[Counter[str], list[str]]:
    """Damage files, in processes of their own: how many of each kind were tried, and what went
    wrong.
    """
    tried, wrong, number = Counter[str](), list[str](), 0

    def found(sentence: str) -> None:
        wrong.append(sentence)
        report(sentence)

    with tempfile.TemporaryDirectory() as folder:
        environment = environment_without_tensorflow(Path(folder))
        while number < count:
            batch = _BATCH * 10 if str(seed).startswith(_OPENED) else _BATCH
            number = _watch(seed, number, min(batch, count - number), environment, tried, found)
            report(f"{tried.total():,} files, {len(wrong)} went wrong")
    return tried, wrong


def _watch(
    seed: int | str,
    first: int,
    count: int,
    environment: dict[str, str],
    tried: Counter[str],
    found: Callable[[str], None],
) -> int:
    """Have one process damage files from `first` on; the number to go on with."""
    number = first - 1
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-S", "-m",
                __name__ if __name__ != "__main__" else "tests.stress.many_files",
             "--serve", str(seed), str(first), str(count), folder],
            env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
        ) as process,
        selectors.DefaultSelector() as selector,
    ):  # fmt: skip
        assert process.stdout is not None
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(_PATIENCE) and (line := process.stdout.readline()):
            if line[0] != "[":
                number = int(line)
                continue
            what, wrong = json.loads(line)
            tried[what] += 1
            if wrong:
                found(f"file {seed}/{number} ({what}): {wrong}")
        if process.poll() is None and number < first + count - 1:
            process.kill()
        if process.wait() or number < first + count - 1:
            errors.seek(0)
            why = {-signal.SIGPROF: f"takes over {_CPU} s"}.get(
                process.returncode, f"ends with {process.returncode}"
            )
            found(
                f"file {seed}/{number}: {why}: "
                f"{errors.read().decode(errors='replace').strip()[-600:]}"
            )
    return max(number + 1, first + 1)


def main(arguments: list[str]) -> int:
    """The command; how many files went wrong."""
    if arguments[0] == "--serve":
        serve(arguments[1], int(arguments[2]), int(arguments[3]), Path(arguments[4]))
        return 0
    if arguments[0] == "--one":
        seed, say = arguments[1], traceback.print_exception
        with tempfile.TemporaryDirectory() as folder:
            wrong = (
                check_opening(seed, say)
                if seed.startswith(_OPENED)
                else check(seed, Path(folder), say)
            )
        _say(": ".join(wrong))
        return 0
    begin = time.monotonic()
    seed = f"{_OPENED}{arguments[1]}" if arguments[2:] == ["opened"] else int(arguments[1])
    tried, wrong = run(int(arguments[0]), seed, _say)
    _say(
        f"{tried.total():,} files in {time.monotonic() - begin:.0f} s, {len(wrong)} went wrong: "
        f"{dict(tried)}"
    )
    return min(len(wrong), 100)


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
