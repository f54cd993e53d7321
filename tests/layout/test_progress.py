"""How far a long drawing is, told to whoever listens, who can break it off at each word."""

from __future__ import annotations

import pytest

import tfgraphwidget as tgw
from tfgraphwidget.layout.layered import columns, phases
from tfgraphwidget.progress import listen


def test_a_drawing_of_many_lines_tells_how_far_it_is_and_can_be_broken_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(columns, "LONG", 1)
    monkeypatch.setattr(phases, "LONG", 1)
    editor, told = tgw.example(), list[str]()

    def break_off(what: str, *_: int) -> None:
        told.append(what)
        if what == "Drawing the lines":
            raise KeyboardInterrupt

    with listen(break_off), pytest.raises(KeyboardInterrupt):
        editor.view.scene()
    assert "Laying out the lines" in told
    with listen(lambda what, *_: told.append(what)):
        assert "x" in editor.view.scene().names  # what was broken off is drawn the next time
