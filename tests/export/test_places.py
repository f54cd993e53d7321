"""Where what is saved comes to lie: what else is there stays, and so does the old when the new
cannot be written.
"""

from __future__ import annotations

import contextlib
import json
import resource
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

import tfgraphwidget as tgw
from tests.conftest import fill, initialised, v1
from tests.export.test_writing import closed_by_python, interrupted_at_each_line
from tfgraphwidget import writable
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.export import writer
from tfgraphwidget.export.formats.saved_model import files_of
from tfgraphwidget.sources.files.assets import is_outside_assets

ONES = np.ones([1, 3], np.float32)
NAMES = (
    "g.pb",
    "g.pbtxt",
    "g.meta",
    "sm",
    "g.html",
    "g.json",
    "g.py",
    "g.png",
    "g.svg",
    "g.dot",
    "g.graphml",
)


@pytest.fixture(scope="module")
def small() -> Iterator[GraphEditor]:
    """An editor on a tiny graph with one variable and one edit."""
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", [3, 2], initializer=v1.ones_initializer(), use_resource=True)
        tf.nn.relu(tf.matmul(x, w), name="y")
    session = initialised(graph)
    editor = tgw.edit(graph, session=session)
    editor.rename("y", "z")
    yield editor
    session.close()


def save(editor: GraphEditor, path: Path, **how: Any) -> Path:
    """Save with a boundary, and without a trial, which is none of what is tried here."""
    return editor.save(path, **{"inputs": "x", "outputs": "z", "verify": False, **how})


def contents(folder: Path) -> dict[str, Any]:
    """All files below a folder, with where its links lead."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        found[name] = (
            path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        )
    return found


def given(path: Path) -> float:
    """What the graph of a file gives for ones."""
    editor = tgw.edit(path, checkpoint=path.with_suffix("") if path.suffix == ".meta" else None)
    editor.view.leave(0)
    graph, session = editor.graph, editor.session
    assert graph is not None
    found = float(session.run("z:0", {"x:0": ONES})[0, 0])
    session.close()
    return found


def weigh(editor: GraphEditor, value: float) -> None:
    """Give the variable another value, so that what is saved is another model."""
    fill(editor.graph.get_collection("variables")[0], value, editor.session)


@closed_by_python
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(3)
def test_an_interrupt_while_any_kind_of_file_is_saved_leaves_the_old_one_or_the_new_one(
    small: GraphEditor, tmp_path: Path, name: str
) -> None:
    is_model = name in ("g.meta", "sm")
    folder, frozen = tmp_path / "tried", name == "g.pb"
    weigh(small, 2)
    new = contents(save(small, tmp_path / name, frozen=frozen).parent)
    moving = (writable.__file__, writer.__file__)
    for number, tracing in enumerate(
        interrupted_at_each_line(lambda file: file in moving, 29 if is_model else 11)
    ):
        folder = tmp_path / f"tried {number}"
        folder.mkdir()
        weigh(small, 1)
        save(small, folder / name, frozen=frozen)
        old = contents(folder)
        weigh(small, 2)
        with contextlib.suppress(KeyboardInterrupt), tracing:
            save(small, folder / name, frozen=frozen)
        if is_model and contents(folder) != old:
            assert contents(folder).keys() == old.keys()
            assert given(folder / name) == 6
        elif not is_model:
            assert contents(folder) in (old, new)
    if is_model:
        assert given(folder / name) == 6


KILLED = """
import json, os, signal, sys
from pathlib import Path
from tests.export.test_places import save, small, weigh
from tfgraphwidget import writable

def save_and_die(path, step, last):
    editor = next(small.__wrapped__())
    weigh(editor, 1)
    save(editor, path)
    real, count = getattr(writable, step), [0]

    def killed(*given):
        count[0] += 1
        if count[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given)

    setattr(writable, step, killed)
    weigh(editor, 2)
    save(editor, path)

for path, step, last in json.loads(sys.argv[1]):
    child = os.fork()  # TensorFlow is imported, and nothing has been done with it yet
    if not child:
        save_and_die(Path(path), step, last)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
