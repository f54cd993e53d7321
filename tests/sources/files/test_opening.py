"""Files by what is in them, and files that are something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import keras
import pytest
import tensorflow as tf

from tests.conftest import INCEPTION, build_mlp, v1
from tests.sources.conftest import index_of, node
from tfgraphwidget.errors import GraphEditError, NotAGraph, UnknownName
from tfgraphwidget.sources import open_source


def names(graph: tf.Graph) -> list[str]:
    return [op.name for op in graph.get_operations()]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one graph in every format."""
    folder = tmp_path_factory.mktemp("formats")
    graph = build_mlp(resource=False)
    for name in ("g.pb", "g.pbtxt"):
        tf.io.write_graph(graph, str(folder), name, as_text=name.endswith("txt"))
    with graph.as_default():
        for name in ("m.meta", "mt.meta"):
            v1.train.export_meta_graph(str(folder / name), as_text=name == "mt.meta")
    return folder


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt", "m.meta", "mt.meta"])
@pytest.mark.parametrize("given", [str, Path], ids=["str", "path"])
def test_a_file_of_each_kind_opens(saved: Path, name: str, given: Callable[[Path], object]) -> None:
    source = open_source(given(saved / name))
    assert [n.name for n in source.body.nodes()] == names(build_mlp(resource=False))
    assert (source.title, source.graph, source.session) == (str(saved / name), None, None)
    assert len(source.body.collections()[1]) == (4 if "meta" in name else 0)


@pytest.mark.parametrize("name", ["g.pb", "g.pbtxt", "m.meta", "mt.meta"])
@pytest.mark.parametrize("suffix", [".pb", ".pbtxt", ".meta", ".bin", ""])
def test_the_name_of_a_file_does_not_matter(
    saved: Path, tmp_path: Path, name: str, suffix: str
) -> None:
    file = tmp_path / f"renamed{suffix}"
    file.write_bytes((saved / name).read_bytes())
    assert len(open_source(file).body.nodes()) == len(open_source(saved / name).body.nodes())


def test_a_real_meta_graph_shows_its_variables() -> None:
    source = open_source(INCEPTION)
    held, variables = source.body.collections()
    assert len(variables) == len(held["variables"]) == 388
    index = index_of(source.body)
    assert all(
        v.trainable == (v.name in {m.name for m in held["trainable_variables"]}) for v in variables
    )
    assert all(v.handle in index.ids and v.initializer in index.ids for v in variables)


def test_an_old_meta_graph_says_by_its_collection_what_is_trainable() -> None:
    meta = v1.MetaGraphDef.FromString(INCEPTION.read_bytes())
    variable_def = type(variable_proto())
    for key in ("variables", "trainable_variables"):
        data = meta.collection_def[key].bytes_list.value
        for k, held in enumerate(data):
            old = variable_def.FromString(held)
            old.trainable = False
            data[k] = old.SerializeToString()
    variables = open_source(meta).body.collections()[1]
    assert 0 < sum(v.trainable for v in variables) < len(variables)


def variable_proto() -> object:
    with tf.Graph().as_default():
        return v1.get_variable("w", []).to_proto()


