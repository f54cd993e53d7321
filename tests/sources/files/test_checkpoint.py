"""The ways to name a checkpoint: by prefix, by one of its files, by its folder, also beside a
folder of its name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import tfgraphwidget as tgw
from tests.conftest import build_mlp, initialised, v1
from tfgraphwidget.sources.files.checkpoint import Checkpoint


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with m.meta, the checkpoint m, and m/, the SavedModel of the same graph with other
    values.
    """
    folder = tmp_path_factory.mktemp("models")
    graph = build_mlp(resource=True)
    with initialised(graph) as session:
        editor = tgw.edit(graph, session=session)
        editor.save(folder / "m.meta")
        with graph.as_default():
            for variable in v1.global_variables():
                variable.load(np.zeros(variable.shape, np.float32), session)
            v1.train.Saver().save(session, str(folder / "runs" / "model.ckpt"), global_step=3)
        editor.save(f"{folder}/m/", "x:0", "net/logits:0")
    return folder


def weights(models: Path, checkpoint: str | Path) -> float:
    """The greatest weight of the first layer in an editor opened with the checkpoint; a clone
    filled from it agrees.
    """
    session = tgw.edit(models / "m.meta", checkpoint=checkpoint).session
    opened = session.run("net/one/w/Read/ReadVariableOp:0")
    other = tgw.edit(models / "m.meta")
    other.clone("x:0", "net/logits:0", into="copy", init=str(checkpoint))
    assert np.array_equal(other.session.run("copy/net/one/MatMul/ReadVariableOp:0"), opened)
    return float(abs(opened).max())


@pytest.mark.parametrize("name", ["m", "m.index", "m.data-00000-of-00001", "m.meta"])
def test_a_prefix_goes_before_a_folder_of_its_name(models: Path, name: str) -> None:
    assert Checkpoint.of(models / name).prefix == str(models / "m")
    assert weights(models, models / name) > 0


@pytest.mark.parametrize("name", ["m/", "m/variables", "m/variables/", "m/variables/variables"])
def test_a_folder_that_is_named_as_one_is_one(models: Path, name: str) -> None:
    given = f"{models}/{name}"
    assert Checkpoint.of(given).prefix == str(models / "m" / "variables" / "variables")
    assert weights(models, given) == 0


@pytest.mark.parametrize(
    "name", ["runs", "runs/", "runs/checkpoint", "runs/model.ckpt-3", "runs/model.ckpt-3.index"]
)
def test_of_a_folder_of_checkpoints_the_latest_is_taken(models: Path, name: str) -> None:
    given = f"{models}/{name}"
    assert Checkpoint.of(given).prefix == str(models / "runs" / "model.ckpt-3")
    assert weights(models, given) == 0


def test_a_relative_prefix_goes_before_a_folder_too(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(models)
    assert tgw.edit("m.meta", checkpoint="m").source.notices == ()
    assert weights(Path(), "./m") > 0


def test_a_checkpoint_next_to_a_file_that_is_opened_without_it_is_reported(
    models: Path, tmp_path: Path
) -> None:
    (notice,) = tgw.edit(models / "m.meta").source.notices
    assert notice.endswith(
        f"so its variables have no values; checkpoint='{models / 'm'}' gives them."
    )
    assert "values: the variables have none" in repr(tgw.edit(models / "m.meta").inspect())
    shutil.copy(models / "m.meta", tmp_path)
    assert tgw.edit(tmp_path / "m.meta").source.notices == ()
    with pytest.raises(tgw.GraphEditError, match=r"open it with its checkpoint: tgw\.edit\(path, "):
        tgw.edit(tmp_path / "m.meta").save(tmp_path / "m.pb", "x:0", "net/logits:0", frozen=True)


@pytest.mark.parametrize(
    ("path", "near"),
    [("gone/model.ckpt", "."), ("runs/model.ckpt-4", "; did you mean 'runs/model.ckpt-3'?")],
)
def test_a_checkpoint_to_fill_copies_from_that_is_not_there_is_refused_with_a_way_out(
    models: Path, monkeypatch: pytest.MonkeyPatch, path: str, near: str
) -> None:
    monkeypatch.chdir(models)
    editor = tgw.edit("m.meta", checkpoint="m")
    for _ in range(2):
        with pytest.raises(
            tgw.GraphEditError, match="give the prefix of the files of one, or init="
        ) as refusal:
            editor.clone("x:0", "net/logits:0", into="copy", init=path)
        assert refusal.value.why.endswith(f'"none"{near}')
    assert not editor.history.done


def test_a_folder_with_several_checkpoints_and_no_list_is_refused(
    models: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        shutil.copy(models / "m.index", tmp_path / f"{name}.index")
    with pytest.raises(tgw.GraphEditError, match="holds no list of checkpoints; give the prefix"):
        Checkpoint.of(tmp_path)
