"""QueueRunnerDefs of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tfgraphwidget.messages import copy_of
from tfgraphwidget.naming import by_new_name, split_tensor
from tfgraphwidget.tf_types import QueueRunnerDef


def rename_runners(
    runners: Iterable[tuple[str, QueueRunnerDef]], names: Mapping[str, str]
) -> tuple[tuple[str, QueueRunnerDef], ...]:
    """The runners of the copied queues, under the collection keys of the originals; `names` maps
    ops to copies.

    Enqueue ops that are not copied are left out, and a runner without any.
    """
    return tuple(
        (key, copy) for key, runner in runners if (copy := _copy(runner, names)) is not None
    )


def _copy(runner: QueueRunnerDef, names: Mapping[str, str]) -> QueueRunnerDef | None:
    def new(name: str) -> str:
        """The new name of an op or tensor; "" for one that is not copied."""
        return by_new_name(name, names) if split_tensor(name)[0] in names else ""

    copy = copy_of(runner)
    copy.queue_name = new(runner.queue_name)
    copy.enqueue_op_name[:] = filter(None, map(new, runner.enqueue_op_name))
    copy.close_op_name, copy.cancel_op_name = new(runner.close_op_name), new(runner.cancel_op_name)
    whole = copy.queue_name and copy.enqueue_op_name and copy.close_op_name and copy.cancel_op_name
    return copy if whole else None


def map_names(runner: QueueRunnerDef, new_name: Callable[[str], str]) -> QueueRunnerDef:
    """A queue runner whose ops have the names that `new_name` gives them."""
    copy = copy_of(runner)
    copy.enqueue_op_name[:] = map(new_name, runner.enqueue_op_name)
    copy.queue_name = new_name(runner.queue_name)
    copy.close_op_name = new_name(runner.close_op_name)
    copy.cancel_op_name = new_name(runner.cancel_op_name)
    return copy


def op_names(runner: QueueRunnerDef) -> list[str]:
    """The ops that a QueueRunnerDef names."""
    names = (
        runner.queue_name,
        *runner.enqueue_op_name,
        runner.close_op_name,
        runner.cancel_op_name,
    )
    return [split_tensor(name)[0] for name in names if name]
