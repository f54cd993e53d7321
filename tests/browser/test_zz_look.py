from playwright.sync_api import Page, expect
from tests.browser.hands import Widget
from tests.browser.lab import open_notebook, write_notebook

def test_values(page: Page, jupyter_server) -> None:
    code = """import tensorflow as tf, tfgraphwidget as tgw
g = tf.Graph()
with g.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [None, 2], name='x')
    w = tf.compat.v1.get_variable('w', [2, 2])
    y = tf.matmul(x, w, name='y')
    init = tf.compat.v1.global_variables_initializer()
sess = tf.compat.v1.Session(graph=g)
sess.run(init)
editor = tgw.edit(sess)
editor"""
    nb = open_notebook(page, jupyter_server, write_notebook(jupyter_server, "v.ipynb", [code]))
    w = Widget(nb, nb.run_cell(0).locator(".tfgraphwidget").first)
    w.click("x", "Shift"); w.settled(); w.click("y", "Alt"); w.settled()
    sel = w.root.locator("select[name=init]")
    print("VALUES", nb.kernel_eval("editor.values()"), sel.input_value())
    sel.select_option("none")
    w.clone("t"); w.settled()
    print("AFTER", sel.input_value(), w.status.inner_text())
    ins = w.root.locator(".tgw-inspector")
    w.click("x"); w.settled()
    print("x:", ins.inner_text().count("t/y"), "late" in ins.inner_text())
    nb.kernel_eval("0", before="with g.as_default(): tf.square(x, name='late')\neditor.refresh()")
    expect(ins).to_contain_text("late"); print("grown ok")
    w.root.get_by_role("treeitem").filter(has_text="t").first
    nb.kernel_eval("0", before="editor.open('t')"); w.settled()
    w.click("t/y"); w.settled(); print("ins", ins.get_attribute("data-name"))
    w.page.keyboard.press("Control+z"); 
    expect(ins).to_contain_text("Click an op"); w.settled(); print("undone:", w.status.inner_text())
