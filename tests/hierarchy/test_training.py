"""Gradients, optimiser and what serves only them are set apart from the forward pass."""

from __future__ import annotations

import pytest

from tests.visible.test_visible_graph import lines
from tfgraphwidget.visible.view_spec import ViewSpec
from tfgraphwidget.visible.visible_graph import build_visible_graph, default_open

pytestmark = pytest.mark.no_tensorflow

FORWARD = {
    "x": "Placeholder",
    "net/w/initial": "Const",
    "net/w": "VariableV2",
    "net/w/Assign": "Assign net/w net/w/initial",
    "net/w/read": "Identity net/w",
    "net/mul": "MatMul x net/w/read",
    "loss": "L2Loss net/mul",
}
GRADIENTS = {
    "gradients/one": "Const",
    "gradients/loss_grad": "Mul loss gradients/one",
    "gradients/mul_grad": "MatMul x gradients/loss_grad",
}
OPTIMISER = {
    "rate": "Const",
    "beta/initial": "Const",
    "beta": "VariableV2",
    "beta/Assign": "Assign beta beta/initial",
    "beta/read": "Identity beta",
    "Adam/apply": "ApplyAdam net/w beta/read rate gradients/mul_grad",
    "Adam": "NoOp ^Adam/apply",
    "average": "AssignSub net/w net/w/read ^Adam/apply",
}


def parts(index, *opened: str) -> dict[str, int]:
    shown = build_visible_graph(index, ViewSpec(frozenset(opened)))
    return dict(zip(shown.names, shown.part.tolist(), strict=True))


def test_gradients_and_optimiser_are_one_closed_group(graph):
    shown = build_visible_graph(graph(FORWARD | GRADIENTS | OPTIMISER), ViewSpec())
    assert shown.names == ["", "x", "net", "loss", "(training)"]
    at = shown.names.index("(training)")
    assert shown.labels[at] == "training"
    assert shown.part.tolist() == [0, 0, 0, 0, 1]
    assert shown.count[at] == 11


def test_an_op_that_an_edit_puts_into_the_network_is_no_training(graph):
    # An edit adds its op behind all others, like a factor of a gradient; but the network reads it.
    edited = (
        FORWARD | {"loss": "L2Loss net/relu"} | GRADIENTS | {"gradients/shape": "Shape net/relu"}
    )
    seen = parts(graph(edited | OPTIMISER | {"net/relu": "Relu net/mul"}), "net")
    assert seen["net/relu"] == 0


def test_the_open_group_holds_what_serves_only_training(graph):
    seen = parts(graph(FORWARD | GRADIENTS | OPTIMISER), "(training)")
    assert {name for name, part in seen.items() if part} == {
        "(training)",
        "gradients",
        "beta",
        "Adam",
        "average",
        "rate",
    }


def test_one_line_goes_from_the_end_of_the_forward_pass_into_training(graph):
    assert lines(build_visible_graph(graph(FORWARD | GRADIENTS | OPTIMISER), ViewSpec())) == {
        ("x", "net"): 1,
        ("net", "loss"): 1,
        ("loss", "(training)"): 1,
    }


def test_one_gradient_scope_beside_the_network_is_marked_and_needs_no_group(graph):
    assert parts(graph(FORWARD | GRADIENTS)) == {"": 0, "x": 0, "net": 0, "loss": 0, "gradients": 1}


def test_what_gives_an_average_its_first_value_is_training(graph):
    average = {
        "is_initialized": "IsVariableInitialized net/w",
        "now": "Identity net/w",
        "begin": "If is_initialized now net/w/initial",
        "mean": "VariableV2",
        "mean/Assign": "Assign mean begin",
        "save/RestoreV2": "RestoreV2",
        "save/Assign": "Assign mean save/RestoreV2",
        "update": "AssignSub mean net/w/read ^Adam/apply",
    }
    index = graph(FORWARD | GRADIENTS | OPTIMISER | average)
    shown = parts(index)
    assert shown.keys().isdisjoint({"is_initialized", "now", "begin", "mean", "update"}), shown
    assert shown["save"] == 0
    opened = parts(index, "net", "net/w", "(training)")
    assert opened["is_initialized"] == opened["now"] == opened["begin"] == 1
    assert opened["net/w"] == opened.get("net/w/initial", 0) == 0


