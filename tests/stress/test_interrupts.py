"""Ctrl-C at any moment, in TensorFlow too: a call is made or it is not, and neither session nor
kernel hangs.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stress import ROUNDS, seeds
from tests.stress.functions import halved, shifted
from tests.stress.interrupts import Interrupts, Request
from tests.stress.random_edits import File
from tests.stress.test_faults import BYPASS, CLONE, Case, call

# interrupts of each call in `make test`; 18 calls, so that `make stress N=100` has 10,800
_NUMBER = 6
_FEEDS = {"x:0": [[1.0, 2.0, 3.0, 4.0]], "labels:0": [1]}
CASES = (
    Case("example", CLONE),
    Case("example", call("insert", "net/hidden/Relu:0", "Identity", into="same")),
    # Each on an editor of its own: ops of a Python function that failed keep their names.
    Case("example", call("call", "net/hidden/Relu:0", shifted, into="head"), imports=True),
    Case(
        "example", call("replace_all", "Relu(Add|AddV2(x, b))", halved, into="head"), imports=True
    ),
    Case("example", call("fold_constants")),
    Case("example", call("freeze", "net/logits:0")),
    Case("example", call("undo"), (CLONE, BYPASS)),
    Case("example", call("redo"), (BYPASS, call("undo"))),
    Case("example", call("jump", 0), (CLONE, BYPASS)),
    Case("example", call("save", File("a.pb")), (call("save", File("a.pb")), BYPASS)),
    Case(
        "example",
        call("save", File("saved/"), "x:0", "net/logits:0"),
        (call("save", File("saved/"), "x:0", "net/logits:0"), BYPASS),
    ),
    Case("example", call("probe", ["net/logits:0"], _FEEDS)),
    Case("example", call("measure", ["net/logits:0"], _FEEDS)),
    Case("example", call("compare", _FEEDS), (BYPASS,)),
    Case("example", call("sync", "copy"), (CLONE,)),
    Case("example", call("renew")),
    Case(
        "example",
        Request("clone", (), {"inputs": ["x:0"], "outputs": ["net/logits:0"], "into": "copy"}),
    ),
    Case("example", Request("undo"), (CLONE, BYPASS)),
)


@pytest.fixture(autouse=True)
def _ctrl_c() -> Iterator[None]:
    """Ctrl-C as Python has it, whatever pytest or its workers have made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# TensorFlow's own objects, half made, complain when they are deleted.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.sample(2)
def test_an_interrupt_at_any_moment_leaves_the_old_state_or_the_new_one(
    case: Case, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    interrupts = Interrupts(case, tmp_path, seeds(1)[0])
    failures = [interrupts.failure() for _ in range(_NUMBER * ROUNDS)]
    record_property("longest interrupt", (str(case), interrupts.longest))
    assert not any(failures), "\n".join(filter(None, failures))
    # The few of one round may all fall beside a short call.
    assert interrupts.number_in_the_call or ROUNDS == 1
