"""Random clones, each compared with its original: what both compute, and that their variables are
separate.

    python -m tests.stress.clones FIRST NUMBER CLONES [MODEL ...]

makes CLONES clones on each live model, of NUMBER seeds from FIRST on. Now and then an edit is made
between two, so that clones of edited graphs are among them; each clone is undone, which is quicker
than to open the model again.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.rounds import COUNTS, count
from tests.stress.known import unknown
from tests.stress.models import MODELS, Model
from tests.stress.random_edits import Call, Draw
from tests.stress.running import check_copy
from tests.stress.sentences import Broken, refusal_of

_EDITS = (
    "reroute", "bypass", "insert", "detach", "set_constant", "rename", "remove_identities",
    "merge_duplicates", "fold_constants", "replace_all", "call", "add_control_inputs", "swap",
    "clone",
)  # fmt: skip
_SHARE_OF_EDITS = 0.15
_OPTIONS = ("into", "variables", "init", "placeholders", "times")


def clone_at_random(model: Model, seed: int, clones: int) -> list[str]:
    """Make clones of random parts, and check each; the reports of those that are wrong.

    Args:
        model: A live one.
        seed: Of the random numbers.
        clones: How many are tried.
    """
    reports: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        editor = model.open(Path(folder))
        draw, made = Draw(editor, seed), []
        for _ in range(clones):
            if draw.random.random() < _SHARE_OF_EDITS:
                edit = draw.of(draw.random.choice(_EDITS))
                if refusal_of(lambda edit=edit: edit.on(editor, Path(folder))) is None:
                    made.append(str(edit))
            call = _plain(draw)
            results: list[Any] = []
            if refusal_of(
                lambda call=call, results=results: results.append(call.on(editor, Path(folder)))
            ):
                count("refusals")
                continue
            count("clones")
            try:
                for copy in results[0] if isinstance(results[0], list) else results:
                    check_copy(editor, call.args, call.options, copy)
            except Broken as broken:
                reports.append(
                    unknown(
                        "\n".join([f"{model.name}, seed {seed}:", *made, str(call), f"-> {broken}"])
                    )
                )
            except tf.errors.OpError as error:
                reports.append(
                    f"{model.name}, seed {seed}: {call} -> {type(error).__name__}: "
                    f"{str(error)[:300]}"
                )
            editor.undo()
        if editor._core.source.session is not None:
            editor._core.source.session.close()
    return [report for report in reports if report]


def _plain(draw: Draw) -> Call:
    """A clone of a part between tensors, whose values can be compared."""
    call = draw.of("clone")
    while len(call.args) != 2:
        call = draw.of("clone")
    options = {key: value for key, value in call.options.items() if key in _OPTIONS and value != {}}
    return Call("clone", call.args, options)


def main(first: int, number: int, clones: int, names: Sequence[str]) -> None:
    """Run, and print each failure when it is found, and the sums."""
    models = [model for model in MODELS if model.is_live and (not names or model.name in names)]
    gc.freeze()
    begin, failures = time.monotonic(), 0
    for seed in range(first, first + number):
        for model in models:
            for report in clone_at_random(model, seed, clones):
                failures += 1
                sys.stdout.write(f"{report}\n\n")
        sums = ", ".join(f"{value:,} {what}" for what, value in sorted(COUNTS.items()))
        sys.stdout.write(
            f"seed {seed}, {time.monotonic() - begin:.0f} s, {failures} failures: {sums}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    first, number, clones, *names = sys.argv[1:]
    main(int(first), int(number), int(clones), names)