"""
STEPS = {"_link": (2, 3, "taken back"), "_put_in_place": (1, 6, "finished now")}


@pytest.fixture(scope="module")
def folders_of_killed(
    tmp_path_factory: pytest.TempPathFactory, warm_python: list[str]
) -> dict[tuple[str, str], Path]:
    """Folders in which saving a model of a name was killed at a step, each in a process of its
    own.
    """
    folders = {
        (name, step): tmp_path_factory.mktemp("killed")
        for name in ("g.meta", "sm")
        for step in STEPS
    }
    cases = [(str(folder / name), step, STEPS[step][0]) for (name, step), folder in folders.items()]
    ran = subprocess.run(
        [*warm_python, "-c", KILLED, json.dumps(cases)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return folders


@pytest.mark.parametrize("step", STEPS, ids=["before the rename", "after it"])
@pytest.mark.parametrize("name", ["g.meta", "sm"])
def test_a_model_can_be_loaded_after_its_save_was_killed_by_tensorflow_too(
    folders_of_killed: dict[tuple[str, str], Path], name: str, step: str
) -> None:
    _, value, report = STEPS[step]
    folder = folders_of_killed[name, step]
    path = folder / name
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        if name == "sm":
            v1.saved_model.load(session, ["serve"], str(path))
        else:
            v1.train.import_meta_graph(str(path)).restore(session, str(path.with_suffix("")))
        assert session.run("z:0", {"x:0": ONES})[0, 0] == value
    editor = tgw.edit(path)
    assert any(
        f"had been broken off, and was {report}" in notice for notice in editor.source.notices
    )
    assert given(path) == value
    place = path if name == "sm" else folder
    assert not [
        entry for entry in place.iterdir() if entry.is_symlink() or entry.name.startswith(".")
    ]


def test_what_else_is_in_a_saved_model_s_folder_stays(small: GraphEditor, tmp_path: Path) -> None:
    path = save(small, tmp_path / "sm")
    beside = [
        "README.md",
        ".git/config",
        "assets.extra/doc.txt",
        "assets/mine.txt",
        "variables/mine.ckpt",
        "thesis",
    ]
    for name in beside:
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("mine")
    for name in (
        "keras_metadata.pb",
        "variables/variables.data-00003-of-00004",
        "debug/saved_model_debug_info.pb",
    ):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("of the old model")
    (path / "saved_model.pb").chmod(0o600)
    known = path.stat().st_ino
    weigh(small, 2)
    save(small, path, verify=True)
    assert all((path / name).read_text() == "mine" for name in beside)
    assert {name for name in contents(path) if (path / name).is_file()} == {
        "saved_model.pb", "fingerprint.pb", "variables/variables.index",
        "variables/variables.data-00000-of-00001",
        *beside,
    } - ({"fingerprint.pb"} - contents(path).keys())  # fmt: skip
    assert not (path / "debug").exists()
    assert stat.S_IMODE((path / "saved_model.pb").stat().st_mode) == 0o600
    assert path.stat().st_ino == known
    assert given(path) == 6


def test_a_thesis_next_to_an_empty_saved_model_pb_stays(small: GraphEditor, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "thesis.tex").write_text("mine")
    save(small, tmp_path)
    assert (tmp_path / "assets" / "thesis.tex").read_text() == "mine"
    assert tuple(tgw.edit(tmp_path).signatures.values())


def vocabulary(folder: Path, word: str) -> tuple[GraphEditor, Path]:
    """An editor on a graph with a table that is filled from a file."""
    folder.mkdir()
    (folder / "words.txt").write_text(word)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.string, [None], name="x")
        init = tf.lookup.TextFileInitializer(
            str(folder / "words.txt"), tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        )  # fmt: skip
        tf.identity(tf.lookup.StaticHashTable(init, -1).lookup(x), name="z")
    return tgw.edit(graph, session=v1.Session(graph=graph)), folder / "words.txt"


def test_an_asset_takes_the_place_of_the_old_model_s_and_of_no_other(tmp_path: Path) -> None:
    editor, words = vocabulary(tmp_path / "one", "a")
    path = editor.save(tmp_path / "sm", "x", "z")
    words.write_text("b")
    editor.save(path, "x", "z")
    assert (path / "assets" / "words.txt").read_text() == "b"
    (path / "saved_model.pb").write_bytes(b"")  # now nobody says whose words.txt is
    words.write_text("c")
    before = contents(path)
    with pytest.raises(
        GraphEditError, match=r"assets/words\.txt' is nothing that a save here has written"
    ):
        editor.save(path, "x", "z")
    assert contents(path) == before


def test_a_checkpoint_without_its_meta_graph_is_another_s(
    small: GraphEditor, tmp_path: Path
) -> None:
    with small.graph.as_default():
        v1.train.Saver().save(small.session, str(tmp_path / "g"), write_meta_graph=False)
    weigh(small, 5)
    before = contents(tmp_path)
    with pytest.raises(
        GraphEditError,
        match=r"g\.(index|data-00000-of-00001)' is nothing that a save here has written",
    ):
        small.save(tmp_path / "g.meta")
    assert contents(tmp_path) == before


def test_arrays_next_to_a_script_take_the_place_of_its_own_only(tmp_path: Path) -> None:
    editor = tgw.example()
    editor.set_constant("x:0", np.random.default_rng(0).normal(size=[100_000, 4]))
    (tmp_path / "train.npz").write_text("my data")
    with pytest.raises(
        GraphEditError, match=r"train\.npz' is nothing that a save here has written"
    ):
        editor.save(tmp_path / "train.py")
    assert contents(tmp_path) == {"train.npz": b"my data"}
    for _ in range(2):
        editor.save(tmp_path / "edits.py")
    assert {path.name for path in tmp_path.iterdir()} == {"train.npz", "edits.py", "edits.npz"}


def test_a_link_inside_a_model_is_named_and_stays(small: GraphEditor, tmp_path: Path) -> None:
    path = save(small, tmp_path / "sm")
    (path / "variables").rename(tmp_path / "disk")
    (path / "variables").symlink_to("../disk")
    before = contents(tmp_path)
    with pytest.raises(
        GraphEditError, match="variables' is a symbolic link, which a save does not replace"
    ):
        save(small, path)
    save(small, tmp_path / "g.meta")
    (tmp_path / "g.meta").rename(tmp_path / "h.meta")
    (tmp_path / "g.meta").symlink_to("h.meta")
    with pytest.raises(GraphEditError, match=r"g\.meta' is a symbolic link"):
        save(small, tmp_path / "g.meta")
    assert {name: contents(tmp_path)[name] for name in before} == before


@contextlib.contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """No file can become larger: how a quota and a full disk answer, EFBIG in place of ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_takes_no_more_is_one_sentence_and_the_old_file_stays(
    small: GraphEditor, tmp_path: Path, name: str, verify: bool
) -> None:
    save(small, tmp_path / name)
    before = contents(tmp_path)
    with (
        files_up_to(64),
        pytest.raises(
            GraphEditError, match=r"cannot be written: File too large; give another"
        ) as e,
    ):
        save(small, tmp_path / name, verify=verify)
    assert str(tmp_path / name) in e.value.why
    assert ".tfgraphwidget" not in e.value.why
    assert contents(tmp_path) == before


