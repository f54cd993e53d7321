"""What a clone would do, read before the click: own or shared for each variable, and a loop that
would be cut.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, set_theme, shoot, write_notebook
from tests.browser.server import JupyterServer
from tests.browser.test_widget import shown

pytestmark = pytest.mark.one_page

LOOP = """
import tensorflow as tf
import tfgraphwidget as tgw
v1 = tf.compat.v1
v1.disable_control_flow_v2()
graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [], name="x")
    rate = v1.get_variable("rate", [], initializer=v1.ones_initializer())
    y = tf.identity(
        v1.while_loop(lambda i, _: i < 5, lambda i, v: (i + 1, v * rate + 1.0), [0, x])[1], name="y"
    )
    init = v1.global_variables_initializer()
sess = v1.Session(graph=graph)
sess.run(init)
editor = tgw.edit(graph, session=sess)
editor.view.widget.height = 480
"""


def report(widget: Widget) -> Locator:
    """The preview, once it is about what is chosen now."""
    preview = widget.root.locator(".tgw-preview")
    expect(preview).to_have_attribute("aria-busy", "false", timeout=30_000)
    return preview


def fits(widget: Widget) -> None:
    """Nothing in the side panel is cut off, or needs to be moved sideways."""
    wide = widget.root.locator(".tgw-panel").evaluate(
        """panel => [panel, ...panel.querySelectorAll("*")]
            .filter(each => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
            .filter(each => each === panel ||
                !["hidden", "auto"].includes(getComputedStyle(each).overflowX))
            .map(each => `${each.tagName}.${each.className}: ${each.textContent.slice(0, 40)}`)"""
    )
    assert wide == []


@pytest.mark.slow
def test_a_preview_is_read_and_one_variable_is_shared(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "previewed")
    root = widget.root
    widget.click("x", "Shift")
    widget.settled()
    widget.click("y", "Alt")
    widget.settled()
    preview = report(widget)
    expect(preview).to_contain_text("into copy.")
    expect(preview).to_contain_text("3 own variables")
    expect(preview).to_contain_text("1 tensor from outside")
    # What initialises the variables is none.
    expect(preview).not_to_contain_text("ops with side effects")
    ops = widget.notebook.kernel_eval("len(editor.preview(editor.clone, into='copy').ops)")
    expect(preview).to_contain_text(f"Copies {ops} ops into copy")

    # A name leads to its op.
    preview.get_by_text("3 own variables").click()
    preview.get_by_role("button", name="two/w", exact=True).click()
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "two/w")
    widget.settled()

    # One variable is to be the original's.
    root.get_by_text("Choose for each of 3").click()
    switch = root.get_by_role("switch", name="own two/w", exact=True)
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).not_to_be_checked()
    expect(root.get_by_text("2 own, 1 shared")).to_be_visible()
    expect(preview).to_contain_text("1 variable still shared")
    expect(report(widget)).to_contain_text("2 own variables")
    expect(switch).to_be_focused()
    fits(widget)
    root.locator(".tgw-clone").scroll_into_view_if_needed()
    shoot(root, "preview")
    set_theme(page, dark=True)
    shoot(root, "preview-dark")
    set_theme(page, dark=False)

    root.get_by_role("button", name="Clone", exact=True).click()
    root.get_by_role("button", name="Details").click()
    expect(root.get_by_text("Still shared with the original: two/w.")).to_be_visible()
    widget.settled()
    made = widget.notebook.kernel_eval(
        "[list(editor['copy'].shared), [v.name for v in editor['copy'].variables]]"
    )
    assert made == [["two/w"], ["copy/one/w:0", "copy/three/w:0"]]
    line = (
        'copy = editor.clone(inputs=["x"], outputs=["y"], into="copy", variables={"two/w": '
        '"shared"})'
    )
    assert widget.notebook.kernel_eval("list(editor.history.lines)") == [line]


@pytest.mark.slow
def test_chosen_ops_are_cloned_without_a_boundary(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "chosen")
    root = widget.root
    widget.click("two", "Control")
    widget.settled()
    preview = report(widget)
    expect(preview).to_contain_text("1 own variable")

    root.get_by_text("More options").click()
    root.get_by_role("switch", name="New placeholders for inputs").check()
    shoot(root, "preview-options")
    root.get_by_role("spinbutton", name="Copies").fill("2")
    expect(preview).to_contain_text("2 times, into copy_0 to copy_1")
    expect(preview).to_contain_text("1 new placeholder for inputs")
    expect(preview).to_contain_text("1 own variable in each copy")
    root.get_by_text("More: new placeholders for inputs, copies: 2").click()
    fits(widget)

    # A taken name is refused before the click.
    scope = root.get_by_role("textbox", name="scope")
    root.get_by_text("More: new placeholders for inputs, copies: 2").click()
    root.get_by_role("spinbutton", name="Copies").fill("")
    scope.fill("one")
    expect(preview).to_contain_text("The name 'one' is taken in this graph; 'one_1' is free.")
    shoot(root, "preview-refused")
    scope.fill("tower")
    expect(preview).to_contain_text("into tower.")
    scope.press("Enter")
    expect(widget.status).to_contain_text("Cloned", timeout=30_000)
    widget.settled()
    assert widget.notebook.kernel_eval("list(editor._core.executor.copies)") == ["tower"]
    assert widget.notebook.kernel_eval("editor['tower'].graph is graph") is True
    assert widget.notebook.kernel_eval("editor.history.lines[0]").startswith(
        "tower = editor.clone(editor.ops(scope='two'), "
    )


@pytest.mark.slow
def test_half_a_loop_is_refused_and_the_whole_is_offered(
    page: Page, jupyter_server: JupyterServer
) -> None:
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "cut.ipynb", [LOOP, "editor"])
    )
    notebook.run_cell(0)
    root = notebook.run_cell(1).locator(".tfgraphwidget")
    root.scroll_into_view_if_needed()
    widget = Widget(notebook, root)
    notebook.kernel_eval("0", before="editor.mark('while/Identity_1', 'y')")
    widget.settled()
    preview = report(widget)
    widget.tab("Selection")
    expect(preview).to_contain_text("while loop 'while/while_context'")
    shoot(root, "preview-loop")
    preview.get_by_role("button", name="Select the whole loop").click()
    widget.settled()
    expect(report(widget)).to_contain_text("into copy.")
    root.get_by_role("button", name="Clone", exact=True).click()
    expect(widget.status).to_contain_text("Cloned", timeout=30_000)
    widget.settled()
    values = "with graph.as_default():\n    z = editor['copy']['while/Exit_1:0']\n"
    assert notebook.kernel_eval(
        "[float(v) for v in sess.run([y, z], {x: 2.0})]", before=values
    ) == [7.0, 7.0]
