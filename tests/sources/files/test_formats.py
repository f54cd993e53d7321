"""A format is one value: what opens, describes and lists files follows from it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tfgraphwidget as tgw
from tests.conftest import v1
from tests.test_import_is_light import modules_after
from tfgraphwidget.cli import main
from tfgraphwidget.cli.parser import create_parser
from tfgraphwidget.errors import GraphEditError, NotAGraph
from tfgraphwidget.jupyterlab import documents, server_extension
from tfgraphwidget.sources import (
    Container,
    OpenOptions,
    Source,
    SourceFormat,
    file_suffixes,
    open_message,
    open_source,
    register_format,
    registered_formats,
    summarize_graph,
    unregister_format,
)

TEXT = "toy\nx\ny x\nz x y\n"


def read_toy(container: Container) -> Any:
    """The GraphDef that a toy file says: a line for each op, its name and its control inputs."""
    graph = container.messages.GraphDef()
    for line in container.data.decode().splitlines()[1:]:
        name, *inputs = line.split()
        graph.node.add(name=name, op="NoOp", input=[f"^{each}" for each in inputs])
    return graph


def open_toy(container: Container, options: OpenOptions) -> Source:
    return open_message(read_toy(container), container.title, container.where, options)


def find_toy_checkpoint(path: Path) -> Path | None:
    return path.with_name("values") if path.with_name("values.index").is_file() else None


TOY = SourceFormat(
    name="toy",
    suffixes=(".toy",),
    matches=lambda container: container.data.startswith(b"toy\n"),
    open=open_toy,
    describe=lambda container: [summarize_graph(read_toy(container))],
    main_files=("main.toy",),
    find_checkpoint=find_toy_checkpoint,
)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of the toy format, which is registered meanwhile."""
    monkeypatch.setattr(documents, "_DOCUMENTS", {})
    file = tmp_path / "graph.toy"
    file.write_text(TEXT)
    register_format(TOY)
    yield file
    unregister_format("toy")


def test_edit_opens_it(toy: Path) -> None:
    editor = tgw.edit(toy)
    assert list(editor.ops(type="NoOp").ops) == ["x", "y", "z"]
    assert editor.graph.get_operation_by_name("z").control_inputs[1].name == "y"


def test_edit_opens_its_bytes_and_its_directories(toy: Path) -> None:
    assert len(tgw.edit(toy.read_bytes())._core.index) == 3
    toy.rename(toy.with_name("main.toy"))
    assert len(tgw.edit(toy.parent)._core.index) == 3


def test_info_describes_it(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(toy)]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first == f"{toy}: toy, {len(TEXT)} bytes"
    assert second.split() == ["ops", "3"]


def test_info_describes_it_without_tensorflow(toy: Path) -> None:
    code = "from __future__ import annotations\nfrom typing import Any\n"
    code += (
        "from tfgraphwidget.sources import SourceFormat, describe_file, register_format, "
        "summarize_graph\n"
    )
    code += f"{inspect.getsource(read_toy)}\nfrom pathlib import Path\n"
    code += "describe = lambda container: [summarize_graph(read_toy(container))]\n"
    code += (
        "register_format(SourceFormat('toy', ('.toy',), lambda c: c.data[:4] == b'toy\\n', "
        "None, describe))\n"
    )
    code += f"assert describe_file(Path({str(toy)!r}))['graphs'][0]['ops'] == 3\n"
    assert "tensorflow" not in modules_after(code)


def test_the_command_line_exports_it(toy: Path) -> None:
    assert main(["export", str(toy), str(toy.with_suffix(".pb"))]) == 0
    written = v1.GraphDef.FromString(toy.with_suffix(".pb").read_bytes())
    assert [node.name for node in written.node] == ["x", "y", "z"]


def test_the_file_handler_of_jupyterlab_opens_it(toy: Path) -> None:
    document = documents.open_document({"path": toy.name, "root": str(toy.parent)})
    assert document.title == "graph.toy"
    assert len(document.editor._core.index) == 3
    document.close()


def test_the_file_handler_finds_its_checkpoint(toy: Path) -> None:
    toy.with_name("values.index").write_bytes(b"damaged")
    document = documents.open_document({"path": toy.name, "root": str(toy.parent)})
    assert "checkpoint" in document.editor._core.source.reopen_code
    document.close()


def test_its_suffix_is_in_all_lists(toy: Path, tmp_path: Path) -> None:
    assert file_suffixes() == (".pb", ".pbtxt", ".meta", ".tflite", ".onnx", ".toy")
    assert ".pb, .pbtxt, .meta, .tflite, .onnx or .toy" in " ".join(
        create_parser().format_help().split()
    )
    with pytest.raises(
        NotAGraph, match=r"a \.pb, \.pbtxt, \.meta, \.tflite, \.onnx or \.toy file, or nothing"
    ):
        open_source(3)
    (tmp_path / "folder").mkdir()
    toy.rename(tmp_path / "folder" / toy.name)
    with pytest.raises(NotAGraph, match=r"did you mean '.*graph\.toy'"):
        tgw.edit(tmp_path / "folder")
    app = SimpleNamespace(settings={"base_url": "/"}, add_handlers=lambda *_: None)
    server_extension._load_jupyter_server_extension(SimpleNamespace(web_app=app))
    assert app.settings["page_config_data"]["tfgraphwidgetSuffixes"] == " ".join(
        (*file_suffixes(), ".keras", ".tgw")
    )


def test_nothing_of_it_is_left_when_it_is_removed(toy: Path) -> None:
    unregister_format("toy")
    try:
        assert [known.name for known in registered_formats()] == [
            "GraphDef",
            "MetaGraphDef",
            "SavedModel",
            "TensorFlow Lite model",
            "ONNX model",
            "editor",
        ]
        assert ".toy" not in file_suffixes()
        with pytest.raises(GraphEditError, match="is not a GraphDef"):
            tgw.edit(toy)
    finally:
        register_format(TOY)


def test_a_name_that_hints_at_a_format_does_not_decide(toy: Path, line: Any) -> None:
    toy.write_bytes(line.as_graph_def().SerializeToString())
    assert len(tgw.edit(toy)._core.index) == len(line.get_operations())


def test_the_page_registers_the_same_suffixes_when_the_server_does_not_say() -> None:
    page = Path(tgw.__file__).parents[1] / "labextension" / "src"
    written = " ".join((*file_suffixes(), *server_extension.IN_NOTEBOOKS, server_extension.EDITOR))
    assert any(
        f'"{written}"' in file.read_text(encoding="utf-8") for file in page.rglob("file-plugin.ts")
    )
