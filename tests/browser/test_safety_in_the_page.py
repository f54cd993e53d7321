"""What may not run in the page: a notebook's saved outputs before it is trusted, and text as code
or markup, ever.
"""

from __future__ import annotations

import json
from typing import Any

import ipywidgets
import nbformat
import pytest
from nbformat.sign import NotebookNotary
from playwright.sync_api import Page, expect

import tfgraphwidget as tgw
from tests.browser.hands import Widget
from tests.browser.lab import KERNEL_SPEC, OpenNotebook, open_notebook, shoot
from tests.browser.server import App, JupyterServer
from tests.browser.test_panel import open_panel
from tests.browser.test_widget import shown
from tests.conftest import build_mlp
from tests.slow import slow

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def leaves(name: str) -> str:
    """JavaScript that leaves its name where the test looks."""
    return f"(window.pwned ??= []).push(`{name}`);"


ACTIVE = "svg, script, canvas, iframe, .tfgraphwidget, [onerror], [onload]"
PWNED = "() => window.pwned ?? []"
ESM = f"""{leaves("module")}
export default {{ initialize() {{ {leaves("initialize")} }},
    render() {{ {leaves("render")} }} }};"""
HTML = f"""<p>saved</p><script>{leaves("script")}</script>
<img src="data:," onerror="{leaves("onerror")}">"""
# anywidget makes a module of a widget's code in this way.
COUNT_MODULES = """
window.modules = 0;
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => {
    if (blob.type?.includes("javascript")) window.modules++;
    return make.call(URL, blob);
};
"""
# Whether Jupyter's widgets are done with what the notebook has saved of them.
RESTORED = """async (mime) => {
    const { rendermime } = window.jupyterapp.shell.currentWidget.content;
    return (await rendermime.createRenderer(mime)._manager.promise).restoredStatus;
}"""


def saved_notebook() -> Any:
    """A notebook as it is saved with its widgets; the widget's code, its picture and a third output
    are hostile.
    """
    editor = tgw.edit(build_mlp(resource=True))
    data, *_ = editor._repr_mimebundle_()
    widget = editor.view.widget
    widget._esm = ESM
    state = ipywidgets.Widget.get_manager_state(widgets=[widget, widget.layout])
    picture = editor.view.to_svg().replace("<svg ", f'<svg onload="{leaves("svg onload")}" ', 1)
    picture = picture.replace("</svg>", f"<script>{leaves('svg script')}</script></svg>")
    shown = [
        data,
        {"image/svg+xml": picture, "text/plain": "a picture"},
        {"text/html": HTML, "text/plain": "a page"},
    ]
    outputs = [
        nbformat.v4.new_output("display_data", data=json.loads(json.dumps(one))) for one in shown
    ]
    cell = nbformat.v4.new_code_cell("raise SystemExit", outputs=outputs, execution_count=1)
    cell.metadata["trusted"] = True  # nothing that a file says of itself counts
    return nbformat.v4.new_notebook(
        cells=[cell], metadata={"kernelspec": KERNEL_SPEC, "widgets": {STATE: state}}
    )


def opened(page: Page, server: JupyterServer, name: str, app: App, trusted: bool) -> OpenNotebook:
    """That notebook on the page, when Jupyter's widgets are done with what it has saved."""
    text = json.dumps(saved_notebook())
    (server.root / name).write_text(text)
    if trusted:
        # What `jupyter trust` does, with the server's own secret.
        NotebookNotary(data_dir=str(server.home / "data")).sign(nbformat.reads(text, as_version=4))
    page.add_init_script(COUNT_MODULES)
    notebook = open_notebook(page, server, name, app)
    page.wait_for_function(RESTORED, arg=VIEW)
    return notebook