def test_a_full_disk_is_one_sentence_wherever_else_something_is_written(
    small: GraphEditor, tmp_path: Path
) -> None:
    copy = small.clone("x", "z", into="twin")
    writes = {
        "a selection": lambda: small.ops("z").save(tmp_path / "s.json"),
        "a checkpoint": lambda: copy.save(str(tmp_path / "values")),
        "an event file": lambda: small.save(tmp_path / "logs" / "new", format="tensorboard"),
        "a function": lambda: tgw.edit(
            tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([3]))
        ).save(tmp_path / "f", verify=False),
    }
    for write in writes.values():
        with (
            files_up_to(8),
            pytest.raises(GraphEditError, match=r"cannot be written( to)?: File too large"),
        ):
            write()
    assert contents(tmp_path) == {}
    copy.save(str(tmp_path / "values"))
    before = contents(tmp_path)
    with files_up_to(8), pytest.raises(GraphEditError, match="File too large"):
        copy.save(str(tmp_path / "values"))
    assert contents(tmp_path) == before
    small.undo()


def test_places_that_cannot_be_written_to(small: GraphEditor, tmp_path: Path) -> None:
    long = "n" * 300
    for name in ("g.pb", "g.meta", "sm"):
        with pytest.raises(GraphEditError, match=r"cannot be written: \w.*; give another place\.$"):
            save(small, Path("/proc") / name)
        with pytest.raises(GraphEditError, match=r"File name too long"):
            save(small, tmp_path / (long + name))
        (tmp_path / f"link{name}").symlink_to("/proc/self/none/" + name)
        with pytest.raises(GraphEditError):
            save(small, tmp_path / f"link{name}")
    assert all(path.is_symlink() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.txt",
        "/etc/hostname",
        "link.txt",
        "linked/secret.txt",
        "a\\b",
        "x/../words.txt",
        ".",
        "",
    ],
)
def test_an_asset_outside_of_its_folder_is_looked_at_only(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.txt").write_text("password")
    editor, _ = vocabulary(tmp_path / "one", "a")
    path = editor.save(tmp_path / "sm", "x", "z")
    (path / "assets" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (path / "assets" / "linked").symlink_to(tmp_path)
    model = saved_model_pb2.SavedModel.FromString((path / "saved_model.pb").read_bytes())
    (meta,) = model.meta_graphs
    for asset in meta.asset_file_def:
        asset.filename = name
    packed = meta.collection_def["saved_model_assets"].any_list.value
    for one in packed:
        held = meta_graph_pb2.AssetFileDef()
        one.Unpack(held)
        held.filename = name
        one.Pack(held)
    (path / "saved_model.pb").write_bytes(model.SerializeToString())
    opened = tgw.edit(path)
    assert any(
        "leads to a file outside of its folder 'assets'" in notice
        for notice in opened.source.notices
    )
    for kind in ("out", "out.meta", "out.pb"):
        with pytest.raises(
            GraphEditError,
            match="leads to a file outside of its folder 'assets', so it can be looked",
        ):
            opened.save(tmp_path / kind, frozen=kind == "out.pb")
    assert not any(b"password" in file.read_bytes() for file in tmp_path.glob("out*"))
    assert name not in files_of(path)
    assert f"assets/{name}" not in files_of(path)


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt", "g.html", "G.PB"])
def test_the_name_of_a_link_says_the_format_whatever_that_of_its_file_is(
    small: Any, tmp_path: Path, name: str
) -> None:
    for target in ("0a1b2c", "other.pbtxt"):
        (tmp_path / target).write_bytes(b"old")
        (tmp_path / f"{target}{name}").symlink_to(target)
        save(small, tmp_path / f"{target}{name}")
        assert (tmp_path / f"{target}{name}").is_symlink()
        save(small, tmp_path / name)
        is_same = (tmp_path / target).read_bytes() == (tmp_path / name).read_bytes()
        assert is_same or name == "g.html", "a page has the time in it"
    assert sorted(each.name for each in tmp_path.iterdir() if not each.is_symlink()) == sorted(
        ["0a1b2c", name, "other.pbtxt"]
    )


def test_an_asset_of_a_module_outside_of_its_folder_is_looked_at_only_too(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("a")
    (tmp_path / "secret.txt").write_text("password")
    module = tf.Module()
    initializer = tf.lookup.TextFileInitializer(
        str(tmp_path / "words.txt"),
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    module.table = tf.lookup.StaticHashTable(initializer, -1)
    module.run = tf.function(
        module.table.lookup, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    tf.saved_model.save(module, str(tmp_path / "sm"), signatures=module.run)
    file = tmp_path / "sm" / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    model.meta_graphs[0].asset_file_def[0].filename = "../../secret.txt"
    file.write_bytes(model.SerializeToString())
    opened = tgw.edit(tmp_path / "sm")
    for _ in ("the function", "the graph"):
        for kind in ("out", "out.meta"):
            with pytest.raises(
                GraphEditError, match="leads to a file outside of its folder 'assets', so it can be"
            ):
                opened.save(tmp_path / kind)
        opened.view.leave(0)
    assert not list(tmp_path.glob("out*"))


def test_an_asset_in_a_folder_of_its_own_is_none_outside(tmp_path: Path) -> None:
    (tmp_path / "assets" / "words").mkdir(parents=True)
    (tmp_path / "assets" / "words" / "en.txt").write_text("a")
    (tmp_path / "assets" / "same.txt").symlink_to("words/en.txt")
    assert not is_outside_assets(tmp_path, "words/en.txt")
    assert not is_outside_assets(tmp_path, "same.txt")
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (tmp_path / "assets").rename(tmp_path / "real")
    (tmp_path / "assets").symlink_to("real")
    assert is_outside_assets(tmp_path, "words/en.txt")
