"""The gallery and the pages to try in a browser, made of graphs.

    python -m tests.docs.gallery [NAME ...]

writes docs/gallery.md, and all pictures in docs/gallery and docs/explanation, or those named.

`play_pages` gives the pages that the site has besides: what `editor.save("….html")` writes, which
needs no kernel.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from PIL import Image

import tfgraphwidget as tgw
from tfgraphwidget.editor import GraphEditor

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "gallery"
MODELS = ROOT / "notebooks" / "models"
EXPLANATION = ROOT / "docs" / "explanation"
WIDEST = 1200
"""Pixels that a picture is wide and high at most; the site shows some 700 of them."""
_SOFTMAX = "net/InceptionV3/Predictions/Softmax:0"


@dataclass(frozen=True)
class Picture:
    """A drawing: what it shows, where it leads, and how the editor is brought there."""

    name: str
    caption: str
    link: str
    open: Callable[[], GraphEditor]


def _inception() -> GraphEditor:
    return tgw.edit(MODELS / "slim_inception_v3_infer.meta")


def _inception_marked() -> GraphEditor:
    editor = _inception()
    editor.mark("input:0", _SOFTMAX)
    return editor


def _clone() -> GraphEditor:
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="copy")
    editor.view.expand("net", "net/hidden", "copy", "copy/net", "copy/net/hidden")
    return editor


def _part_and_clone() -> GraphEditor:
    editor = _clone()
    editor.mark("x:0", "net/logits:0")
    return editor


def _changed() -> GraphEditor:
    editor = _bypassed()
    editor.view.color_by("diff")
    return editor


def _function() -> GraphEditor:
    import tensorflow as tf

    inner = tf.function(lambda x: tf.nn.relu(x) * 2.0)

    @tf.function
    def outer(x: Any) -> Any:
        return tf.reduce_sum(inner(x) + inner(x + 1.0))

    return tgw.edit(outer, signature=[tf.TensorSpec([None, 4], name="x")])


def _body() -> GraphEditor:
    editor = _function()
    editor.view.enter("PartitionedCall")
    return editor


def _blocks() -> GraphEditor:
    editor = _inception()
    editor.view.expand("net/InceptionV3", "net/InceptionV3/InceptionV3")
    return editor


def _expensive() -> GraphEditor:
    editor = _blocks()
    editor.view.color_by("FLOPs")
    return editor


def _difference() -> GraphEditor:
    folder = Path(tempfile.mkdtemp())
    editor = tgw.edit(
        tgw.example().save(folder / "before.pb", outputs=["net/logits:0"], frozen=True)
    )
    editor.replace_all("Relu(x)", "LeakyRelu(x, alpha=0.2)")
    editor.insert("net/logits:0", "Softmax")
    editor.view.color_by("diff")
    editor.view.expand("net", "net/hidden")
    return editor


def _dqn() -> GraphEditor:
    editor = tgw.edit(MODELS / "dqn_online_train.meta")
    editor.view.expand("online")
    return editor


def _translator() -> GraphEditor:
    return tgw.edit(MODELS / "seq2seq_v1.meta")


def _network(build: Callable[[Any, Any], None]) -> GraphEditor:
    """A graph of TensorFlow 1 that a function makes, with a session."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        build(tf, tf.compat.v1)
        session = tf.compat.v1.Session(graph=graph)
        session.run(tf.compat.v1.global_variables_initializer())
    return tgw.edit(graph, session=session)


def _with_dropout(tf: Any, v1: Any) -> None:
    x = v1.placeholder(tf.float32, [None, 8], name="x")
    with v1.variable_scope("net"):
        hidden = tf.nn.relu(tf.matmul(x, v1.get_variable("w1", [8, 16])), name="hidden")
        dropped = v1.nn.dropout(hidden, rate=0.5, name="dropout")
        tf.matmul(dropped, v1.get_variable("w2", [16, 3]), name="logits")


def _dropout() -> GraphEditor:
    editor = _network(_with_dropout)
    editor.view.expand("net", "net/dropout")
    return editor


def _bypassed() -> GraphEditor:
    editor = _network(_with_dropout)
    editor.bypass("net/dropout/")
    editor.view.expand("net", "net/dropout")
    return editor


def _bytes() -> GraphEditor:
    import tensorflow as tf

    def build(tf: Any, v1: Any) -> None:
        image = v1.placeholder(tf.float32, [None, 16, 16, 3], name="image")
        kernel = v1.get_variable("kernel", [3, 3, 3, 8])
        features = tf.nn.relu(tf.nn.conv2d(image, kernel, 2, "SAME"), name="features")
        tf.reduce_mean(features, axis=[1, 2], name="scores")

    def decode(files: Any) -> Any:
        def one(file: Any) -> Any:
            return tf.image.resize(tf.io.decode_jpeg(file, channels=3), [16, 16]) / 255.0

        return tf.map_fn(one, files, fn_output_signature=tf.float32)

    editor = _network(build)
    editor.insert("image:0", decode, into="decode", spec=tf.TensorSpec([None], tf.string))
    return editor


