"""The harness itself, on a widget of six lines: it waits, it asks the kernel, and it lets nothing
pass.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.lab import open_notebook, set_theme, watched_page, write_notebook

COUNTER = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """export default { render({ model, el }) {
        el.onclick = () => { model.set("clicks", model.get("clicks") + 1); model.save_changes(); };
        el.textContent = "click me";
        el.dataset.status = "ready";
    } }"""
    clicks = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
'''


@pytest.mark.slow
def test_a_click_reaches_the_kernel_in_jupyterlab(page, jupyter_server):
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "lab.ipynb", ["1 + 1", COUNTER])
    )
    notebook.run_all()
    set_theme(page, dark=True)
    notebook.output(1).locator("[data-status=ready]").click()
    assert notebook.kernel_eval("[counter.clicks, extra]", before="extra = 'before ran'") == [
        1,
        "before ran",
    ]
    assert notebook.run_cell(0).inner_text().endswith("2")
    set_theme(page, dark=False)


@pytest.mark.slow
def test_a_page_is_light_whatever_the_test_before_chose(browser, jupyter_server):
    path = write_notebook(jupyter_server, "light.ipynb", ["1"])
    with watched_page(browser, jupyter_server) as page:
        open_notebook(page, jupyter_server, path)
        set_theme(page, dark=True)
    with watched_page(browser, jupyter_server) as page:
        open_notebook(page, jupyter_server, path)
        expect(page.locator("body")).to_have_attribute("data-jp-theme-name", "JupyterLab Light")


@pytest.mark.slow
def test_a_click_reaches_the_kernel_in_notebook_7(page, jupyter_server):
    path = write_notebook(jupyter_server, "seven.ipynb", [COUNTER])
    notebook = open_notebook(page, jupyter_server, path, app="notebook")
    notebook.run_cell(0).locator("[data-status=ready]").click()
    assert notebook.kernel_eval("counter.clicks") == 1


@pytest.mark.slow
def test_a_cell_that_raises_fails(page, jupyter_server):
    notebook = open_notebook(
        page, jupyter_server, write_notebook(jupyter_server, "raises.ipynb", ["1 / 0"])
    )
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_all()
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        notebook.run_cell(0)
    assert "ZeroDivisionError" in notebook.run_cell(0, raises=True).inner_text()
    with pytest.raises(AssertionError, match="nothing_by_this_name"):
        notebook.kernel_eval("nothing_by_this_name")


def use_badly(browser, jupyter_server):
    """All that a page must not do, on a page that is closed at the end."""
    with watched_page(browser, jupyter_server) as page:
        open_notebook(page, jupyter_server, write_notebook(jupyter_server, "bad.ipynb", [""]))
        page.route("http://elsewhere.test/**", lambda route: route.abort())
        page.evaluate(
            "() => fetch('http://elsewhere.test/').catch(() => console.error('said by the test'))"
        )
        with page.expect_event("pageerror"):
            page.evaluate("() => { setTimeout(() => { throw new Error('thrown by the test'); }); }")


@pytest.mark.slow
def test_a_page_that_misbehaves_fails_and_leaves_no_kernel(browser, jupyter_server):
    with pytest.raises(AssertionError) as caught:
        use_badly(browser, jupyter_server)
    assert all(
        part in str(caught.value) for part in ("http://elsewhere.test/", "said by", "thrown by")
    )
    assert jupyter_server.sessions() == set()