def test_what_collections_name_and_the_graph_lacks_is_left_out() -> None:
    graph = build_mlp(resource=True)
    with graph.as_default():
        tf.identity(1.0, name="loss")
        v1.add_to_collection("losses", graph.get_tensor_by_name("loss:0"))
        v1.add_to_collection("steps", graph.get_operation_by_name("loss"))
        meta = v1.train.export_meta_graph()
    kept = [
        n
        for n in meta.graph_def.node
        if not n.name.startswith(("net/two/w", "net/two/MatMul", "net/two/add"))
    ]
    kept = [n for n in kept if n.name not in ("net/two/out", "net/logits")]
    del meta.graph_def.node[:]
    meta.graph_def.node.extend(kept)
    meta.collection_def["losses"].node_list.value.append("gone:0")
    meta.collection_def["variables"].bytes_list.value.append(b"\xff")
    held, variables = open_source(meta).body.collections()
    assert [v.handle for v in variables] == ["net/one/w", "net/one/b", "net/two/b"]
    assert [tuple(m) for m in held["losses"]] == [("tensor", "loss:0")]
    assert [tuple(m) for m in held["steps"]] == [("op", "loss")]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("g.pb", b"", "is empty"),
        ("g.pb", b"just a text\nwith two lines\n", "truncated or damaged"),
        ("notes.txt", b"todo: open the graph\n", "holds no TensorFlow graph with ops in it"),
        ("g.pbtxt", b'node { name: "a" op: "NoOp"', "holds no TensorFlow graph with ops in it (1:"),
        ("g.pbtxt", b"versions { producer: 27 }", "holds no TensorFlow graph with ops in it"),
        (
            "g.pb",
            v1.GraphDef(versions={"producer": 27}).SerializeToString(),
            "holds no TensorFlow graph with ops",
        ),
        ("p.pb", b"\x89PNG\r\n\x1a\n" + bytes(50), "is a picture; give the file"),
        (
            "m.h5",
            b"\x89HDF\r\n\x1a\n" + bytes(50),
            "is a Keras or HDF5 file; load it with keras.models.load_model",
        ),
        ("m.onnx", b"\x08\x07\x12\x07pytorch", "holds no graph with ops in it"),
        (
            "m.tflite",
            b"\x1c\0\0\0TFL3" + bytes(50),
            "is a TensorFlow Lite model that is truncated or damaged; copy or convert it again",
        ),
        ("m.pt", b"PK\x03\x04" + bytes(50), "is a PyTorch file; export it"),
        ("m.zip", b"PK\x03\x04" + bytes(50), "is a zip archive; unpack it"),
        ("checkpoint", b'model_checkpoint_path: "m.ckpt"\n', "is a checkpoint's list of names"),
    ],
)
def test_a_file_that_is_no_graph_is_refused_in_a_sentence(
    tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(NotAGraph, match=re.escape(sentence)) as refusal:
        open_source(file)
    assert str(file) in refusal.value.why
    assert "\n" not in refusal.value.why


def test_a_checkpoint_says_to_give_the_meta_file(checkpoint: Path) -> None:
    for suffix in (".index", ".data-00000-of-00001"):
        with pytest.raises(NotAGraph, match=r"a part of a checkpoint.*give the \.meta file"):
            open_source(f"{checkpoint}{suffix}")
    with pytest.raises(
        UnknownName, match=r"no file or directory.* did you mean '.*/m\.ckpt\.(meta|index)"
    ):
        open_source(checkpoint)


@pytest.mark.filterwarnings(
    "ignore:__array__ implementation:DeprecationWarning"
)  # Keras 3.15's own, on numpy 2
def test_a_keras_file_says_to_load_it_first(tmp_path: Path) -> None:
    file = tmp_path / "m.keras"
    keras.Sequential([keras.Input([3]), keras.layers.Dense(2)]).save(file)
    with pytest.raises(NotAGraph, match=r"keras\.models\.load_model first"):
        open_source(file)


def test_a_missing_file_proposes_a_neighbour_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.pb").write_bytes(b"x")
    near = re.escape(f"; did you mean '{tmp_path}/model.pb'?")
    with pytest.raises(UnknownName, match=f"There is no file or directory.*{near}"):
        open_source(tmp_path / "modle.pb")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownName, match=r"did you mean 'model\.pb'"):
        open_source("modle.pb")
    with pytest.raises(UnknownName, match="There is no file"):
        open_source(tmp_path / "gone" / "modle.pb")


def test_a_file_over_2_gb_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.pb"
    with file.open("wb") as opened:
        opened.truncate((1 << 31) + 1)
    with pytest.raises(NotAGraph, match="is over 2 GB"):
        open_source(file)


def test_a_file_that_may_not_be_read_says_why(tmp_path: Path) -> None:
    file = tmp_path / "g.pb"
    file.symlink_to(tmp_path / "gone.pb")
    with pytest.raises(GraphEditError, match="cannot be read: No such file or directory"):
        open_source(file)


@pytest.mark.parametrize(
    ("nodes", "sentence"),
    [
        ([node("a", "NoOp"), node("a", "NoOp")], "two ops are named 'a'"),
        (
            [node("a", "NoOp"), node("b", "NoOp"), node("", "NoOp")],
            "op number 2, of type 'NoOp', is named ''",
        ),
        (
            [node("a", "NoOp"), node("b", "NoOp"), node("a:1", "NoOp")],
            "'a:1' is an op, and also means op 'a'",
        ),
        (
            [node("a", "NoOp"), node("b", "NoOp"), node("^b", "NoOp")],
            "'^b' is an op, and also means op 'b'",
        ),
        *(
            (
                [node("alpha", "NoOp"), node("b", "Identity", text)],
                f"op 'b' reads {as_read!r}, which is not there",
            )
            for text, as_read in {
                **{text: text for text in ("", "^", ":", ":1", "alpha:-1", "^gone", "alpha:x")},
                "alph:0": "alph",
                "alpha:99999999999": "alpha:99999999999",
                "alpha:0:1": "alpha:0:1",
            }.items()
        ),
        ([node("a", "NoOp"), node("b", "Identity", "a:" + "9" * 5000)], "op 'b' reads 'a:999"),
    ],
)
def test_a_graph_with_broken_facts_is_opened_with_a_sentence(
    nodes: list[v1.NodeDef], sentence: str
) -> None:
    source = open_source(v1.GraphDef(node=nodes))
    assert any(notice.startswith(f"This GraphDef: {sentence}") for notice in source.notices)
    index = index_of(source.body)
    assert len(set(index.names)) == len(index)


def test_inputs_may_name_later_ops_and_any_port(line: tf.Graph) -> None:
    nodes = [node("a", "Identity", "b:3", "^c"), node("b", "Unknown"), node("c", "NoOp")]
    index = index_of(open_source(v1.GraphDef(node=nodes)).body)
    assert index.inputs.row(0).tolist() == [1]
    assert index.ports.tolist() == [3]


def test_choices_that_do_not_fit_a_file_are_refused(saved: Path) -> None:
    with pytest.raises(
        UnknownName, match="has no signature 'x': it has none; leave signature= out"
    ):
        open_source(saved / "g.pb", signature="x")
    with pytest.raises(GraphEditError, match="is not a SavedModel, so it has no tags"):
        open_source(saved / "g.pb", tags="serve")
    with pytest.raises(GraphEditError, match="checkpoint=3 is not a path"):
        open_source(saved / "m.meta", checkpoint=3)  # type: ignore[arg-type]