@pytest.mark.parametrize(
    "taken", ["QueueDequeueV2 queue", "QueueDequeueManyV2 queue", "ReaderReadV2 reader queue"]
)
def test_a_network_that_is_fed_by_a_queue_is_no_training(graph, taken):
    # The queue is filled by an iterator, which alone would be what is fed.
    pipeline = {
        "iterator": "IteratorV2",
        "next": "IteratorGetNext iterator",
        "reader": "TFRecordReaderV2",
        "queue": "FIFOQueueV2",
        "enqueue": "QueueEnqueueV2 queue next",
        "x": taken,
    }
    shown = build_visible_graph(
        graph(pipeline | FORWARD | {"x": taken} | GRADIENTS | OPTIMISER), ViewSpec()
    )
    drawn = dict(zip(shown.names, shown.part.tolist(), strict=True))
    assert drawn["net"] == drawn["loss"] == drawn["x"] == 0, drawn
    assert drawn["(training)"] == 1
    assert {("x", "net"), ("net", "loss"), ("loss", "(training)")} <= lines(shown).keys()


def test_a_loss_that_only_gradients_read_stays_in_the_forward_pass(graph):
    seen = parts(graph(FORWARD | GRADIENTS | OPTIMISER), "net")
    assert seen["loss"] == seen["net"] == seen["net/mul"] == 0


def test_a_metric_that_waits_for_the_training_step_is_no_training(graph):
    ops = (
        FORWARD
        | GRADIENTS
        | OPTIMISER
        | {"accuracy": "Mean net/mul ^Adam", "report": "Print accuracy"}
    )
    seen = parts(graph(ops))
    assert seen["accuracy"] == seen["report"] == 0


def test_a_train_op_that_hands_on_the_loss_is_training(graph):
    ops = FORWARD | GRADIENTS | OPTIMISER | {"train_op": "Identity loss ^Adam"}
    assert parts(graph(ops), "(training)")["train_op"] == 1


def test_a_variable_that_the_network_reads_too_is_no_training(graph):
    ops = FORWARD | {"step": "VariableV2", "decay": "Mul net/mul step"} | GRADIENTS
    ops |= {"Adam/apply": "ApplyAdam net/w step gradients/mul_grad"}
    assert parts(graph(ops))["step"] == 0


def test_the_body_of_a_gradient_function_is_not_grouped(graph):
    assert "(training)" not in parts(
        graph({"x": "Placeholder"} | {f"gradients/g{k}": "Neg x" for k in range(4)})
    )


def test_gradients_beside_the_network_inside_a_scope_are_grouped_there(graph):
    ops = {
        f"m/{name}": " ".join(_moved(text))
        for name, text in (FORWARD | GRADIENTS | OPTIMISER).items()
    }
    assert parts(graph(ops), "m")["m/(training)"] == 1


def _moved(text: str) -> list[str]:
    kind, *inputs = text.split()
    return [kind, *(f"^m/{name[1:]}" if name[0] == "^" else f"m/{name}" for name in inputs)]


def test_training_stays_closed_at_first(graph):
    assert "(training)" not in default_open(graph(FORWARD | GRADIENTS | OPTIMISER))


def test_a_group_whose_name_is_taken_is_not_made(graph):
    seen = parts(
        graph(FORWARD | GRADIENTS | OPTIMISER | {"(training)/x": "Neg x", "(training)/y": "Neg x"})
    )
    assert seen["gradients"] == seen["Adam"] == 1
    assert seen["(training)"] == 0


@pytest.mark.parametrize("hidden", ["(training)", "gradients"])
def test_hidden_training_goes_with_its_lines(graph, hidden):
    shown = build_visible_graph(graph(FORWARD | GRADIENTS), ViewSpec(hidden=frozenset({hidden})))
    assert ("gradients" in shown.names) == (hidden != "gradients")


CALLED_OTHERWISE = {
    "grads/one": "Const",
    "grads/loss_grad/Mul": "Mul loss grads/one",
    "grads/net/mul_grad/MatMul": "MatMul x grads/loss_grad/Mul",
    "grads/net/mul_grad/shape": "Shape x",
}


