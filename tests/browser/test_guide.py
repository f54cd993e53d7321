"""The notebooks of the guide as a reader uses them: what the text asks to click leads on to the
cells below it.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.browser.hands import NOTEBOOKS, Widget
from tests.browser.jobs.counted import Hand
from tests.browser.lab import OpenNotebook, copy_notebook, open_notebook, shoot
from tests.browser.server import JupyterServer
from tests.slow import slow_if

pytestmark = pytest.mark.one_page

WHOLE = 600_000  # ms; the longest takes 15 s of CPU, on a machine that is shared


class Reader:
    """One who reads a notebook from its top: runs its cells, and does in the drawing what the text
    asks for.
    """

    def __init__(self, page: Page, server: JupyterServer, name: str) -> None:
        path = NOTEBOOKS / f"{name}.ipynb"
        self.cells = nbformat.read(path, as_version=4).cells
        self.notebook: OpenNotebook = open_notebook(page, server, copy_notebook(server, path))
        self.at = 0

    def run_to_answer(self, shown: int) -> Hand:
        """Run the cells above the answer; the hand on the widget that the cell `shown` shows."""
        self.run(
            next(
                k for k, cell in enumerate(self.cells) if "answer" in cell.metadata.get("tags", ())
            )
        )
        return self.hand(shown)

    def hand(self, shown: int) -> Hand:
        """The hand on the widget that this cell shows."""
        root = self.notebook.output(shown).locator(".tfgraphwidget")
        root.scroll_into_view_if_needed()
        return Hand(Widget(self.notebook, root))

    def run(self, end: int | None = None) -> None:
        """Run the code cells from where the reader is, up to this one; all that are left for
        None.
        """
        end = len(self.cells) if end is None else end
        for k in range(self.at, end):
            if self.cells[k].cell_type == "code":
                self.notebook.run_cell(k)
        self.at = end


@pytest.fixture
def reader(page: Page, jupyter_server: JupyterServer, request: pytest.FixtureRequest) -> Reader:
    return Reader(page, jupyter_server, request.param)


def mark(hand: Hand, input_op: str, output_op: str) -> None:
    """Mark an op as input and another one as output, as the text asks for."""
    hand.widget.click(input_op, "Shift")
    hand.widget.settled()
    hand.widget.click(output_op, "Alt")
    hand.widget.settled()


def cloned(hand: Hand) -> list[str]:
    """Press Clone; the lines of the edits then."""
    hand.widget.tab("Selection")
    hand.click(hand.root.get_by_role("button", name="Clone", exact=True))
    return hand.lines(1)


@pytest.mark.parametrize("reader", ["00_index"], indirect=True)
def test_what_the_index_asks_for_makes_the_copy_that_its_answer_takes(reader: Reader) -> None:
    hand = reader.run_to_answer(shown=3)
    mark(hand, "x", "net/logits")
    lines = cloned(hand)
    reader.run()
    # The answer has made no other copy.
    assert reader.notebook.kernel_eval("list(editor.history.lines)") == lines


@pytest.mark.slow  # a further notebook in which a boundary is clicked
@pytest.mark.parametrize("reader", ["05_target_network"], indirect=True)
def test_the_boundary_that_is_clicked_is_that_of_the_answer(reader: Reader) -> None:
    hand = reader.run_to_answer(shown=2)
    hand.widget.click("obs", "Shift")
    hand.widget.settled()
    hand.widget.click("online/q", double=True)
    hand.widget.settled()
    hand.widget.click("online/q/BiasAdd", "Alt")
    hand.widget.settled()
    selected = reader.notebook.kernel_eval(
        "[editor.inputs, editor.outputs, list(editor.selection.ops)]"
    )
    assert selected[:2] == [["obs"], ["online/q/BiasAdd"]]
    reader.run(reader.at + 1)
    assert reader.notebook.kernel_eval("list(editor.selection.ops)") == selected[2]


@pytest.mark.parametrize("reader", ["07_rewire_a_running_session"], indirect=True)
def test_the_cells_below_a_bypass_go_on_from_the_click(reader: Reader) -> None:
    hand = reader.run_to_answer(shown=4)
    hand.right_click("net/dropout")
    hand.choose("Bypass")
    lines = hand.lines(1)
    shoot(hand.page, "guide_bypass")
    reader.run()
    assert reader.notebook.kernel_eval("list(editor.history.lines)") == lines


@pytest.mark.parametrize("reader", ["09_difference_and_replay"], indirect=True)
def test_the_key_that_is_named_colors_the_difference(reader: Reader) -> None:
    reader.run(6)
    hand = reader.hand(shown=3)
    (key,) = re.findall(r"button, or `(.*?)`, colors", reader.cells[6].source)
    hand.widget.click("player")
    hand.press(key)
    expect(hand.root.get_by_role("button", name="Changes", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    hand.widget.settled()
    shoot(hand.page, "guide_difference")
    assert reader.notebook.kernel_eval("len(editor.history.lines)") == 3  # no edit


@pytest.mark.slow  # test_page.py goes into functions and back
@pytest.mark.parametrize("reader", ["10_explore_a_saved_model"], indirect=True)
def test_out_of_the_function_and_into_it_again_goes_where_the_answer_goes(reader: Reader) -> None:
    hand = reader.run_to_answer(shown=5)
    where = hand.root.get_by_role("navigation", name="Current graph").get_by_role("button")
    expect(where).to_have_count(3)
    hand.click(where.first)
    expect(where).to_have_count(0)
    hand.widget.settled()
    hand.widget.click("StatefulPartitionedCall_1", double=True)
    expect(where).to_have_count(2)
    hand.widget.settled()
    shoot(hand.page, "guide_function")
    hand.widget.click("StatefulPartitionedCall", double=True)
    expect(where).to_have_count(3)
    breadcrumb = reader.notebook.kernel_eval("list(editor.view.breadcrumb)")
    reader.run(reader.at + 1)
    assert reader.notebook.kernel_eval("list(editor.view.breadcrumb)") == breadcrumb


@pytest.mark.slow  # a further part that is marked and cloned
@pytest.mark.parametrize("reader", ["11_siamese_and_ensemble"], indirect=True)
def test_the_twin_that_is_clicked_is_taken_by_the_answer(reader: Reader) -> None:
    hand = reader.run_to_answer(shown=3)
    mark(hand, "x", "net/out")
    hand.widget.tab("Selection")
    form = hand.root.locator(".tgw-clone")
    hand.root.get_by_role("textbox", name="scope").fill("twin")
    form.get_by_label("Variables").select_option("shared with original")
    form.get_by_text("More options").click()
    form.get_by_label(re.compile("New placeholders for inputs")).check()
    lines = cloned(hand)
    shoot(hand.page, "guide_twin")
    assert len(lines) == 1
    reader.run(reader.at + 1)
    assert reader.notebook.kernel_eval("list(editor.history.lines)") == lines


@pytest.mark.parametrize(
    "path",
    slow_if(
        lambda path: path.stem != "13_first_steps_with_keras", sorted(NOTEBOOKS.glob("*.ipynb"))
    ),
    ids=lambda path: path.stem,
)
def test_run_all_draws_each_editor(path: Path, page: Page, jupyter_server: JupyterServer) -> None:
    notebook = open_notebook(page, jupyter_server, copy_notebook(jupyter_server, path))
    if path.stem == "01_clone_by_clicking":  # it goes on once the reader has pressed Clone
        with pytest.raises(AssertionError, match=r"no copy 'copy'.* clone a part first"):
            notebook.run_all(WHOLE)
    else:
        notebook.run_all(WHOLE)
    shows = notebook.panel.locator(".tfgraphwidget").all()
    assert shows
    for shown in shows:
        expect(shown).to_have_attribute("data-status", "ready")
        assert int(shown.get_attribute("data-items") or 0) > 0
