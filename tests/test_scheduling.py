"""Workers share the tests: one begins with those of the browser, and who is done helps the
others.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import LONG, ROOT, LongestFirst

pytestmark = pytest.mark.no_tensorflow


class Worker:
    """What a scheduler sees of a worker: it is sent numbers of tests."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.waiting, self.files = list[int](), dict[str, None]()

    def send_runtest_some(self, numbers: list[int]) -> None:
        self.waiting += numbers

    def shutdown(self) -> None:
        self.shutting_down = True


def shared(seconds: dict[str, int], count: int = 2) -> list[list[str]]:
    """The files that each worker has run, in their order; `seconds` is what each test of a file
    takes.
    """
    config: Any = SimpleNamespace(
        getvalue=lambda _: [f"{count}*popen"], option=SimpleNamespace(loadscopereorder=True)
    )
    tests = [f"{file}::test_{k}" for file in seconds for k in range(3)]
    scheduler = LongestFirst(config, None)
    workers = [Worker(f"{number}") for number in range(count)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    busy_until = dict.fromkeys(workers, 0)
    while any(worker.waiting for worker in workers):
        worker = min((worker for worker in workers if worker.waiting), key=busy_until.__getitem__)
        number = worker.waiting.pop(0)
        file = tests[number].partition("::")[0]
        worker.files[file] = None
        busy_until[worker] += seconds[file]
        scheduler.mark_test_complete(worker, number)
    return [list(worker.files) for worker in workers]


BROWSER = [f"tests/browser/test_{k}.py" for k in range(6)]
OTHERS = [f"tests/edits/test_{k}.py" for k in range(5)]


@pytest.mark.parametrize(
    ("browser", "others"),
    [(5, 5), (10, 1), (1, 10)],
    ids=["both alike", "the browser longer", "all else longer"],
)
def test_each_worker_begins_with_its_own_and_ends_with_what_is_left(
    browser: int, others: int
) -> None:
    files = dict.fromkeys(BROWSER, browser) | dict.fromkeys([*OTHERS, LONG[1]], others)
    first, second = shared(files)
    assert sorted([*first, *second]) == sorted(files)
    assert first[0] in BROWSER
    assert second[0] == LONG[1]
    helped = (
        [file for file in second if file in BROWSER],
        [file for file in first if file not in BROWSER],
    )
    assert [bool(files) for files in helped] == [browser > others, others > browser]
    assert first[len(first) - len(helped[1]) :] == helped[1], "its own come first"
    assert second[len(second) - len(helped[0]) :] == helped[0]


def test_of_three_workers_one_begins_with_the_browser_and_two_with_what_takes_longest() -> None:
    files = dict.fromkeys([*BROWSER, *OTHERS, LONG[1], LONG[0]], 5)
    first, second, third = shared(files, 3)
    assert sorted([*first, *second, *third]) == sorted(files)
    assert first[0] in BROWSER
    assert [second[0], third[0]] == [LONG[0], LONG[1]]
    assert not {*first[:3]} & {*OTHERS}


def test_the_files_that_begin_first_are_there() -> None:
    assert [file for file in LONG if not (ROOT / file).is_file()] == []