def under(prefix: str, ops: dict[str, str]) -> dict[str, str]:
    return {
        prefix + name: " ".join([*said.split()[:1], *(prefix + i for i in said.split()[1:])])
        for name, said in ops.items()
    }


def test_gradients_are_known_by_the_ops_that_they_are_of(graph):
    """`tf.gradients(loss, x, name="grads")`: what is called after ops outside is training, whatever
    is around it.
    """
    seen = parts(graph(FORWARD | CALLED_OTHERWISE))
    assert seen == {"": 0, "x": 0, "net": 0, "loss": 0, "grads": 1}


def test_gradients_of_a_graph_under_a_prefix_are_known_too(graph):
    assert (
        parts(graph(under("one/two/", FORWARD | CALLED_OTHERWISE)), "one", "one/two")[
            "one/two/grads"
        ]
        == 1
    )


def test_a_scope_that_the_network_reads_is_no_gradient_however_it_is_called(graph):
    ops = {
        "x": "Placeholder",
        "net/clip_grad/a": "Relu x",
        "net/clip_grad/b": "Tanh net/clip_grad/a",
    }
    ops |= {"clip": "Relu net/clip_grad/b", "y": "Sqrt clip"}
    assert not any(parts(graph(ops)).values())


FORCES = {"force/scale": "Mul gradients/mul_grad x", "force": "Neg force/scale"}


def test_gradients_that_the_network_goes_on_with_are_a_part_of_it(graph):
    """Forces are gradients of an energy: a model that is not trained has them too."""
    seen = parts(graph(FORWARD | GRADIENTS | FORCES))
    assert seen == {
        "": 0,
        "x": 0,
        "net": 0,
        "loss": 0,
        "gradients": 2,
        "force": 0,
    }


def test_a_gradient_penalty_is_no_training_and_the_gradients_of_it_are(graph):
    second = {
        "loss_of_force": "L2Loss force",
        "all": "Add loss loss_of_force",
        "train/gradients/all_grad": "Mul all x",
        "train/gradients/neg_grad": "Neg train/gradients/all_grad",
        "train/gradients/mul_grad": "MatMul gradients/mul_grad train/gradients/neg_grad",
        "train/rate": "Const",
        "train/apply": "ApplyGradientDescent net/w train/rate train/gradients/mul_grad",
    }
    index = graph(FORWARD | GRADIENTS | FORCES | second)
    seen = parts(index)
    assert (seen["gradients"], seen["train"]) == (2, 1)
    assert not any(seen[name] for name in ("net", "force", "loss_of_force", "all"))
    assert ("gradients", "force") in lines(build_visible_graph(index, ViewSpec()))


def test_gradients_that_are_assigned_are_training(graph):
    """Weights may be changed without an optimizer's op."""
    step = {"by": "Mul gradients/mul_grad x", "update": "AssignSub net/w by"}
    seen = parts(graph(FORWARD | GRADIENTS | step))
    assert seen["(training)"] == 1
    assert not seen.keys() & {"by", "update", "gradients"}


@pytest.mark.parametrize("prefix", ["", "tower/"])
def test_in_a_file_in_another_order_the_network_is_no_factor_of_its_gradients(graph, prefix):
    ops = {f"{prefix}{name}": text for name, text in FORWARD.items()} | {
        f"{prefix}gradients/one": "Const",
        f"{prefix}gradients/loss_grad/scale": "Mul loss gradients/one",
        f"{prefix}gradients/net/mul_grad/MatMul": "MatMul x gradients/loss_grad/scale",
        f"{prefix}apply": "ApplyAdam net/w gradients/net/mul_grad/MatMul",
    }
    for name, text in ops.items():
        kind, *inputs = text.split()
        ops[name] = " ".join([kind, *(prefix + each.removeprefix(prefix) for each in inputs)])
    for order in (ops, dict(reversed(ops.items())), dict(sorted(ops.items()))):
        seen = parts(graph(order), "tower", f"{prefix}net")
        assert {name for name, part in seen.items() if part} == {f"{prefix}(training)"}
        assert {f"{prefix}x", f"{prefix}net/mul", f"{prefix}loss"} <= seen.keys()
