"""Run by the Python of an environment that the package was installed into: it is there, all of it,
and works.
"""

import importlib.metadata
import sys
from pathlib import Path

import numpy as np

import tfgraphwidget as tgw

assert "tensorflow" not in sys.modules

import tensorflow as tf  # noqa: E402 (not before the line above)

v1 = tf.compat.v1
package = Path(tgw.__file__).parent
assert package.is_relative_to(sys.argv[1]), f"{package} is not the one that was installed"
assert importlib.metadata.version("tfgraphwidget") == tgw.__version__

graph = tf.Graph()
with graph.as_default():
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    w = v1.get_variable("net/w", [2, 2], initializer=v1.ones_initializer())
    y = tf.matmul(x, w, name="net/y")
    session = v1.Session()
    session.run(v1.global_variables_initializer())
editor = tgw.edit(graph, session=session)
copy = editor.clone(inputs=["x:0"], outputs=["net/y:0"], into="copy")
a, b = session.run([y, copy["net/y:0"]], {x: np.ones((1, 2))})
assert np.array_equal(a, b)
assert len(copy.variables) == 1
assert len(editor.view.widget._esm) > 50_000
assert "<svg" in editor.view.to_svg()
editor.save("edited.pb")
sys.stdout.write(f"works {sys.version_info[:2]}\n")
