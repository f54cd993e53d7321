"""Files that version 0.2 wrote are read: the edits of ".json", ".py" and ".tgw" give the graphs
that they gave then.

The archive beside this file was written by 0.2: three models, and for each edit of each the files
of the edit and the graph that it gave.
"""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.cli import main
from tfgraphwidget.edits.registry import commands
from tfgraphwidget.edits.serialization import names_of_0_2

ARCHIVE = Path(__file__).with_name("files_of_0_2.tar.xz")
MODELS = ("meta", "frozen", "saved")
pytestmark = pytest.mark.filterwarnings("ignore")  # what is broken in a file is written again


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the files."""
    folder = tmp_path_factory.mktemp("of_0_2")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def opened(files: Path, model: str) -> tgw.GraphEditor:
    """The model as it was opened then."""
    folder = files / "models"
    if model == "meta":
        return tgw.edit(folder / "m.ckpt.meta", checkpoint=str(folder / "m.ckpt"))
    return (
        tgw.edit(folder / "frozen.pb")
        if model == "frozen"
        else tgw.edit(folder / "saved", signature="twice")
    )


CHANGED_SINCE = {
    "insert": "the gradient goes through the inserted op too",
    "insert_function": "the gradient goes through the inserted ops too",
    **dict.fromkeys(
        ("replace", "replace_function", "replace_all", "replace_all_in_functions"),
        "the gradient goes through what takes the place of ops",
    ),
    "remove": "functions that nothing calls any more are left out",
    "set_constant_placeholder": "the placeholder that nothing reads any more is removed",
}
"""What an edit does better now than in 0.2, by its name in the archive."""


def same(editor: tgw.GraphEditor, then: Path, path: Path) -> bool:
    """Whether the graph is the one that 0.2 gave."""
    editor.view.leave(0)
    editor.save(path, verify=False)
    return then.stem in CHANGED_SINCE or not tgw.edit(path).diff(then)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_edits_of_json_are_made_again(model: str, files: Path, tmp_path: Path) -> None:
    wrong = []
    for path in sorted((files / model).glob("*.json")):
        editor = opened(files, model)
        editor.history.replay(path)
        if not same(editor, path.with_suffix(".pb"), tmp_path / "now.pb"):
            wrong.append(path.name)
    assert wrong == []


@pytest.mark.parametrize("model", MODELS)
def test_editors_open_with_their_edits(model: str, files: Path, tmp_path: Path) -> None:
    wrong = []
    for path in sorted((files / model).glob("*.tgw")):
        editor = tgw.edit(path)
        if not same(editor, path.with_suffix(".pb"), tmp_path / "now.pb"):
            wrong.append(path.name)
        while editor.history:
            editor.undo()
    assert wrong == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.sample(1)
def test_scripts_run_with_the_names_of_today(
    model: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    wrong = []
    for path in sorted((files / model).glob("*.py")):
        text = path.read_text()
        if "# give here" in text:  # what only the process of then had
            continue
        names: dict[str, Any] = {}
        exec(names_of_0_2.upgrade(text), names)
        if not same(names["editor"], path.with_suffix(".pb"), tmp_path / "now.pb"):
            wrong.append(path.name)
    assert wrong == []


def test_the_command_line_runs_a_script(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    assert main(["run-script", "frozen/place.py", "--out", str(tmp_path / "now.pb")]) == 0
    assert not tgw.edit(tmp_path / "now.pb").diff(files / "frozen" / "place.pb")


def test_each_name_of_the_tables_is_another_one_now() -> None:
    now = set(commands())
    assert not names_of_0_2.COMMANDS.keys() & now
    assert set(names_of_0_2.COMMANDS.values()) <= now
    editor = tgw.example()
    for old, name in names_of_0_2.PLACES.items():
        with pytest.raises(AttributeError, match=re.escape(f"it is editor.{name}")):
            getattr(editor, old)
    for name in names_of_0_2.METHODS.values():
        noun, _, method = name.rpartition(".")
        assert callable(getattr(getattr(editor, noun) if noun else editor, method))


def test_what_is_no_script_of_0_2_stays_as_it_is() -> None:
    for text in ("editor.bypass(what='a')\n", "no python (", "", "other.place('a', 'b')\n"):
        assert names_of_0_2.upgrade(text) == text


REWRITTEN = {
    "editor.replace_input('x:0', [8, 4], renew='never')": "editor.renew = False; "
    "editor.passes.set_input('x:0', [8, 4]); editor.renew = True",
    "if 1:\n    editor.bypass('x', renew='never')": "if 1:\n    editor.renew = False; "
    "editor.bypass('x'); "
    "editor.renew = True",
    "for _ in 'ab': editor.connect('a', 'b', 0, mend='Cast', renew='always')": "for _ in 'ab': "
    "editor.connect('a', 'b', 0, adapter='Cast')",
    "print(editor.place('x', 'é', renew='never'))": "print((setattr(editor, 'renew', False), "
    "editor.set_device('x', 'é'), setattr(editor, 'renew', True))[1])",
    "editor.place('x', **options)  # why": "editor.set_device('x', **options)  # why",
    "editor.bypass(editor.of_type(*types))": "editor.bypass(editor.ops(type=types))",
    "editor.enclosed(seeds=['a'] + more, by='b')": "editor.ops(*['a'] + more).connected(until='b')",
    "editor.enclosed()": "editor.enclosed()",
    "editor.cast('float16', ends='cast')": "editor.passes.cast('float16', boundary='cast')",
    "editor.replace('y', 'Square', ends={'y': 'z'})": "editor.replace('y', 'Square', "
    "outputs={'y': 'z'})",
    "copy = editor.grow(\n    at='x:0',  # here\n    function=f,\n)": "copy = editor.call(\n    "
    "at='x:0',  # here\n"
    "    function=f,\n)",
    "editor.bypass('x', renew=how)": "editor.renew = how != 'never'; editor.bypass('x'); "
    "editor.renew = True",
}


@pytest.mark.parametrize("script", REWRITTEN)
def test_scripts_are_rewritten_line_by_line(script: str) -> None:
    assert names_of_0_2.upgrade(script) == REWRITTEN[script]
    assert names_of_0_2.upgrade(REWRITTEN[script]) == REWRITTEN[script]


def test_a_script_in_another_encoding_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tgw.example().save("net.pb")
    text = (
        "import tfgraphwidget as tgw\neditor = tgw.edit('net.pb')\neditor.place('loss', "
        "'/cpu:0')  # é\n"
    )
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n" + text.encode("latin-1"))
    (tmp_path / "marked.py").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert main(["run-script", "latin.py", "--out", "a.pb"]) == 0
    assert main(["run-script", "marked.py", "--out", "b.pb"]) == 0
    assert not tgw.edit("a.pb").diff("b.pb")
