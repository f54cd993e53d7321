"""Numbers of `save` and of the command line that are limits: one that is none is refused, and
named.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.cli import main
from tfgraphwidget.errors import GraphEditError, InvalidArgument


@pytest.mark.parametrize(
    "timeout", [-1, 0, 0.0, -0.5, float("nan"), float("inf"), float("-inf"), 1e300, 10**400]
)
@pytest.mark.parametrize("name", ["m.tflite", "m.onnx", "m.pb", "m.svg"])
@pytest.mark.sample(12)
def test_a_time_limit_that_is_none_is_refused_and_named(
    tmp_path: Path, timeout: float, name: str
) -> None:
    with pytest.raises(
        GraphEditError,
        match=r"timeout=.* is not (how long a converter may|what save) take.*; give a number",
    ):
        tgw.example().save(tmp_path / name, timeout=timeout)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("opset", [-1, 0, 10**9])
def test_an_opset_that_there_cannot_be_is_refused_and_named(tmp_path: Path, opset: int) -> None:
    with pytest.raises(InvalidArgument, match=f"opset={opset} is not a version"):
        tgw.example().save(tmp_path / "m.onnx", opset=opset)


@pytest.mark.parametrize(
    "text", ["-1", "0", "nan", "inf", "-inf", "1e999", "", "soon", "1e300", "9" * 400]
)
def test_a_time_limit_that_is_none_is_a_usage_error(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["export", "m.pb", "m.tflite", f"--timeout={text}"])
    assert end.value.code == 2
    assert "argument --timeout: " in (said := capsys.readouterr().err)
    assert "is not how long to wait; give a number of seconds above 0, such as 600" in said


@pytest.mark.parametrize("text", ["0", "-1", "65536", "0000800000", "nan", "1e3", "9" * 5_000])
def test_a_port_that_is_none_is_a_usage_error(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["demo", f"--port={text}"])
    assert end.value.code == 2
    assert "argument --port: " in capsys.readouterr().err