def _twins() -> GraphEditor:
    editor = tgw.example()
    editor.clone("x:0", "net/logits:0", into="twin", variables="shared", placeholders=True)
    editor.view.expand("net", "twin", "twin/net")
    return editor


def _child() -> GraphEditor:
    def formula(tf: Any, v1: Any) -> None:
        x = v1.placeholder(tf.float32, [None, 1], name="x")
        with tf.name_scope("mother"):
            y = tf.sin(x * v1.Variable([[2.0]], name="c"))
        with tf.name_scope("father"):
            z = tf.tanh(tf.square(x) + v1.Variable([[0.3]], name="c"))
        tf.add(y, z, name="y")

    editor = _network(formula)
    editor.view.expand("mother", "father")
    return editor


PICTURES = (
    Picture("inception", "Inception v3 from a `.meta` file", "play/inception.html", _inception),
    Picture("marked", "A part, marked by its boundary", "how-to/select.md", _inception_marked),
    Picture("clone", "A clone next to its original", "how-to/clone.md", _clone),
    Picture("costs", "What each op costs, as colors", "how-to/costs.md", _expensive),
    Picture("difference", "What differs between two files", "how-to/compare.md", _difference),
    Picture("q-network", "A deep Q-network, training", "how-to/sync.md", _dqn),
    Picture("translator", "Loops of a translator", "play/translator.html", _translator),
    Picture("dropout", "Dropout in a network", "how-to/edit.md", _dropout),
    Picture("bypassed", "… and bypassed, in a running session", "how-to/edit.md", _bypassed),
    Picture("bytes", "JPEG decoding in front of a model", "how-to/input-size.md", _bytes),
    Picture("twins", "Siamese twins, which share weights", "how-to/clone.md", _twins),
    Picture("formula", "A formula, bred of two", "how-to/other-graph.md", _child),
)
EXPLANATIONS = (
    Picture(
        "clones",
        "The marked part, hatched variables read by it, and its clone",
        "clones.md",
        _part_and_clone,
    ),
    Picture(
        "sessions",
        "Dropout is bypassed: what nothing reads any more is dashed",
        "sessions.md",
        _changed,
    ),
    Picture(
        "functions",
        "A graph with two calls of a function, each with a link",
        "functions.md",
        _function,
    ),
    Picture("body", "The body of that function", "functions.md", _body),
    Picture("drawing", "Inception v3, with its blocks, badges and shapes", "drawing.md", _blocks),
)
"""Pictures of the pages that explain, each with its caption and the page."""
PAGES: dict[str, Callable[[], GraphEditor]] = {
    "example": _clone, "inception": _inception_marked, "translator": _translator, "q-network": _dqn,
}  # fmt: skip
"""What can be tried in a browser."""


def page() -> str:
    """The text of docs/gallery.md."""
    shown = [
        f"\n## {p.caption}\n\n[![{p.caption}](gallery/{p.name}.png)]({p.link})" for p in PICTURES
    ]
    links = " · ".join(f"[{name}](play/{name}.html)" for name in PAGES)
    return "\n".join(
        [
            "# Gallery",
            "",
            f"To try in your browser, with nothing to install: {links}.",
            'These are pages that `editor.save("view.html")` writes. Expand, search and inspect;',
            "press **Input** and click an op, then **Output** and click another: the part between",
            "them is selected, and the tab *Selection* has the line of Python that clones it.",
            "`make docs` puts the pages into the site.",
            *shown,
            "",
            "`python -m tests.docs.gallery` writes the pictures.",
            "",
        ]
    )


def drawn(editor: GraphEditor) -> bytes:
    """The drawing as a PNG of 256 colors, at most WIDEST pixels wide.

    Args:
        editor: The editor, with its scopes open as they are to be shown.
    """
    with tempfile.TemporaryDirectory() as folder:
        picture = Image.open(editor.save(Path(folder) / "picture.png")).convert("RGB")
    picture.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
    data = io.BytesIO()
    picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        data, "PNG", optimize=True
    )
    return data.getvalue()


_WAY_BACK = '</h1><a href="../gallery.html">Back to the gallery</a></header>'
"""Of a page of the site; one that is saved elsewhere has no gallery to go to."""


def play_pages() -> Iterable[tuple[str, str]]:
    """The pages to try in a browser: path in the site, and HTML."""
    with tempfile.TemporaryDirectory() as folder:
        for name, make in PAGES.items():
            saved = make().save(Path(folder) / f"{name}.html").read_text(encoding="utf-8")
            yield f"play/{name}.html", saved.replace("</h1></header>", _WAY_BACK, 1)


def main(names: list[str]) -> None:
    """Write the page and the pictures."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER.parent / "gallery.md").write_text(page(), encoding="utf-8")
    for folder, pictures in ((FOLDER, PICTURES), (EXPLANATION, EXPLANATIONS)):
        for picture in pictures:
            if not names or picture.name in names:
                data = drawn(picture.open())
                (folder / f"{picture.name}.png").write_bytes(data)
                sys.stdout.write(f"{picture.name}.png: {len(data):,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
