"""The other process of test_travel.py: reads pickled editors, runs and undoes each, and writes what
came out.

`python -m tests.editor.arrival FOLDER` reads `*.pickle` there.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


def results(editor: Any) -> list[list[float]]:
    """What the edited function or graph computes of ones, in no order: that of a graph's ends is
    that of its ops.
    """
    tensors = tf.nest.flatten(editor.to_module()(tf.ones([2, 4])))
    return sorted(np.asarray(tensor).ravel().tolist() for tensor in tensors)


def state(editor: Any) -> dict[str, Any]:
    """What is compared of an editor: its edits, its ops, its results, what is marked, and these
    after undo.
    """
    found: dict[str, Any] = {
        "lines": editor.history.lines,
        "names": sorted(editor._core.index.names),
        "path": list(editor.view.breadcrumb[1:]),
        "inputs": sorted(editor.inputs),
        "outputs": sorted(editor.outputs),
        "results": results(editor),
        "notices": editor.source.notices,
    }
    editor.history.goto(0)
    found["before"] = results(editor), sorted(editor._core.index.names)
    return found


if __name__ == "__main__":
    for path in sorted(Path(sys.argv[1]).glob("*.pickle")):
        with path.open("rb") as file:
            path.with_suffix(".json").write_text(json.dumps(state(pickle.load(file))))