@pytest.mark.parametrize("app", ["lab", slow("notebook")])
@pytest.mark.sample(1)
def test_a_notebook_that_is_not_trusted_runs_nothing(
    page: Page, jupyter_server: JupyterServer, app: App
) -> None:
    """Neither in the page nor in the kernel, though the notebook has saved a widget with code of
    its own.

    What Jupyter does by itself (jupyterlab_widgets 3.0, anywidget 0.11): outputs are shown in their
    safe form only, so the widget is not drawn, its picture is not either, HTML comes without
    scripts. But the widgets' saved state in the notebook's metadata is restored whether the
    notebook is trusted or not, and anywidget loads the `_esm` of a model that is restored and calls
    `initialize`, drawn or not: the code of whoever wrote the notebook would run. What keeps it from
    that is our extension: labextension/src/jupyterlab/untrusted-notebooks.ts.
    """
    notebook = opened(page, jupyter_server, f"untrusted_{app}.ipynb", app, trusted=False)
    output = notebook.output(0)
    expect(output.locator("p").filter(has_text="saved")).to_be_visible()
    kinds = output.locator("[data-mime-type]").evaluate_all(
        "found => found.map(one => one.dataset.mimeType)"
    )
    shoot(page, f"untrusted_{app}")
    assert kinds == ["text/plain", "text/plain", "text/html"]
    assert output.locator(".jp-OutputArea-output").locator(ACTIVE).count() == 0
    assert page.evaluate("() => window.modules") == 0
    kernel = (
        "[__import__('IPython').get_ipython().execution_count, 'tfgraphwidget' in "
        "__import__('sys').modules]"
    )
    assert notebook.kernel_eval(kernel) == [1, False]
    assert page.evaluate(PWNED) == []
    # The saved widgets are still there for when it is trusted.
    kept = "() => window.jupyterapp.shell.currentWidget.model.sharedModel.getMetadata('widgets')"
    assert list(page.evaluate(kept)[STATE]["state"])


@pytest.mark.slow
def test_a_notebook_that_is_trusted_shows_what_it_has_saved(
    page: Page, jupyter_server: JupyterServer
) -> None:
    """The same file with a signature: so the test above would notice code that runs. The picture is
    inert even so.
    """
    notebook = opened(page, jupyter_server, "trusted.ipynb", "lab", trusted=True)
    page.wait_for_function(
        "() => ['render', 'script', 'onerror'].every(name => window.pwned?.includes(name))"
    )
    assert page.evaluate("() => window.modules") == 1
    picture = notebook.output(0).locator("[data-mime-type='image/svg+xml'] img")
    assert picture.evaluate("async img => { await img.decode(); return img.naturalWidth > 0; }")
    assert sorted(page.evaluate(PWNED)) == ["initialize", "module", "onerror", "render", "script"]


# Everything that makes code or markup of text notes from where it is called: the frame above it, in
# files of ours.
RECORD = r"""
window.recorded = [];
window.others = 0;
const note = (what) => {
    const [, , , caller = ""] = new Error().stack.split("\n");
    if (/blob:|\/extensions\/tfgraphwidget\//.test(caller))
        window.recorded.push(`${what} ${caller.trim()}`);
    else window.others++;
};
const setters = [[Element, "innerHTML"], [Element, "outerHTML"], [ShadowRoot, "innerHTML"],
    [HTMLIFrameElement, "srcdoc"]];
for (const [{ prototype }, name] of setters) {
    const { get, set } = Object.getOwnPropertyDescriptor(prototype, name);
    const noted = function (text) { note(name); set.call(this, text); };
    Object.defineProperty(prototype, name, { get, set: noted, configurable: true });
}
const calls = [[Element.prototype, "insertAdjacentHTML"], [Element.prototype, "setHTMLUnsafe"],
    (
        [Document.prototype, "write"],
        [Document.prototype, "writeln"],
        [Range.prototype, "createContextualFragment"],
    )
    [DOMParser.prototype, "parseFromString"], [window, "eval"]];
for (const [place, name] of calls) {
    const real = place[name];
    if (real) place[name] = function (...given) { note(name); return real.apply(this, given); };
}
const timers = ["setTimeout", "setInterval"];
for (const name of timers) {
    const real = window[name];
    window[name] = function (run, ...given) {
        if (typeof run !== "function") note(name);
        return real.call(this, run, ...given);
    };
}
for (const real of [Function, (async () => {}).constructor, (function* () {}).constructor]) {
    const makes = {
        apply(target, self, given) { note("Function"); return Reflect.apply(target, self, given); },
        construct(target, given, made) {
            note("Function");
            return Reflect.construct(target, given, made);
        },
    };
    const noted = new Proxy(real, makes);
    Object.defineProperty(real.prototype, "constructor",
        { value: noted, configurable: true, writable: true });
    if (real === Function) window.Function = noted;
}
"""
PLANTED = """
const place = document.createElement("p");
const inside = document.createElement("i");
place.append(inside);
place.innerHTML = "<b></b>";
place.firstChild.outerHTML = "<i></i>";
place.insertAdjacentHTML("beforeend", "<i></i>");
document.createRange().createContextualFragment("<i></i>");
document.implementation.createHTMLDocument("").write("<i></i>");
new DOMParser().parseFromString("<i></i>", "text/html");
eval("1");
setTimeout("1");
new Function("return 1")();
(() => {}).constructor("return 1")();
"""
NOTED = [
    "innerHTML", "outerHTML", "insertAdjacentHTML", "createContextualFragment", "write",
    "parseFromString", "eval", "setTimeout", "Function", "Function",
]  # fmt: skip
PLANT = """async (code) => {
    const url = URL.createObjectURL(
        new Blob([code + "export default 1;"], { type: "text/javascript" }));
    await import(url);
}"""
RECORDED = "() => window.recorded"


