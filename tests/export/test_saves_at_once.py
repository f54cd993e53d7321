"""Two exports to one path at once: the last one stays, whole, and both end well."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tfgraphwidget as tgw
from tfgraphwidget import writable
from tfgraphwidget.editor import GraphEditor
from tfgraphwidget.export import writer
from tfgraphwidget.writable import write_files

PAIRS = 20
KINDS = ("m.pb", "model/", "m.tgw", "m.html", "m.meta")
EXPORTING = """
import json, sys, traceback
import tensorflow
from tfgraphwidget.cli import main
print(json.dumps("ready"), flush=True)
for line in sys.stdin:
    try:
        code = main(json.loads(line))
    except BaseException:
        traceback.print_exc()
        code = 99
    print(json.dumps({"code": code}), flush=True)
"""


class Exporter:
    """A process that exports when it is told to."""

    def __init__(self, log: Path, warm_python: list[str]) -> None:
        self._log = log.open("w+")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*warm_python, "-c", EXPORTING],
            stdin=pipe,
            stdout=pipe,
            stderr=self._log,
            text=True,
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        assert self._answer() == "ready"

    def begin(self, *arguments: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(arguments)}\n")
        self._process.stdin.flush()

    def code(self) -> int:
        while not isinstance(answer := self._answer(), dict):
            pass
        return int(answer["code"])

    def _answer(self) -> Any:
        """The next line of JSON; others are what commands print."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self.errors()
        try:
            return json.loads(line)
        except ValueError:
            return None

    def errors(self) -> str:
        self._log.seek(0)
        return self._log.read()

    def end(self) -> None:
        self._process.communicate()
        self._log.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.sample(2)
def test_two_processes_export_to_one_path(
    tmp_path: Path, kind: str, warm_python: list[str]
) -> None:
    graph = tmp_path / "graph.meta"
    tgw.example().save(graph)
    exporters = [Exporter(tmp_path / f"{k}.txt", warm_python) for k in range(2)]
    try:
        for k in range(PAIRS):
            out = tmp_path / f"out{k // 2}"  # every second time what is there is replaced
            out.mkdir(exist_ok=True)
            # Each with other inputs, so that the files of both differ.
            for exporter, name in zip(exporters, ("x:0", "net/hidden/Relu:0"), strict=True):
                ends = ("--inputs", f"a={name}", "--outputs", "b=net/logits:0", "--no-verify")
                exporter.begin(
                    "export",
                    str(graph),
                    f"{out}/{kind}",
                    *(ends if kind in ("model/", "m.pb") else ()),
                    "--checkpoint",
                    str(tmp_path / "graph"),
                )
            codes = [exporter.code() for exporter in exporters]
            assert codes == [0, 0], "".join(exporter.errors()[-2_000:] for exporter in exporters)
            names = {"m.meta": ["m.data-00000-of-00001", "m.index", "m.meta"]}.get(
                kind, [kind.strip("/")]
            )
            # And nothing of the way there.
            assert sorted(entry.name for entry in out.iterdir()) == names
            if kind != "m.html":
                assert tgw.edit(out / kind)._core.index.names
        assert not any("Traceback" in exporter.errors() for exporter in exporters)
    finally:
        for exporter in exporters:
            exporter.end()


@pytest.mark.parametrize("kind", ["m.pb", "model/", "m.tgw"])
def test_two_threads_save_to_one_path(tmp_path: Path, kind: str) -> None:
    editors = [tgw.example(), tgw.example()]
    editors[1].rename("net/logits", "net/scores")

    def save(editor: GraphEditor, out: Path) -> Path:
        ends = (
            {"inputs": ["x", "labels"], "outputs": {"b": "loss"}, "verify": False}
            if kind == "model/"
            else {}
        )
        return editor.save(f"{out}/{kind}", **ends)

    with ThreadPoolExecutor(2) as threads:
        for k in range(PAIRS // 4):
            out = tmp_path / str(k // 2)
            out.mkdir(exist_ok=True)
            for saved in [threads.submit(save, editor, out) for editor in editors]:
                assert saved.result()
            assert [entry.name for entry in out.iterdir()] == [kind.strip("/")]
            assert tgw.edit(out / kind)._core.index.names


def written(text: str) -> Callable[[Path], None]:
    """Writes a SavedModel's files, all with the same text."""

    def write(new: Path) -> None:
        (new / "variables").mkdir(parents=True)
        for name in (
            "saved_model.pb",
            "variables/variables.index",
            "variables/variables.data-00000-of-00001",
        ):
            (new / name).write_text(text)

    return write


def test_a_folder_that_another_save_has_made_meanwhile_is_replaced_whole(tmp_path: Path) -> None:
    place = tmp_path / "model"

    def save(text: str, during: Callable[[], object] = lambda: None) -> None:
        def write(new: Path) -> None:
            written(text)(new / "model")
            during()

        write_files(tmp_path, write, lambda names: writer._files_to_replace(place, names))

    save("second", during=lambda: save("first"))
    assert {file.read_text() for file in place.rglob("*") if file.is_file()} == {"second"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


def test_a_stage_that_another_save_takes_for_a_killed_one_s_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another save looks for what killed ones have left, between the making of a stage and its
    lock.
    """
    take, looks = writable._Lock.take, [0, 0]

    def late(lock: writable._Lock, seconds: float = 0.0) -> bool:
        looks[0] += 1
        if looks[0] == 1:
            looks[1] = len(list(tmp_path.iterdir()))
            writable.recover(tmp_path)
        return take(lock, seconds)

    monkeypatch.setattr(writable._Lock, "take", late)
    write_files(tmp_path, lambda new: (new / "a.pb").write_text("a"), lambda _: ["a.pb"])
    assert looks[1] == 1  # there was a stage to be removed
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pb"]