def clone_by_clicking(widget: Widget) -> None:
    """Input with Shift, output with Alt, the button."""
    widget.click("x", "Shift")
    widget.settled()
    widget.click("y", "Alt")
    widget.settled()
    widget.clone("copy")
    expect(widget.status).to_contain_text("into 'copy'", timeout=30_000)
    widget.settled()


def test_nothing_of_ours_makes_code_or_markup_of_text(
    page: Page, jupyter_server: JupyterServer
) -> None:
    """What tests/test_safety.py looks for in the sources, watched while an editor and the panel are
    used.
    """
    page.add_init_script(RECORD)
    page.set_viewport_size({"width": 1600, "height": 900})
    widget = shown(page, jupyter_server, "recorded")
    root = widget.root
    root.get_by_role("combobox", name="Find ops").fill("two/prod")
    expect(root.locator(".tgw-hits [role=option]").first).to_have_attribute(
        "data-name", "two/product"
    )
    page.keyboard.press("Enter")
    expect(root.locator(".tgw-inspector")).to_have_attribute("data-name", "two/product")
    widget.settled()
    page.keyboard.press("Escape")
    root.focus()
    page.keyboard.press("f")
    clone_by_clicking(widget)
    root.focus()
    page.keyboard.press("?")
    expect(root.get_by_role("dialog", name="Keys and gestures")).to_be_visible()
    page.keyboard.press("Escape")
    panel = open_panel(widget.notebook)
    panel.says("Which graph?").locator(".tgw-pane-row").first.click()
    panel.widget()
    assert page.evaluate("() => window.recorded") == []
    assert page.evaluate("() => window.others") > 0  # JupyterLab's own

    page.evaluate(PLANT, PLANTED)
    page.add_script_tag(
        content=f"{PLANTED}\n//# sourceURL=/lab/extensions/tfgraphwidget/static/planted.js"
    )
    recorded = page.evaluate("() => window.recorded")
    assert [one.split()[0] for one in recorded] == NOTED + NOTED


@pytest.mark.slow
def test_a_clone_by_clicking_in_notebook_7_is_in_the_kernel(
    page: Page, jupyter_server: JupyterServer
) -> None:
    widget = shown(page, jupyter_server, "seven_clones", app="notebook")
    notebook = widget.notebook
    clone_by_clicking(widget)
    shoot(page, "notebook_7_cloned")
    assert notebook.kernel_eval("list(editor.history.lines)") == [
        'copy = editor.clone(inputs=["x"], outputs=["y"], into="copy")'
    ]
    names = (
        "sorted(op.name for op in graph.get_operations() if op.name in {'copy/y', "
        "'copy/two/product'})"
    )
    assert notebook.kernel_eval(names) == ["copy/two/product", "copy/y"]
    values = "a, b = sess.run(['y:0', 'copy/y:0'], {'x:0': np.ones((2, 4))})"
    assert notebook.kernel_eval("[bool((a == b).all()), a.shape]", before=values) == [True, [2, 4]]
    expect(widget.root.locator("[role=treeitem][data-name=copy]")).to_have_attribute(
        "data-fresh", ""
    )
